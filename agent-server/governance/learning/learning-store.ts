import type { LearnedPattern, LearnedRule, LearningProposal } from "../../contract/trust.ts";
import type { Storage } from "../../storage/storage.ts";
import type { TrustKey } from "../decision-facts.ts";

type Verdict = LearnedRule["verdict"];

interface ProposalRow {
  id: string;
  capability: string;
  action: string;
  scope: string | null;
  verdict: Verdict;
  observations: number;
  consistency: number;
  words: string;
  status: LearningProposal["status"];
  receipt_id: string;
  created_at: number;
  decided_at: number | null;
}

export interface RuleRow {
  id: string;
  capability: string;
  action: string;
  scope: string | null;
  verdict: Verdict;
  status: LearnedRule["status"];
  waits_for: string | null;
  day: string;
  decided_today: number;
  decided_in_all: number;
  max_per_day: number;
  max_in_all: number;
  receipt_id: string;
  created_at: number;
  confirmed_at: number;
}

export interface StoredObservation extends TrustKey {
  readonly approvalId: string;
  readonly verdict: Verdict;
  readonly counts: boolean;
  readonly questId: string | null;
  readonly at: number;
}

/** The owner's answers about a pattern, counted. */
export interface Evidence {
  readonly observations: number;
  readonly allows: number;
  /** Distinct tasks of the answers; answers outside any task count as one task. */
  readonly allowQuests: number;
  readonly denyQuests: number;
  /** Distinct scopes of the answers. */
  readonly scopes: number;
}

export interface StoredProposal {
  readonly proposal: LearningProposal;
  readonly receiptId: string;
}

/** The tables of approval learning. Times are in milliseconds since 1970. */
export type LearningStore = ReturnType<typeof createLearningStore>;

export function createLearningStore({ db }: Pick<Storage, "db">) {
  const observe = db.prepare(`
    INSERT INTO learning_observations (approval_id, capability, action, scope, verdict, counts, quest_id, at)
    VALUES (@approvalId, @capability, @action, @scope, @verdict, @counts, @questId, @at) ON CONFLICT DO NOTHING`);
  const ofPattern = "capability = @capability AND action = @action AND (@scope IS NULL OR scope = @scope)";
  const exactly = "capability = @capability AND action = @action AND scope IS @scope";
  const evidence = db.prepare<[LearnedPattern & { since: number; until: number }], Evidence>(`
    SELECT count(*) AS observations, count(*) FILTER (WHERE verdict = 'allow') AS allows,
      count(DISTINCT CASE verdict WHEN 'allow' THEN ifnull(quest_id, '') END) AS allowQuests,
      count(DISTINCT CASE verdict WHEN 'deny' THEN ifnull(quest_id, '') END) AS denyQuests,
      count(DISTINCT scope) AS scopes
    FROM learning_observations WHERE ${ofPattern} AND counts = 1 AND at > @since AND at <= @until`);
  // A declined or revoked scope also counts for the wider pattern that would cover it.
  const baseline = db
    .prepare<[LearnedPattern], number>(`
      SELECT max(seen_until) FROM (SELECT seen_until FROM learning_proposals WHERE ${ofPattern}
        UNION ALL SELECT seen_until FROM learned_rules WHERE ${ofPattern})`)
    .pluck();
  const since = db
    .prepare<[LearnedPattern & { after: number }], number>(
      `SELECT count(*) FROM learning_observations WHERE ${ofPattern} AND counts = 1 AND seq > @after`,
    )
    .pluck();
  const last = db.prepare<[], number>("SELECT ifnull(max(seq), 0) FROM learning_observations").pluck();

  const propose = db.prepare(`
    INSERT INTO learning_proposals (id, capability, action, scope, verdict, observations, consistency, words, status, receipt_id, created_at)
    VALUES (@id, @capability, @action, @scope, @verdict, @observations, @consistency, @words, 'pending', @receiptId, @at)`);
  const proposal = db.prepare<[string], ProposalRow>("SELECT * FROM learning_proposals WHERE id = ?");
  const pending = db.prepare<[LearnedPattern], ProposalRow>(`SELECT * FROM learning_proposals WHERE ${exactly} AND status = 'pending'`);
  const anyPending = db
    .prepare<[LearnedPattern], number>(`SELECT count(*) FROM learning_proposals WHERE ${ofPattern} AND status = 'pending'`)
    .pluck();
  const proposals = db.prepare<[string, number], ProposalRow>(
    "SELECT * FROM learning_proposals WHERE status = ? ORDER BY seq DESC LIMIT ?",
  );
  const declined = db.prepare<[], TrustKey>(
    "SELECT DISTINCT capability, action, scope FROM learning_proposals WHERE status = 'declined' AND verdict = 'allow' AND scope IS NOT NULL",
  );
  const settle = db.prepare(`
    UPDATE learning_proposals SET status = @status, decided_at = @at, seen_until = @seenUntil WHERE id = @id AND status = 'pending'`);

  const addRule = db.prepare(`
    INSERT INTO learned_rules (id, capability, action, scope, verdict, status, day, decided_today, decided_in_all, max_per_day, max_in_all,
      receipt_id, created_at, confirmed_at)
    VALUES (@id, @capability, @action, @scope, @verdict, 'active', '', 0, 0, @maxPerDay, @maxInAll, @receiptId, @at, @at)`);
  const rule = db.prepare<[string], RuleRow>("SELECT * FROM learned_rules WHERE id = ?");
  const standing = db.prepare<[], RuleRow>("SELECT * FROM learned_rules WHERE status <> 'revoked' ORDER BY seq");
  const revoked = db.prepare<[], TrustKey>(
    "SELECT DISTINCT capability, action, scope FROM learned_rules WHERE status = 'revoked' AND verdict = 'allow' AND scope IS NOT NULL",
  );
  const rules = db.prepare<[number], RuleRow>("SELECT * FROM learned_rules ORDER BY seq DESC LIMIT ?");
  const rulesOf = db.prepare<[string, number], RuleRow>("SELECT * FROM learned_rules WHERE status = ? ORDER BY seq DESC LIMIT ?");
  const suspend = db.prepare("UPDATE learned_rules SET status = 'needs_confirmation', waits_for = ? WHERE id = ? AND status = 'active'");
  const confirm = db.prepare(`
    UPDATE learned_rules SET status = 'active', waits_for = NULL, decided_in_all = 0, max_per_day = @maxPerDay, max_in_all = @maxInAll,
      confirmed_at = @at WHERE id = @id AND status = 'needs_confirmation'`);
  const revoke = db.prepare("UPDATE learned_rules SET status = 'revoked', seen_until = @seenUntil WHERE id = @id AND status <> 'revoked'");
  // The day never moves back, so setting back the clock does not reset the daily limit.
  const use = db.prepare(`
    UPDATE learned_rules SET decided_today = CASE WHEN @day > day THEN 1 ELSE decided_today + 1 END, day = max(@day, day),
      decided_in_all = decided_in_all + 1
    WHERE id = @id AND status = 'active' AND decided_in_all < max_in_all AND (@day > day OR decided_today < max_per_day)`);
  const addUse = db.prepare("INSERT INTO learned_uses (receipt_id, rule_id, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
  const usedBy = db.prepare<[string], string>("SELECT rule_id FROM learned_uses WHERE receipt_id = ?").pluck();
  const forget = [db.prepare("DELETE FROM learning_observations WHERE at < ?"), db.prepare("DELETE FROM learned_uses WHERE at < ?")];

  return {
    /** False when this approval was already observed. */
    observe: (seen: StoredObservation): boolean => observe.run({ ...seen, counts: seen.counts ? 1 : 0 }).changes === 1,
    evidence: (pattern: LearnedPattern, since_: number, until: number): Evidence =>
      evidence.get({ ...named(pattern), since: since_, until }) ?? { observations: 0, allows: 0, allowQuests: 0, denyQuests: 0, scopes: 0 },
    /** Observations since the owner declined or revoked the pattern or one it covers; null when that never happened. */
    since(pattern: LearnedPattern): number | null {
      const after = baseline.get(named(pattern)) ?? null;
      return after === null ? null : (since.get({ ...named(pattern), after }) ?? 0);
    },
    lastObservation: (): number => last.get() ?? 0,

    propose(
      made: LearnedPattern & {
        id: string;
        verdict: Verdict;
        observations: number;
        consistency: number;
        words: string;
        receiptId: string;
        at: number;
      },
    ): void {
      propose.run(made);
    },
    proposal(id: string): StoredProposal | null {
      const row = proposal.get(id);
      return row === undefined ? null : storedProposal(row);
    },
    pending(pattern: LearnedPattern): StoredProposal | null {
      const row = pending.get(named(pattern));
      return row === undefined ? null : storedProposal(row);
    },
    /** True when a proposal for the pattern, or for one it covers, is pending. */
    isPending: (pattern: LearnedPattern): boolean => (anyPending.get(named(pattern)) ?? 0) > 0,
    proposals: (status: LearningProposal["status"], limit: number): LearningProposal[] =>
      proposals.all(status, limit).map((row) => storedProposal(row).proposal),
    settle: (id: string, status: LearningProposal["status"], at: number, seenUntil: number | null): boolean =>
      settle.run({ id, status, at, seenUntil }).changes === 1,

    addRule(
      made: LearnedPattern & { id: string; verdict: Verdict; maxPerDay: number; maxInAll: number; receiptId: string; at: number },
    ): void {
      addRule.run(made);
    },
    rule: (id: string): RuleRow | null => rule.get(id) ?? null,
    /** Rules that are not revoked. */
    unrevokedRules: (): RuleRow[] => standing.all(),
    rules: (status: LearnedRule["status"] | undefined, limit: number): RuleRow[] =>
      status === undefined ? rules.all(limit) : rulesOf.all(status, limit),
    /** Scopes for which the owner declined or revoked an allow rule; no wider rule allows them. */
    declinedScopes: (): TrustKey[] => [...declined.all(), ...revoked.all()],
    /** False when the rule's status has changed already; so are `confirm` and `revoke`. */
    suspend: (id: string, why: string): boolean => suspend.run(why, id).changes === 1,
    confirm: (id: string, of: { maxPerDay: number; maxInAll: number; at: number }): boolean => confirm.run({ id, ...of }).changes === 1,
    revoke: (id: string, seenUntil: number): boolean => revoke.run({ id, seenUntil }).changes === 1,
    /** False when the rule may not decide now. */
    use: (id: string, day: string): boolean => use.run({ id, day }).changes === 1,
    /** Remembers which rule allowed the action of a receipt. */
    addUse(ruleId: string, receiptId: string, at: number): void {
      addUse.run(receiptId, ruleId, at);
    },
    usedBy: (receiptId: string): string[] => usedBy.all(receiptId),
    forgetBefore(at: number): void {
      for (const statement of forget) statement.run(at);
    },
  };
}

function named({ capability, action, scope }: LearnedPattern): LearnedPattern {
  return { capability, action, scope };
}

function storedProposal(row: ProposalRow): StoredProposal {
  return {
    proposal: {
      id: row.id,
      pattern: { capability: row.capability, action: row.action, scope: row.scope },
      verdict: row.verdict,
      observations: row.observations,
      consistency: row.consistency,
      scope: row.words,
      status: row.status,
      createdAt: new Date(row.created_at).toISOString(),
      decidedAt: row.decided_at === null ? null : new Date(row.decided_at).toISOString(),
    },
    receiptId: row.receipt_id,
  };
}

/** A rule with its counts for a day (YYYY-MM-DD, UTC). */
export function learnedRuleOf(row: RuleRow, day: string): LearnedRule {
  return {
    id: row.id,
    pattern: { capability: row.capability, action: row.action, scope: row.scope },
    verdict: row.verdict,
    status: row.status,
    waitsFor: row.waits_for,
    decidedToday: day > row.day ? 0 : row.decided_today,
    decidedInAll: row.decided_in_all,
    maxPerDay: row.max_per_day,
    maxInAll: row.max_in_all,
    createdAt: new Date(row.created_at).toISOString(),
    confirmedAt: new Date(row.confirmed_at).toISOString(),
  };
}
