import type { Tier } from "../../contract/common.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Emit } from "../../contract/events.ts";
import type { Decision } from "../../contract/governance.ts";
import type { Handlers } from "../../contract/table.ts";
import type { LearnedRule, LearningProposal } from "../../contract/trust.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import type { Storage } from "../../storage/storage.ts";
import type { LearnedView, SoulSubject, TrustKey } from "../decision-facts.ts";
import { createSnapshot } from "../database-snapshot.ts";
import { type LearningConfig, loadLearningConfig } from "./learning-config.ts";
import { neverAutomate } from "./never-automate.ts";
import { createLearningDecisions, type LearningDecision, type LearningReceipt } from "./learning-decision.ts";
import { patternsOf, patternKey } from "./learned-patterns.ts";
import { createLearningStore, type RuleRow, learnedRuleOf } from "./learning-store.ts";
import { patternLabel, ruleMessage } from "./learning-messages.ts";
import { createLearningProposals } from "./learning-proposals.ts";

export { learningMigrations } from "./learning-migrations.ts";

/** One answer of the owner to an approval request. Expired and canceled requests and answers by a rule are not observations. */
export interface Observation {
  readonly key: TrustKey;
  /** `allow` stands for once and for the whole task. */
  readonly verdict: "allow" | "deny";
  readonly tier: Tier;
  readonly riskLevel: Decision["riskLevel"];
  /** Why soul or policy require approval; null when they do not. */
  readonly heldBy: string | null;
  readonly questId: string | null;
  readonly approvalId: string;
  /** ISO 8601. */
  readonly at: string;
}

/** Approval learning: proposes rules from the owner's answers, which only the owner can accept. */
export interface Learning extends LearnedView {
  /** Counts an answer once per approval. Never throws: when it cannot be written, no rule allows that action in this window. */
  observe(observation: Observation): void;
  /**
   * Counts one decision of a rule under the parent receipt `receiptId`. False when the rule may no longer decide or the count
   * cannot be written: then the owner is asked. Never throws.
   */
  used(ruleId: string, of: { questId: string | null; receiptId: string | null }): boolean;
  /**
   * The outcome of an action that a rule allowed. With `ruleId` it stores the receipt with its rule, so that a later rollback needs
   * only the receipt. A failure or a rollback suspends the rule until the owner confirms it. Never throws.
   */
  outcome(of: { receiptId: string; ruleId?: string | null; result: "success" | "failure" | "rollback" }): void;
  /** True for an action that neither a rule nor trust may automate. */
  neverAutomate(subject: SoulSubject): boolean;
  /** Newest first. */
  rules(status: LearnedRule["status"] | undefined, limit: number): LearnedRule[];
  proposals(status: LearningProposal["status"], limit: number): LearningProposal[];
  /**
   * Applies the owner's decision on a proposal (accept, decline) or a rule (confirm, revoke).
   * @throws LancelotError `not_found`, `conflict` (decided already, too many rules, no longer applicable), `unavailable`.
   */
  decide(id: string, decision: LearningDecision): { rule: LearnedRule | null; proposal: LearningProposal | null };
  /** Why its configuration is unusable; null when all is well. */
  problem(): string | null;
}

export interface LearningDeps {
  readonly storage: Storage;
  readonly ledger: Ledger;
  readonly emit: Emit;
  readonly configDir: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  readonly log: Log;
}

const dayMs = 86_400_000;
/** Days that answers and uses are kept, so that a repeated report is recognized. */
const rememberDays = 90;
const maxPart = 300;

/** With an unusable configuration it allows and proposes nothing; deny rules stay active. */
export function createLearning(deps: LearningDeps): Learning {
  const { storage, ledger, emit, log } = deps;
  const now = deps.now ?? Date.now;
  const today = (): string => new Date(now()).toISOString().slice(0, 10);
  const store = createLearningStore(storage);
  let config: LearningConfig | null = null;
  let problem: string | null = null;
  try {
    config = loadLearningConfig(deps.configDir);
  } catch (error) {
    problem = `Learned rules allow nothing: ${error instanceof Error ? error.message : String(error)}`;
    log("learning configuration unusable; learned rules allow nothing", error);
  }
  const never = neverAutomate(config);

  const known = createSnapshot(storage, () => ({
    rules: new Map(store.unrevokedRules().map((row) => [patternKey(row), row])),
    declined: new Set(store.declinedScopes().map(patternKey)),
  }));
  /** Keys and rules with an update that could not be written. */
  const unwritten = new Set<string>();

  /** Opened and closed inside the running transaction, so that a rollback removes it too. */
  const receipt: LearningReceipt = (name, of) => {
    const { capability, action, scope } = of.pattern;
    const id = ledger.open({
      actionType: of.byOwner === true ? "user_interaction" : "system",
      actionName: `learning.${name}`,
      inputs: { title: patternLabel(of.pattern), id: of.id, capability, action, scope, verdict: of.verdict },
      riskTier: "T2",
      parentId: of.parentId ?? null,
    });
    ledger.close(id, { status: "success", outputs: of.why === undefined ? {} : { why: of.why } });
    return id;
  };

  function changed(): void {
    known.invalidate();
    storage.afterTransaction((committed) => {
      if (committed) emit("learning", {});
    });
  }

  /** The most specific rule for a key, whatever its status. */
  function ruleFor(key: TrustKey): RuleRow | null {
    const { rules, declined } = known.get();
    const exact = rules.get(patternKey(key));
    if (exact !== undefined) return exact;
    const wide = rules.get(patternKey({ ...key, scope: null }));
    if (wide === undefined) return null;
    return wide.verdict === "allow" && declined.has(patternKey(key)) ? null : wide;
  }

  function suspend(row: RuleRow, why: string, parentId: string | null): void {
    if (!store.suspend(row.id, why)) return;
    receipt("suspend", { pattern: row, id: row.id, verdict: row.verdict, parentId: parentId ?? row.receipt_id, why });
    changed();
  }

  const proposals = createLearningProposals({ store, config, never, now, receipt, changed });

  let prunedAt = 0;
  function prune(): void {
    const at = now();
    if (Math.abs(at - prunedAt) < dayMs) return;
    prunedAt = at;
    store.forgetBefore(at - rememberDays * dayMs);
  }

  function observe({ key, verdict, tier, riskLevel, heldBy, questId, approvalId, at }: Observation): void {
    const { capability, action, scope } = key;
    if ([capability, action, scope].some((part) => part.length > maxPart || part.includes("\0"))) return;
    const name = patternKey(key);
    try {
      storage.transaction(() => {
        prune();
        const answeredAt = Date.parse(at);
        const counts = tier !== "T3" && heldBy === null && riskLevel !== "critical" && !(verdict === "allow" && never.key(key));
        const seen = {
          capability,
          action,
          scope,
          approvalId,
          verdict,
          counts,
          questId,
          at: Number.isNaN(answeredAt) ? now() : Math.min(answeredAt, now()),
        };
        if (!store.observe(seen)) return;
        // An answer that contradicts a rule suspends it, even when the answer itself does not count.
        const { rules } = known.get();
        for (const pattern of patternsOf(key)) {
          const row = rules.get(patternKey(pattern));
          if (row !== undefined && row.verdict !== verdict)
            suspend(row, verdict === "deny" ? "You denied the same action." : "You allowed the same action.", null);
        }
        if (counts) proposals.propose({ capability, action, scope }, (pattern) => rules.has(patternKey(pattern)));
      });
    } catch (error) {
      unwritten.add(name);
      log("answer not recorded for learning", error);
    }
  }

  const decisions = createLearningDecisions({ store, config, never, now, problem, receipt, changed, withdraw: proposals.withdraw });

  return {
    find(key) {
      const row = ruleFor(key);
      if (row?.status !== "active" || row.decided_in_all >= row.max_in_all || unwritten.has(row.id)) return null;
      if (row.decided_today >= row.max_per_day && today() <= row.day) return null;
      if (row.verdict === "allow" && (unwritten.has(patternKey(key)) || never.key(key))) return null;
      return { id: row.id, verdict: row.verdict, message: ruleMessage(row, row.verdict) };
    },

    observe,

    used(ruleId, { receiptId }) {
      try {
        return storage.transaction(() => {
          if (!store.use(ruleId, today())) return false;
          known.invalidate();
          const row = store.rule(ruleId);
          if (row !== null && row.decided_in_all >= row.max_in_all)
            suspend(row, `The rule has decided ${row.max_in_all} times.`, receiptId);
          return true;
        });
      } catch (error) {
        unwritten.add(ruleId);
        log("use of a learned rule not counted", error);
        return false;
      }
    },

    outcome({ receiptId, ruleId, result }) {
      const ids = new Set(ruleId === undefined || ruleId === null ? [] : [ruleId]);
      // A success without a rule needs no database access.
      if (result === "success" && ids.size === 0) return;
      try {
        storage.transaction(() => {
          for (const id of ids) store.addUse(id, receiptId, now());
          if (result === "success") return;
          for (const id of store.usedBy(receiptId)) {
            const row = store.rule(id);
            // A deny rule runs nothing that could fail.
            if (row?.verdict === "allow")
              suspend(row, result === "failure" ? "An action it allowed failed." : "You undid an action it allowed.", receiptId);
          }
        });
      } catch (error) {
        for (const id of ids) unwritten.add(id);
        log("outcome of a learned rule not recorded", error);
      }
    },

    neverAutomate: never.subject,
    rules: (status, limit) => store.rules(status, limit).map((row) => learnedRuleOf(row, today())),
    proposals: (status, limit) => store.proposals(status, limit),

    decide(id, decision) {
      const decided = storage.transaction(() => decisions.decide(id, decision));
      if (decided instanceof LancelotError) throw decided;
      const { rule, proposal } = decided;
      return { rule: rule === null ? null : learnedRuleOf(rule, today()), proposal };
    },

    problem: () => problem,
  };
}

/** The contract's learning methods. */
export function learningHandlers(learning: Learning): Pick<Handlers, "learning.rules" | "learning.proposals" | "learning.decide"> {
  return {
    "learning.rules": ({ status, limit }) => ({ items: learning.rules(status, limit) }),
    "learning.proposals": ({ status, limit }) => ({ items: learning.proposals(status ?? "pending", limit) }),
    "learning.decide": ({ id, decision }) => learning.decide(id, decision),
  };
}
