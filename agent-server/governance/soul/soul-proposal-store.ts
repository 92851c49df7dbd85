import * as z from "zod";
import { SoulIssue, type SoulProposal } from "../../contract/soul.ts";
import type { Storage } from "../../storage/storage.ts";

/** A proposal with the hash of its base text. */
export interface StoredProposal {
  readonly proposal: SoulProposal;
  readonly fromSha256: string;
  readonly seq: number;
}

export interface ProposalStore {
  readonly insert: (proposal: SoulProposal, fromSha256: string) => void;
  readonly get: (id: string) => StoredProposal | null;
  /** Changes a proposal's status; false when its current status is not in `from`. */
  readonly move: (
    id: string,
    from: readonly SoulProposal["status"][],
    to: { status: SoulProposal["status"]; at: string; toVersion?: string; issues?: readonly SoulIssue[] },
  ) => boolean;
  /** Newest first. */
  readonly list: (filter: { status?: readonly SoulProposal["status"][]; limit: number }) => StoredProposal[];
  /** Changes with every change of a proposal, in any window. */
  readonly fingerprint: () => string;
}

interface Row {
  seq: number;
  id: string;
  from_version: string;
  from_sha256: string;
  to_version: string;
  status: string;
  reason: string;
  proposed_by: string;
  quest_id: string | null;
  yaml: string;
  diff: string;
  issues: string;
  created_at: string;
  decided_at: string | null;
}

const Issues = z.array(SoulIssue);

/** Proposals by the owner and the agent, shared by all windows of a data folder. */
export function createProposalStore({ db }: Pick<Storage, "db">): ProposalStore {
  const insert = db.prepare(
    `INSERT INTO soul_proposals (id, from_version, from_sha256, to_version, status, reason, proposed_by, quest_id, yaml, diff, issues, created_at, decided_at)
     VALUES (@id, @fromVersion, @fromSha256, @toVersion, @status, @reason, @proposedBy, @questId, @yaml, @diff, @issues, @createdAt, @decidedAt)`,
  );
  const get = db.prepare<[string], Row>("SELECT * FROM soul_proposals WHERE id = ?");
  const move = db.prepare<[{ id: string; from: string; status: string; at: string; toVersion: string | null; issues: string | null }]>(
    `UPDATE soul_proposals SET status = @status, decided_at = @at, to_version = COALESCE(@toVersion, to_version), issues = COALESCE(@issues, issues)
     WHERE id = @id AND status IN (SELECT value FROM json_each(@from))`,
  );
  const list = db.prepare<[{ status: string | null; limit: number }], Row>(
    `SELECT * FROM soul_proposals WHERE @status IS NULL OR status IN (SELECT value FROM json_each(@status))
     ORDER BY seq DESC LIMIT @limit`,
  );
  const fingerprint = db
    .prepare<[], string>(
      "SELECT COUNT(*) || ' ' || COALESCE(group_concat(n), '') FROM (SELECT status || COUNT(*) AS n FROM soul_proposals GROUP BY status)",
    )
    .pluck();
  return {
    fingerprint: () => fingerprint.get() ?? "",
    insert: (proposal, fromSha256) => void insert.run({ ...proposal, fromSha256, issues: JSON.stringify(proposal.issues) }),
    get: (id) => {
      const row = get.get(id);
      return row === undefined ? null : toProposal(row);
    },
    move: (id, from, { status, at, toVersion, issues }) =>
      move.run({
        id,
        from: JSON.stringify(from),
        status,
        at,
        toVersion: toVersion ?? null,
        issues: issues === undefined ? null : JSON.stringify(issues),
      }).changes === 1,
    list: ({ status, limit }) => list.all({ status: status === undefined ? null : JSON.stringify(status), limit }).map(toProposal),
  };
}

function toProposal(row: Row): StoredProposal {
  return {
    seq: row.seq,
    fromSha256: row.from_sha256,
    proposal: {
      id: row.id,
      fromVersion: row.from_version,
      toVersion: row.to_version,
      status: row.status as SoulProposal["status"],
      reason: row.reason,
      proposedBy: row.proposed_by as SoulProposal["proposedBy"],
      questId: row.quest_id,
      yaml: row.yaml,
      diff: row.diff,
      issues: Issues.parse(JSON.parse(row.issues)),
      createdAt: row.created_at,
      decidedAt: row.decided_at,
    },
  };
}
