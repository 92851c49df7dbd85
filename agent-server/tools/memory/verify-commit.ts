import { LancelotError } from "../../contract/errors.ts";
import type { MemoryDiff } from "../../contract/memory.ts";
import type { Memory } from "../../memory/memory.ts";
import type { MemoryAction } from "./memory-action.ts";

type Looking = Pick<Memory, "item" | "commit" | "staged" | "quarantined">;

/** Items of one commit that are looked at; of more, the first. */
const most = 200;

/**
 * Whether a commit left what it says, looked up anew. What a later commit changed is that one's; what is kept by reference has its
 * text elsewhere.
 */
export function verifyCommit(memory: Looking, commitId: string, diff: readonly MemoryDiff[]): string | null {
  const { status, diff: kept, changes } = memory.commit(commitId);
  if (status !== "committed" && status !== "rolled_back") return `Commit ${commitId} is ${status}.`;
  // Older than the snapshots that are kept by now: nothing can be looked up.
  if (kept.length < changes) return null;
  for (const { itemId, after, target, op } of diff.slice(0, most)) {
    const { item, history } = memory.item(itemId);
    const newest = history[0];
    if (newest === undefined || !history.some(({ commit }) => commit.id === commitId)) return `The history of ${itemId} lacks ${commitId}.`;
    if (newest.commit.id !== commitId || target === "episodic") continue;
    if ((item === null) !== (after === null)) return `${itemId} ${item === null ? "is not there" : "is still there"} after ${op}.`;
    if (item !== null && item.content !== after) return `${itemId} does not hold what was written.`;
  }
  return null;
}

/** Whether an edit stands in its open commit as it was let through. */
export function verifyStaged(memory: Looking, commitId: string, index: number, content: string | null): string | null {
  if (memory.commit(commitId).status !== "open") return null;
  const edit = memory.staged(commitId).edits[index];
  if (edit === undefined) return `Commit ${commitId} has no edit ${index}.`;
  return edit.content === content ? null : `Edit ${index} of commit ${commitId} does not hold what was let through.`;
}

/** Whether an edit is kept among those that wait, or waited. */
export function verifyQuarantined(memory: Looking, id: string, content: string | null): string | null {
  return memory.quarantined(id).content === content ? null : `${id} in quarantine does not hold what was let through.`;
}

/** The look at an action after it; what has gone meanwhile by a later action is no failure of this one. */
export function verifyAfter<T>(action: MemoryAction<T>, value: T): string | null {
  try {
    return action.verify?.(value) ?? null;
  } catch (error) {
    // Switched off since: there is nothing left to look at.
    if (error instanceof LancelotError && error.code === "disabled") return null;
    throw error;
  }
}
