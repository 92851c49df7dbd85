import { workStateSource } from "../context/context.ts";
import type { QuestStore, Run, TurnDeps } from "../quests/quests.ts";

/** Changes of the task that are looked at for the files it touched. */
const maxChanges = 100;

/**
 * Adds what the editor and the repository show to the newest message of the user, once, before a model answers it. It is stored with the
 * message, so later prompts of the task start with the same bytes (docs/decisions/0016).
 */
export async function tellWorkState(deps: TurnDeps, run: Run): Promise<void> {
  const { store, workState, redactorOf } = deps;
  const { questId, parentId } = run;
  // Sub-tasks get their request from their task.
  if (workState === null || run.subtask !== null) return;
  const newest = newestRequest(store.messages(questId));
  if (newest?.turn?.kind !== "user" || newest.attachments !== null) return;
  const { message, turn } = newest;
  if (turn.content.some((item) => item.source === workStateSource)) return;
  const state = await workState.read({
    touched: touchedFiles(deps, questId),
    attached: message.parts.flatMap((part) => (part.type === "file" ? [part.path] : [])),
    redactor: redactorOf(questId),
    trace: { questId, parentId },
    signal: run.controller.signal,
  });
  run.controller.signal.throwIfAborted();
  if (state === null) return;
  const { text, findings } = state;
  const item = { type: "text" as const, text, attached: true, source: workStateSource, ...(findings.length === 0 ? {} : { findings }) };
  // Between the attachments, whose positions are the keys by which they are shortened, and the user's words.
  const words = turn.content.findIndex((own) => own.type === "text" && own.attached !== true);
  store.keepTurn(message.id, { ...turn, content: turn.content.toSpliced(words === -1 ? turn.content.length : words, 0, item) });
}

/** The newest message of the user that no answer follows; undefined for none. Messages of the host contain no text of the user. */
function newestRequest(messages: ReturnType<QuestStore["messages"]>): (typeof messages)[number] | undefined {
  const answered = messages.findLastIndex(({ turn }) => turn?.kind === "assistant");
  return messages
    .slice(answered + 1)
    .findLast(({ message, turn }) => turn?.kind === "user" && message.parts.some(({ type }) => type === "text"));
}

/** The files that the task proposed to change or that its commands changed, the newest first. */
function touchedFiles({ store, changes }: TurnDeps, questId: string): string[] {
  const proposed = changes
    .list({ questId, limit: maxChanges })
    .toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1))
    .map(({ path }) => path);
  const byCommands = store
    .messages(questId)
    .toReversed()
    .flatMap(({ message }) =>
      message.parts.flatMap((part) => (part.type === "tool" ? (part.touched?.files ?? []).map(({ path }) => path) : [])),
    );
  return [...new Set([...proposed, ...byCommands])];
}
