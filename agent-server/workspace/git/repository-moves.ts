import * as z from "zod";
import type { Storage } from "../../storage/storage.ts";

const Commit = z.string().regex(/^[0-9a-f]{40,64}$/);
const Head = z.object({ ref: z.string().nullable(), commit: Commit });

/** A change an action made to a repository besides its files, with the earlier state. Paths are relative to the root of the work tree. */
export const Move = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("commit"),
    ref: z.string(),
    before: Commit.nullable(),
    after: Commit,
    paths: z.array(z.string()),
    /** The commit was on a remote branch or tagged before the move, so that this does not prevent the undo. */
    shared: z.boolean().optional(),
  }),
  z.object({ kind: z.literal("branch"), ref: z.string(), after: Commit }),
  z.object({ kind: z.literal("checkout"), from: Head, to: Head }),
  z.object({ kind: z.literal("clone"), path: z.string(), commit: Commit.nullable() }),
]);
export type Move = z.infer<typeof Move>;

export interface RecordedMove {
  readonly id: number;
  readonly questId: string | null;
  readonly receiptId: string;
  readonly move: Move;
}

/**
 * Records changes of repositories so that they can be undone. A row is written before the change, so a recorded change may not have
 * happened.
 */
export interface RepositoryMoves {
  /** @returns the id for `takenBack`. */
  record(of: { questId: string | null; receiptId: string; move: Move }): number;
  /** Changes of a quest that were not undone, newest first. */
  open(questId: string): RecordedMove[];
  takenBack(id: number): void;
}

export function createRepositoryMoves({
  storage,
  workspace,
  now,
}: {
  storage: Storage;
  workspace: string;
  now: () => Date;
}): RepositoryMoves {
  const { db } = storage;
  const insert = db.prepare("INSERT INTO repository_moves (workspace, quest_id, receipt_id, move, created_at) VALUES (?, ?, ?, ?, ?)");
  const ofQuest = db.prepare(
    "SELECT id, quest_id, receipt_id, move FROM repository_moves WHERE workspace = ? AND quest_id = ? AND taken_back = 0 ORDER BY id DESC",
  );
  const close = db.prepare("UPDATE repository_moves SET taken_back = 1 WHERE id = ?");
  return {
    record({ questId, receiptId, move }) {
      return Number(insert.run(workspace, questId, receiptId, JSON.stringify(move), now().toISOString()).lastInsertRowid);
    },
    open(questId) {
      const rows = ofQuest.all(workspace, questId) as { id: number; quest_id: string | null; receipt_id: string; move: string }[];
      return rows.map((row) => ({ id: row.id, questId: row.quest_id, receiptId: row.receipt_id, move: Move.parse(JSON.parse(row.move)) }));
    },
    takenBack(id) {
      close.run(id);
    },
  };
}
