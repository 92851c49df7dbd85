import type { Part } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { QuestStore } from "./quest-store.ts";

export type Notice = Extract<Part, { type: "notice" }>;
type Action = NonNullable<Notice["action"]>;

const actions: ReadonlySet<string> = new Set<Action>([
  "resume",
  "choose_model",
  "set_key",
  "show_log",
  "download_model",
  "raise_cap",
  "open_memory",
]);

export function notice(level: Notice["level"], text: string, action?: Action): Notice {
  return action === undefined ? { type: "notice", level, text } : { type: "notice", level, text, action };
}

/** The part of a memory notice that the model gets: the result of the command, without the instructions to undo it. */
export function memoryNoticeForModel({ text }: Notice): string {
  return text.split("\n\n")[0] ?? "";
}

/** Adds a notice to a quest unless the quest already contains it. */
export function addNoticeOnce(store: Pick<QuestStore, "messages" | "addMessage">, questId: string, added: Notice): void {
  const isShown = store
    .messages(questId)
    .some(({ message }) => message.parts.some((part) => part.type === "notice" && part.text === added.text));
  if (!isShown) store.addMessage({ questId, role: "assistant", parts: [added] });
}

/** The notice for a failed step, with its next step as an action. */
export function noticeOf(error: unknown): Notice {
  if (!(error instanceof LancelotError)) {
    return notice("error", "Lancelot had an internal error. The task is saved; resume to try again.", "show_log");
  }
  return notice("error", error.message, actionOf(error));
}

function actionOf(error: LancelotError): Action {
  const named = error.data?.["action"];
  if (typeof named === "string" && actions.has(named)) return named as Action;
  if (error.code === "unauthorized") return "set_key";
  if (error.code === "unavailable" || error.code === "invalid_params" || error.code === "not_found") return "choose_model";
  return error.code === "internal" ? "show_log" : "resume";
}
