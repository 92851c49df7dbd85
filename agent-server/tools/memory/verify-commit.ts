import { LancelotError } from "../../contract/errors.ts";
import type { MemoryDiff } from "../../contract/memory.ts";
import type { Memory } from "../../memory/memory.ts";
import type { MemoryAction } from "./memory-action.ts";

type MemoryReader = Pick<Memory, "item" | "commit" | "staged" | "quarantined">;

/** Items verified per commit. */
const most = 200;

/**
 * Checks that a commit is stored as reported. Items changed by a later commit and referenced messages are skipped.
 */
export function verifyCommit(memory: MemoryReader, commitId: string, diff: readonly MemoryDiff[]): string | null {
  const { status, diff: kept, changes } = memory.commit(commitId);
  if (status !== "committed" && status !== "rolled_back") return `Commit ${commitId} is ${status}.`;
  // Its images are no longer stored.
  if (kept.length < changes) return null;
  for (const { itemId, after, target, op } of diff.slice(0, most)) {
    const { item, history } = memory.item(itemId);
    const newest = history[0];
    if (newest === undefined || !history.some(({ commit }) => commit.id === commitId)) return `The history of ${itemId} lacks ${commitId}.`;
    if (newest.commit.id !== commitId || target === "episodic") continue;
    if ((item === null) !== (after === null)) return `${itemId} ${item === null ? "is not there" : "is still there"} after ${op}.`;
    if (item !== null && item.content !== after) return `${itemId} differs from what was written.`;
  }
  return null;
}

/** Checks that a staged edit is stored as accepted. */
export function verifyStaged(memory: MemoryReader, commitId: string, index: number, content: string | null): string | null {
  if (memory.commit(commitId).status !== "open") return null;
  const edit = memory.staged(commitId).edits[index];
  if (edit === undefined) return `Commit ${commitId} has no edit ${index}.`;
  return edit.content === content ? null : `Edit ${index} of commit ${commitId} differs from the accepted text.`;
}

/** Checks that a quarantined edit is stored as accepted. */
export function verifyQuarantined(memory: MemoryReader, id: string, content: string | null): string | null {
  return memory.quarantined(id).content === content ? null : `${id} in quarantine differs from the accepted text.`;
}

/** Verifies an action after its effect. */
export function verifyAfter<T>(action: MemoryAction<T>, value: T): string | null {
  try {
    return action.verify?.(value) ?? null;
  } catch (error) {
    // Memory was turned off meanwhile.
    if (error instanceof LancelotError && error.code === "disabled") return null;
    throw error;
  }
}
