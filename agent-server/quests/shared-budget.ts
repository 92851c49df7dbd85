import { addUsage, type Usage } from "../contract/chat.ts";
import type { Run } from "./quest-run.ts";
import type { QuestStore } from "./quest-store.ts";

/** The run whose limits hold: of a sub-task, the run of its task, which counts what both use (requirement A11). */
export function budgetRun(run: Run): Run {
  return run.subtask === null ? run : budgetRun(run.subtask.parent);
}

/** Counts a tool call of a run, and of the tasks that it works for. */
export function countCall(run: Run): void {
  run.calls += 1;
  if (run.subtask !== null) countCall(run.subtask.parent);
}

/** Counts the tokens of a model call in the tasks that a sub-task works for. The caller counts them in the quest of the run itself. */
export function addRunUsage(store: Pick<QuestStore, "quest" | "patch">, run: Run, used: Usage): void {
  if (run.subtask === null) return;
  const { parent } = run.subtask;
  store.patch(parent.questId, { usage: addUsage(store.quest(parent.questId).usage, used) });
  addRunUsage(store, parent, used);
}
