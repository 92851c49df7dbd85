import type { Tier } from "../../contract/common.ts";
import type { TrustProposal } from "../../contract/trust.ts";
import type { Storage } from "../../storage/storage.ts";
import type { TrustKey } from "../decision-facts.ts";
import type { TrustState, TrustResult } from "./trust-state.ts";

interface RecordRow {
  capability: string;
  action: string;
  scope: string;
  default_tier: Tier;
  tier: Tier;
  successes: number;
  failures: number;
  rollbacks: number;
  cool_down: number;
  held_by: string | null;
  changes_files: number;
  updated_at: number;
}

interface ProposalRow {
  id: string;
  capability: string;
  action: string;
  scope: string;
  default_tier: Tier;
  from_tier: Tier;
  to_tier: Tier;
  reason: string;
  confirms: number;
  status: TrustProposal["status"];
  receipt_id: string;
  created_at: number;
  decided_at: number | null;
}

/** A kind of action and its default tier. */
export interface RecordKey extends TrustKey {
  readonly defaultTier: Tier;
}

export interface StoredRecord extends RecordKey, TrustState {
  readonly updatedAt: number;
}

export interface StoredProposal {
  readonly proposal: TrustProposal;
  readonly defaultTier: Tier;
  readonly confirms: boolean;
  readonly receiptId: string;
}

export interface NewProposal extends RecordKey {
  readonly id: string;
  readonly from: Tier;
  readonly to: Tier;
  readonly reason: string;
  readonly confirms: boolean;
  readonly receiptId: string;
  readonly at: number;
}

/** The tables of trust. Times are in milliseconds since 1970. */
export type TrustStore = ReturnType<typeof createTrustStore>;

export function createTrustStore({ db }: Pick<Storage, "db">) {
  const ofKey = "capability = @capability AND action = @action AND scope = @scope AND default_tier = @defaultTier";
  const one = db.prepare<[RecordKey], RecordRow>(`SELECT * FROM trust_records WHERE ${ofKey}`);
  const put = db.prepare(`
    INSERT INTO trust_records VALUES (@capability, @action, @scope, @defaultTier, @tier, @successes, @failures, @rollbacks, @coolDown, @heldBy,
      @changesFiles, @updatedAt)
    ON CONFLICT DO UPDATE SET tier = excluded.tier, successes = excluded.successes, failures = excluded.failures,
      rollbacks = excluded.rollbacks, cool_down = excluded.cool_down, held_by = excluded.held_by, changes_files = excluded.changes_files,
      updated_at = excluded.updated_at`);
  const list = db.prepare<[number], RecordRow>("SELECT * FROM trust_records ORDER BY updated_at DESC, capability, action, scope LIMIT ?");
  const moved = db.prepare<[], RecordRow>(`
    SELECT r.* FROM trust_records r JOIN (SELECT DISTINCT capability, action, scope FROM trust_records WHERE tier <> default_tier) m
      ON r.capability = m.capability AND r.action = m.action AND r.scope = m.scope`);
  const lifted = db.prepare<[string], RecordRow>("SELECT * FROM trust_records WHERE capability = ? AND tier < default_tier");

  const resultOf = db
    .prepare<[RecordKey & { receiptId: string }], TrustResult>(
      `SELECT result FROM trust_outcomes WHERE receipt_id = @receiptId AND ${ofKey}`,
    )
    .pluck();
  const putResult = db.prepare(`
    INSERT INTO trust_outcomes VALUES (@receiptId, @capability, @action, @scope, @defaultTier, @result, @lifted, @at)
    ON CONFLICT DO UPDATE SET result = excluded.result, at = excluded.at`);
  const ofReceipt = db.prepare<
    [string],
    { capability: string; action: string; scope: string; default_tier: Tier; result: TrustResult; lifted: number }
  >("SELECT capability, action, scope, default_tier, result, lifted FROM trust_outcomes WHERE receipt_id = ?");
  const badSince = db
    .prepare<[string, number], number>(
      "SELECT count(*) FROM trust_outcomes WHERE capability = ? AND lifted = 1 AND at > ? AND result IN ('failure', 'rollback')",
    )
    .pluck();
  const forget = db.prepare<[number]>("DELETE FROM trust_outcomes WHERE at < ?");
  const tripped = db.prepare<[string], number>("SELECT tripped_at FROM trust_breakers WHERE capability = ?").pluck();
  const trip = db.prepare("INSERT INTO trust_breakers VALUES (?, ?) ON CONFLICT DO UPDATE SET tripped_at = excluded.tripped_at");

  const propose = db.prepare(`
    INSERT INTO trust_proposals (id, capability, action, scope, default_tier, from_tier, to_tier, reason, confirms, status, receipt_id, created_at)
    VALUES (@id, @capability, @action, @scope, @defaultTier, @from, @to, @reason, @confirms, 'pending', @receiptId, @at)`);
  const proposal = db.prepare<[string], ProposalRow>("SELECT * FROM trust_proposals WHERE id = ?");
  const ofStatus = db.prepare<[string, number], ProposalRow>("SELECT * FROM trust_proposals WHERE status = ? ORDER BY seq DESC LIMIT ?");
  const confirmations = db.prepare<[], ProposalRow>("SELECT * FROM trust_proposals WHERE status = 'pending' AND confirms = 1");
  const ofRecord = db.prepare<[RecordKey & { status: string }], ProposalRow>(
    `SELECT * FROM trust_proposals WHERE ${ofKey} AND status = @status ORDER BY seq`,
  );
  const settle = db.prepare("UPDATE trust_proposals SET status = @status, decided_at = @at WHERE id = @id AND status = @was");

  return {
    record(key: RecordKey): StoredRecord | null {
      const row = one.get(named(key));
      return row === undefined ? null : stored(row);
    },
    put(record: StoredRecord): void {
      put.run({ ...record, changesFiles: record.changesFiles ? 1 : 0 });
    },
    list: (limit: number): StoredRecord[] => list.all(limit).map(stored),
    /** Records of every kind of action with a tier that differs from the default. */
    moved: (): StoredRecord[] => moved.all().map(stored),
    /** Records of a capability with a tier below the default. */
    lifted: (capability: string): StoredRecord[] => lifted.all(capability).map(stored),

    result: (receiptId: string, key: RecordKey): TrustResult | null => resultOf.get({ ...named(key), receiptId }) ?? null,
    putResult(receiptId: string, key: RecordKey, of: { result: TrustResult; lifted: boolean; at: number }): void {
      putResult.run({ ...named(key), receiptId, result: of.result, lifted: of.lifted ? 1 : 0, at: of.at });
    },
    /** The outcomes of one receipt. */
    ofReceipt: (receiptId: string) =>
      ofReceipt
        .all(receiptId)
        .map(({ default_tier: defaultTier, lifted: below, ...row }) => ({ ...row, defaultTier, lifted: below === 1 })),
    badSince: (capability: string, at: number): number => badSince.get(capability, at) ?? 0,
    forgetBefore(at: number): void {
      forget.run(at);
    },
    trippedAt: (capability: string): number | null => tripped.get(capability) ?? null,
    trip(capability: string, at: number): void {
      trip.run(capability, at);
    },

    propose(made: NewProposal): void {
      propose.run({ ...made, confirms: made.confirms ? 1 : 0 });
    },
    proposal(id: string): StoredProposal | null {
      const row = proposal.get(id);
      return row === undefined ? null : storedProposal(row);
    },
    proposals: (status: TrustProposal["status"], limit: number): TrustProposal[] =>
      ofStatus.all(status, limit).map((row) => storedProposal(row).proposal),
    /** Pending confirmations of suspended tiers. */
    confirmations: (): StoredProposal[] => confirmations.all().map(storedProposal),
    /** Proposals of one record, oldest first. */
    proposalsOf: (key: RecordKey, status: TrustProposal["status"]): StoredProposal[] =>
      ofRecord.all({ ...named(key), status }).map(storedProposal),
    /** False when the proposal's status has changed already. */
    settle: (id: string, was: TrustProposal["status"], status: TrustProposal["status"], at: number): boolean =>
      settle.run({ id, was, status, at }).changes === 1,
  };
}

/** The driver rejects parameters that a statement does not name. */
function named({ capability, action, scope, defaultTier }: RecordKey): RecordKey {
  return { capability, action, scope, defaultTier };
}

function stored(row: RecordRow): StoredRecord {
  return {
    capability: row.capability,
    action: row.action,
    scope: row.scope,
    defaultTier: row.default_tier,
    tier: row.tier,
    successes: row.successes,
    failures: row.failures,
    rollbacks: row.rollbacks,
    coolDown: row.cool_down,
    heldBy: row.held_by,
    changesFiles: row.changes_files === 1,
    updatedAt: row.updated_at,
  };
}

function storedProposal(row: ProposalRow): StoredProposal {
  return {
    proposal: {
      id: row.id,
      capability: row.capability,
      action: row.action,
      scope: row.scope,
      from: row.from_tier,
      to: row.to_tier,
      reason: row.reason,
      status: row.status,
      createdAt: new Date(row.created_at).toISOString(),
      decidedAt: row.decided_at === null ? null : new Date(row.decided_at).toISOString(),
    },
    defaultTier: row.default_tier,
    confirms: row.confirms === 1,
    receiptId: row.receipt_id,
  };
}
