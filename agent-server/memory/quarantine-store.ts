import { randomUUID } from "node:crypto";
import type { QuarantineEntry } from "../contract/memory.ts";
import type { Storage } from "../storage/storage.ts";
import { sortedJson } from "./item-rows.ts";
import type { QuarantineStore, StoredQuarantine } from "./commit-types.ts";

interface QuarantineRow {
  id: string;
  status: string;
  commit_id: string;
  quest_id: string | null;
  body: string;
  why: string;
  promoted_by: string | null;
  created_at: number;
  decided_at: number | null;
  decided_reason: string | null;
}

/** The parts of an entry that are stored as one JSON text. The gates validated them. */
type Body = Pick<StoredQuarantine, "author" | "edit" | "itemId" | "itemVersion" | "image">;

/**
 * Rows of quarantined edits. `get`, `list` and `pending` cover this workspace and global edits; a commit's
 * entries are complete. Nothing else in memory reads this table.
 */
export function createQuarantineStore(deps: {
  readonly storage: Storage;
  /** Absolute path; `-` when no folder is open. */
  readonly workspace: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}): QuarantineStore {
  const { storage, workspace, now } = deps;
  const { db } = storage;
  const seen = "workspace IN ('', @workspace)";
  const find = db.prepare<[Record<string, unknown>], QuarantineRow>(`SELECT * FROM memory_quarantine WHERE id = @id AND ${seen}`);
  const page = db.prepare<[Record<string, unknown>], QuarantineRow>(
    `SELECT * FROM memory_quarantine WHERE status = @status AND ${seen} ORDER BY seq DESC LIMIT @limit`,
  );
  const byCommit = db.prepare<[string], QuarantineRow>("SELECT * FROM memory_quarantine WHERE commit_id = ? ORDER BY seq");
  const countPending = db
    .prepare<[Record<string, unknown>], number>(`SELECT count(*) FROM memory_quarantine WHERE status = 'pending' AND ${seen}`)
    .pluck();
  const insert = db.prepare(
    `INSERT INTO memory_quarantine (id, workspace, status, commit_id, quest_id, body, why, created_at)
     VALUES (@id, @workspace, 'pending', @commitId, @questId, @body, @why, @createdAt)`,
  );
  const decide = db.prepare(
    `UPDATE memory_quarantine SET status = @status, decided_at = @at, decided_reason = @reason, promoted_by = @promotedBy
     WHERE id = @id AND status = 'pending'`,
  );

  return {
    put: (entry) => {
      const id = `quarantine_${randomUUID()}`;
      const createdAt = now();
      const { author, edit, itemId, itemVersion, image, commitId, questId, why } = entry;
      const body: Body = { author, edit, itemId, itemVersion, image };
      insert.run({
        id,
        workspace: (image?.namespace ?? edit.namespace) === "global" ? "" : workspace,
        commitId,
        questId,
        body: sortedJson(body),
        why,
        createdAt,
      });
      return { ...entry, id, status: "pending", promotedBy: null, createdAt, decidedAt: null, decidedReason: null };
    },
    get: (id) => {
      const row = find.get({ id, workspace });
      return row === undefined ? null : entryOfRow(row);
    },
    list: ({ status, limit }) => page.all({ status, limit, workspace }).map(entryOfRow),
    ofCommit: (commitId) => byCommit.all(commitId).map(entryOfRow),
    settle: (id, { status, reason, promotedBy }) =>
      decide.run({ id, status, at: now(), reason, promotedBy: promotedBy ?? null }).changes === 1,
    pending: () => countPending.get({ workspace }) ?? 0,
  };
}

function entryOfRow(row: QuarantineRow): StoredQuarantine {
  return {
    id: row.id,
    status: row.status as QuarantineEntry["status"],
    commitId: row.commit_id,
    questId: row.quest_id,
    ...(JSON.parse(row.body) as Body),
    why: row.why,
    promotedBy: row.promoted_by,
    createdAt: row.created_at,
    decidedAt: row.decided_at,
    decidedReason: row.decided_reason,
  };
}
