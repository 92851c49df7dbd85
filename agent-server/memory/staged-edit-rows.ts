import type { Storage } from "../storage/storage.ts";
import type { StagedEdit } from "./commit-draft.ts";
import { sortedJson } from "./item-rows.ts";

/** Edits of open commits, as the gates accepted them. */
export function createStagedEdits(storage: Storage) {
  const { db } = storage;
  const ofCommit = db.prepare<[string], string>("SELECT body FROM memory_edits WHERE commit_id = ? ORDER BY number").pluck();
  const next = db.prepare<[string], number>("SELECT ifnull(max(number), -1) + 1 FROM memory_edits WHERE commit_id = ?").pluck();
  const insert = db.prepare("INSERT INTO memory_edits (commit_id, number, body) VALUES (?, ?, ?)");
  const removeOf = db.prepare("DELETE FROM memory_edits WHERE commit_id = ? AND json_extract(body, '$.itemId') = ?");
  const clear = db.prepare("DELETE FROM memory_edits WHERE commit_id = ?");

  return {
    of: (commitId: string): StagedEdit[] => ofCommit.all(commitId).map((body) => JSON.parse(body) as StagedEdit),
    /** Returns the edit's number in the commit, from 0. */
    add: (commitId: string, staged: StagedEdit): number => {
      const number = next.get(commitId) ?? 0;
      insert.run(commitId, number, sortedJson(staged));
      return number;
    },
    removeOf: (commitId: string, itemId: string): void => {
      removeOf.run(commitId, itemId);
    },
    clear: (commitId: string): void => {
      clear.run(commitId);
    },
  };
}
