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

/** What the model is told of a notice on memory: what came of the order, not how the owner takes it back. */
export function memoryNoticeForModel({ text }: Notice): string {
  return text.split("\n\n")[0] ?? "";
}

/** Shows it in a task where it was not shown before. */
export function addNoticeOnce(store: Pick<QuestStore, "messages" | "addMessage">, questId: string, words: Notice): void {
  const told = store
    .messages(questId)
    .some(({ message }) => message.parts.some((part) => part.type === "notice" && part.text === words.text));
  if (!told) store.addMessage({ questId, role: "assistant", parts: [words] });
}

/** What the owner reads when a step failed, with the one thing to do next. */
export function noticeOf(error: unknown): Notice {
  if (!(error instanceof LancelotError)) {
    return notice("error", "Something went wrong inside Lancelot. Nothing of the task is lost; resume to try again.", "show_log");
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
