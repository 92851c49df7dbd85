import type { CoreBlockName } from "../contract/memory.ts";
import type { Storage } from "../storage/storage.ts";

/** The number of commits that changed this workspace's view of a block, and the time of the last one (ms; null without any). */
export type BlockVersions = (block: CoreBlockName) => { version: number; changedAt: number | null };

export function createBlockVersions(storage: Storage, workspace: string): BlockVersions {
  const count = storage.db.prepare<[string, string], { version: number; changedAt: number | null }>(
    `SELECT count(DISTINCT change.commit_id) AS version, max(made.finished_at) AS changedAt
     FROM memory_block_changes AS change LEFT JOIN memory_commits AS made ON made.id = change.commit_id
     WHERE change.block = ? AND change.workspace IN ('', ?)`,
  );
  return (block) => count.get(block, workspace) ?? { version: 0, changedAt: null };
}
