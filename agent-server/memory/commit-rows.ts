import type { MemoryCommit } from "../contract/memory.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Storage } from "../storage/storage.ts";
import type { Author } from "./item-types.ts";

/** A row of memory_commits. */
export interface CommitRow {
  seq: number;
  id: string;
  status: MemoryCommit["status"];
  workspace: string;
  author: Author["by"];
  quest_id: string | null;
  host_id: string;
  reason: string;
  created_at: number;
  finished_at: number | null;
  finish_seq: number | null;
  receipt_id: string | null;
  changes: number;
  kept: number;
  rollback_of: string;
  rolled_back_by: string | null;
}

/** Rows of the commits this workspace sees: its own, and those that changed only global items. */
export function createCommitRows(of: { readonly storage: Storage; readonly workspace: string }) {
  const { db } = of.storage;
  const { workspace } = of;
  const seen = "workspace IN ('', @workspace)";
  const select = (rest: string) => db.prepare<[Record<string, unknown>], CommitRow>(`SELECT * FROM memory_commits WHERE ${rest}`);
  const find = select(`id = @id AND ${seen}`);
  const findAny = select("id = @id");
  const page = select(`${seen} AND seq < @before ORDER BY seq DESC LIMIT @limit`);
  const questPage = select(`${seen} AND seq < @before AND quest_id = @questId ORDER BY seq DESC LIMIT @limit`);
  const inForce = select(
    `${seen} AND status = 'committed' AND changes > 0 AND rollback_of = '[]' AND author <> 'system'
     ORDER BY finish_seq DESC LIMIT @limit`,
  );
  const rollbacks = db.prepare<[], { id: string; rollback_of: string }>(
    "SELECT id, rollback_of FROM memory_commits WHERE kept = 1 AND rollback_of <> '[]' ORDER BY finish_seq",
  );
  const countOpen = db
    .prepare<[Record<string, unknown>], number>(`SELECT count(*) FROM memory_commits WHERE status = 'open' AND ${seen}`)
    .pluck();
  const openOnes = select("status = 'open' ORDER BY seq");
  const insert = db.prepare(
    `INSERT INTO memory_commits (id, status, workspace, author, quest_id, host_id, reason, created_at)
     VALUES (@id, 'open', @workspace, @author, @questId, @hostId, @reason, @createdAt)`,
  );
  const nextFinish = db.prepare<[], number>("SELECT ifnull(max(finish_seq), 0) + 1 FROM memory_commits").pluck();
  const finish = db.prepare(
    `UPDATE memory_commits SET status = 'committed', workspace = @workspace, finished_at = @at, finish_seq = @finishSeq,
       receipt_id = @receiptId, changes = @changes, kept = @kept, rollback_of = @rollbackOf WHERE id = @id`,
  );
  const abandon = db.prepare("UPDATE memory_commits SET status = 'abandoned', finished_at = ? WHERE id = ? AND status = 'open'");
  const state = db.prepare("UPDATE memory_commits SET status = ?, rolled_back_by = ? WHERE id = ?");

  return {
    begin: (row: { id: string; author: Author; reason: string; at: number }): void => {
      const { id, author, reason, at } = row;
      insert.run({ id, workspace, author: author.by, questId: author.questId, hostId: of.storage.hostId, reason, createdAt: at });
    },
    find: (id: string): CommitRow | null => find.get({ id, workspace }) ?? null,
    /** Reads a commit of any workspace. */
    any: (id: string): CommitRow | null => findAny.get({ id }) ?? null,
    /** @throws LancelotError `not_found`. */
    get: (id: string): CommitRow => {
      const row = find.get({ id, workspace });
      if (row === undefined) throw new LancelotError("not_found", "This workspace has no such memory commit.");
      return row;
    },
    /** Newest first. `before`: seq of the last row of the previous page. */
    list: (params: { before: number; limit: number; questId: string | null }): CommitRow[] =>
      (params.questId === null ? page : questPage).all({ ...params, workspace }),
    /** Commits by people and agents with changes, without rollbacks and rolled back ones; the last finished first. */
    inForce: (limit: number): CommitRow[] => inForce.all({ workspace, limit }),
    /** Finished rollbacks of every workspace, oldest first. */
    rollbacks: (): { id: string; of: string[] }[] =>
      rollbacks.all().map((row) => ({ id: row.id, of: JSON.parse(row.rollback_of) as string[] })),
    countOpen: (): number => countOpen.get({ workspace }) ?? 0,
    /** Open commits of every workspace. */
    open: (): CommitRow[] => openOnes.all({}),
    finish: (row: {
      id: string;
      workspace: string;
      at: number;
      receiptId: string;
      changes: number;
      /** True when its images are still stored. */
      kept: boolean;
      rollbackOf: readonly string[];
    }): void => {
      finish.run({
        ...row,
        finishSeq: nextFinish.get(),
        kept: row.kept ? 1 : 0,
        rollbackOf: JSON.stringify(row.rollbackOf),
      });
    },
    abandon: (id: string, at: number): boolean => abandon.run(at, id).changes === 1,
    setState: (id: string, status: "committed" | "rolled_back", rolledBackBy: string | null): void => {
      state.run(status, rolledBackBy, id);
    },
  };
}

export type CommitRows = ReturnType<typeof createCommitRows>;

/** How messages name a commit. */
export function nameOf(row: CommitRow | null): string {
  if (row === null) return "another commit";
  const who = row.author === "owner" ? "yours" : row.author === "agent" ? "the agent's" : "the system's";
  const reason = row.reason === "" ? "" : ` ("${row.reason.length <= 80 ? row.reason : `${row.reason.slice(0, 79).toWellFormed()}…`}")`;
  return `commit ${row.id}, ${who}${reason},`;
}
