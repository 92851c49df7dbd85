import type { Statement } from "better-sqlite3";
import type { Tier } from "../contract/common.ts";
import type { Approval, ApprovalStatus } from "../contract/governance.ts";
import { ApprovalScope, Rule } from "../contract/governance.ts";
import type { Storage } from "../storage/storage.ts";
import type { CodeFingerprint } from "./code-fingerprint.ts";
import { StoredScope } from "./workspace-approvals/approval-scope.ts";
import * as z from "zod";

interface Row {
  id: string;
  quest_id: string | null;
  host_id: string;
  intent_hash: string;
  capability: string;
  action: string;
  title: string;
  detail: string;
  tier: Tier;
  rules: string;
  channels: string;
  status: ApprovalStatus;
  reason: string | null;
  deferred: number;
  receipt_id: string;
  created_at: string;
  expires_at: string;
  decided_at: string | null;
  used_at: string | null;
  scopes: string;
  code: string | null;
  basis: string | null;
  forgotten_at: string | null;
}

/** What an approval is bound to besides its intent. */
export interface ApprovalBinding {
  /** What the owner may allow for the workspace. */
  readonly scopes: readonly StoredScope[];
  /** The code that would run; null when it is unknown. */
  readonly code: CodeFingerprint | null;
  /** Hash of everything that a denial depends on. */
  readonly basis: string;
}

/** An approval with its internal fields. */
export interface StoredApproval {
  readonly approval: Approval;
  readonly hostId: string;
  readonly receiptId: string;
  readonly deferred: boolean;
  readonly scopes: readonly StoredScope[];
  readonly code: CodeFingerprint | null;
  readonly basis: string | null;
}

export interface ApprovalStore {
  insert(approval: Omit<Approval, "scopes" | "isRemembered">, of: { receiptId: string; deferred: boolean; binding: ApprovalBinding }): void;
  get(id: string): StoredApproval | null;
  list(filter: { status: ApprovalStatus; questId?: string; limit: number }): Approval[];
  /** Pending approvals of this workspace and quest. */
  pending(questId: string): StoredApproval[];
  /** Pending approvals of any workspace that have expired. */
  due(now: string): StoredApproval[];
  /** Approvals and denials that may still cover an intent, newest first. */
  ofIntent(hash: string, questId: string | null): StoredApproval[];
  /** Ends a pending approval; false when it has ended already. `notAfter` skips one that has expired. */
  settle(id: string, to: { status: ApprovalStatus; reason: string | null; at: string; expiresAt?: string; notAfter?: string }): boolean;
  /** Reopens a pending approval that no host waits for, for the current decision; false when it has been answered. */
  adopt(
    id: string,
    of: { expiresAt: string; receiptId: string; deferred: boolean; tier: Tier; rules: readonly Rule[]; binding: ApprovalBinding },
  ): boolean;
  /** Forgets a denial; false when there is none to forget. */
  forget(id: string, at: string): boolean;
  /** Marks a one-time approval as used; false when it was used already. */
  use(id: string, at: string): boolean;
  /** Approvals created since a time (ISO 8601), by status, and all pending ones. */
  counts(since: string): { pending: number; allowed: number; denied: number; expired: number };
}

const Rules = z.array(Rule);
const Channels = z.array(z.string());
const Scopes = z.array(StoredScope);
const Code = z.object({ exact: z.string(), files: z.array(z.string()) });

/** The approvals table; rows belong to one workspace (`""` without one). */
export function createApprovalStore(storage: Storage, workspace: string): ApprovalStore {
  const { db, hostId } = storage;
  const prepare = (sql: string): Statement => db.prepare(sql);
  const insert = prepare(`
    INSERT INTO approvals (id, workspace, quest_id, host_id, intent_hash, capability, action, title, detail, tier, rules, channels, status, deferred,
      receipt_id, created_at, expires_at, scopes, code, basis)
    VALUES (@id, @workspace, @questId, @hostId, @intentHash, @capability, @action, @title, @detail, @tier, @rules, @channels, 'pending', @deferred,
      @receiptId, @createdAt, @expiresAt, @scopes, @code, @basis)`);
  const get = prepare("SELECT * FROM approvals WHERE id = ?");
  const list = prepare("SELECT * FROM approvals WHERE status = ? AND workspace = ? ORDER BY seq DESC LIMIT ?");
  const listQuest = prepare("SELECT * FROM approvals WHERE status = ? AND workspace = ? AND quest_id = ? ORDER BY seq DESC LIMIT ?");
  const pending = prepare("SELECT * FROM approvals WHERE quest_id = ? AND status = 'pending' AND workspace = ? ORDER BY seq");
  const due = prepare("SELECT * FROM approvals WHERE status = 'pending' AND expires_at <= ?");
  const ofIntent = prepare(`
    SELECT * FROM approvals WHERE intent_hash = ? AND quest_id IS ? AND workspace = ? AND status IN ('pending', 'allowed_once', 'allowed_quest', 'denied')
      AND used_at IS NULL AND forgotten_at IS NULL ORDER BY seq DESC LIMIT 50`);
  const settle = prepare(`
    UPDATE approvals SET status = @status, reason = @reason, decided_at = @at, expires_at = coalesce(@expiresAt, expires_at)
    WHERE id = @id AND status = 'pending' AND (@notAfter IS NULL OR expires_at > @notAfter)`);
  const adopt = prepare(`
    UPDATE approvals SET host_id = @hostId, expires_at = @expiresAt, receipt_id = @receiptId, deferred = @deferred, tier = @tier, rules = @rules,
      scopes = @scopes, code = @code, basis = @basis
    WHERE id = @id AND status = 'pending'`);
  const forget = prepare(
    "UPDATE approvals SET forgotten_at = ? WHERE id = ? AND workspace = ? AND status = 'denied' AND forgotten_at IS NULL",
  );
  const use = prepare(
    "UPDATE approvals SET used_at = ? WHERE id = ? AND status IN ('allowed_once', 'allowed_workspace') AND used_at IS NULL",
  );
  const counts = db.prepare<[string, string], { status: ApprovalStatus; n: number }>(
    "SELECT status, count(*) AS n FROM approvals WHERE workspace = ? AND (status = 'pending' OR created_at >= ?) GROUP BY status",
  );
  const rows = (found: unknown[]): StoredApproval[] => found.map((row) => stored(row as Row));

  return {
    insert(approval, { receiptId, deferred, binding }) {
      insert.run({
        ...approval,
        workspace,
        hostId,
        rules: JSON.stringify(approval.rules),
        channels: JSON.stringify(approval.channels),
        deferred: deferred ? 1 : 0,
        receiptId,
        ...columnsOf(binding),
      });
    },
    get(id) {
      const row = get.get(id);
      return row === undefined ? null : stored(row as Row);
    },
    list({ status, questId, limit }) {
      const found = questId === undefined ? list.all(status, workspace, limit) : listQuest.all(status, workspace, questId, limit);
      return rows(found).map((one) => one.approval);
    },
    pending: (questId) => rows(pending.all(questId, workspace)),
    due: (now) => rows(due.all(now)),
    ofIntent: (hash, questId) => rows(ofIntent.all(hash, questId, workspace)),
    settle: (id, { status, reason, at, expiresAt, notAfter }) =>
      settle.run({ id, status, reason, at, expiresAt: expiresAt ?? null, notAfter: notAfter ?? null }).changes === 1,
    adopt: (id, { expiresAt, receiptId, deferred, tier, rules, binding }) =>
      adopt.run({ id, hostId, expiresAt, receiptId, deferred: deferred ? 1 : 0, tier, rules: JSON.stringify(rules), ...columnsOf(binding) })
        .changes === 1,
    forget: (id, at) => forget.run(at, id, workspace).changes === 1,
    use: (id, at) => use.run(at, id).changes === 1,
    counts(since) {
      const found = new Map(counts.all(workspace, since).map(({ status, n }) => [status, n]));
      const of = (status: ApprovalStatus): number => found.get(status) ?? 0;
      const allowed = of("allowed_once") + of("allowed_quest") + of("allowed_workspace");
      return { pending: of("pending"), allowed, denied: of("denied"), expired: of("expired") };
    },
  };
}

function columnsOf({ scopes, code, basis }: ApprovalBinding): { scopes: string; code: string | null; basis: string } {
  return { scopes: JSON.stringify(scopes), code: code === null ? null : JSON.stringify(code), basis };
}

function stored(row: Row): StoredApproval {
  const scopes = Scopes.parse(JSON.parse(row.scopes));
  return {
    approval: {
      id: row.id,
      questId: row.quest_id,
      intentHash: row.intent_hash,
      capability: row.capability,
      action: row.action,
      title: row.title,
      detail: row.detail,
      tier: row.tier,
      rules: Rules.parse(JSON.parse(row.rules)),
      channels: Channels.parse(JSON.parse(row.channels)),
      status: row.status,
      reason: row.reason,
      scopes: scopes.map((scope) => ApprovalScope.parse(scope)),
      isRemembered: row.status === "denied" && row.quest_id !== null && row.basis !== null && row.forgotten_at === null,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      decidedAt: row.decided_at,
    },
    hostId: row.host_id,
    receiptId: row.receipt_id,
    deferred: row.deferred === 1,
    scopes,
    code: row.code === null ? null : Code.parse(JSON.parse(row.code)),
    basis: row.basis,
  };
}
