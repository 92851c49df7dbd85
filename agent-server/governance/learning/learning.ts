import { randomUUID } from "node:crypto";
import type { Tier } from "../../contract/common.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Emit } from "../../contract/events.ts";
import type { Decision } from "../../contract/governance.ts";
import type { Handlers } from "../../contract/table.ts";
import type { LearnedPattern, LearnedRule, LearningProposal } from "../../contract/trust.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import type { Storage } from "../../storage/storage.ts";
import type { LearnedView, SoulSubject, TrustKey } from "../decision-facts.ts";
import { createSnapshot } from "../database-snapshot.ts";
import { agreement } from "./evidence-agreement.ts";
import { loadLearningNumbers, type LearningNumbers, neverAutomate } from "./learning-config.ts";
import { createOwnersWord, type LearningDecision, type LearningReceipt } from "./learning-decision.ts";
import { patternsOf, patternText } from "./learned-patterns.ts";
import { createLearningStore, type RuleRow, shownRule, type StoredProposal } from "./learning-store.ts";
import { coverageWords, decidedWords, patternName } from "./learning-messages.ts";

export { learningMigrations } from "./learning-migrations.ts";

/** One answer of the owner to a question of the gate. What a rule answered, and what expired or was withdrawn, is none. */
export interface Observation {
  readonly key: TrustKey;
  /** `allow` for one time or for the task; both are one answer. */
  readonly verdict: "allow" | "deny";
  readonly tier: Tier;
  readonly riskLevel: Decision["riskLevel"];
  /** Why soul or policy hold this; null when they do not. */
  readonly held: string | null;
  readonly questId: string | null;
  readonly approvalId: string;
  /** ISO 8601. */
  readonly at: string;
}

/** Approval learning: rules from the owner's own answers. It proposes; the owner accepts. */
export interface Learning extends LearnedView {
  /** Counts an answer, once for each approval. Never throws: where it cannot be written, no rule allows that any more in this window. */
  observe(observation: Observation): void;
  /**
   * Counts a decision of a rule, each call one; `receiptId` is what it happens under. False when it may not decide any more, or that
   * cannot be written: then the owner is asked. Never throws.
   */
  used(ruleId: string, of: { questId: string | null; receiptId: string | null }): boolean;
  /**
   * What came of an action that a rule allowed. With `ruleId` the action's receipt is remembered with its rule, so that a rollback needs
   * the receipt alone. A failure, and a rollback by the owner, suspend the rule until the owner confirms it. Never throws.
   */
  outcome(of: { receiptId: string; ruleId?: string | null; result: "success" | "failure" | "rollback" }): void;
  /** True for a kind of action that is never automated, by trust neither. */
  neverAutomate(subject: SoulSubject): boolean;
  /** Newest first. */
  rules(status: LearnedRule["status"] | undefined, limit: number): LearnedRule[];
  proposals(status: LearningProposal["status"], limit: number): LearningProposal[];
  /**
   * The owner's answer to a proposal (accept, decline) or about a rule (confirm, revoke).
   * @throws LancelotError `not_found`, `conflict` (decided already, too many rules, its reason has gone), `unavailable`.
   */
  decide(id: string, decision: LearningDecision): { rule: LearnedRule | null; proposal: LearningProposal | null };
  /** What is wrong with its numbers, in words for the owner; null when all is well. */
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
/** Answers and uses are remembered this long, so that one that is told again is known. */
const rememberDays = 90;
const maxPart = 300;

/** With numbers or lists that cannot be used nothing is allowed and nothing proposed; rules that deny go on. */
export function createLearning(deps: LearningDeps): Learning {
  const { storage, ledger, emit, log } = deps;
  const now = deps.now ?? Date.now;
  const today = (): string => new Date(now()).toISOString().slice(0, 10);
  const store = createLearningStore(storage);
  let numbers: LearningNumbers | null = null;
  let problem: string | null = null;
  try {
    numbers = loadLearningNumbers(deps.configDir);
  } catch (error) {
    problem = `No learned rule allows anything: ${error instanceof Error ? error.message : String(error)}`;
    log("learned rules allow nothing", error);
  }
  const never = neverAutomate(numbers);

  const known = createSnapshot(storage, () => ({
    rules: new Map(store.standing().map((row) => [patternText(row), row])),
    unwanted: new Set(store.unwanted().map(patternText)),
  }));
  /** Keys and rules about which something could not be written. */
  const unwritten = new Set<string>();

  /** Opened and closed inside the running transaction, so that it is undone with it. */
  const receipt: LearningReceipt = (name, of) => {
    const { capability, action, scope } = of.pattern;
    const id = ledger.open({
      actionType: of.byOwner === true ? "user_interaction" : "system",
      actionName: `learning.${name}`,
      inputs: { title: patternName(of.pattern), id: of.id, capability, action, scope, verdict: of.verdict },
      riskTier: "T2",
      parentId: of.parentId ?? null,
    });
    ledger.close(id, { status: "success", outputs: of.why === undefined ? {} : { why: of.why } });
    return id;
  };

  function changed(): void {
    known.touched();
    storage.afterTransaction((committed) => {
      if (committed) emit("learning", {});
    });
  }

  /** The rule that speaks for a key: the most specific one, whatever its state. */
  function ruleFor(key: TrustKey): RuleRow | null {
    const { rules, unwanted } = known.get();
    const exact = rules.get(patternText(key));
    if (exact !== undefined) return exact;
    const wide = rules.get(patternText({ ...key, scope: null }));
    if (wide === undefined) return null;
    return wide.verdict === "allow" && unwanted.has(patternText(key)) ? null : wide;
  }

  function suspend(row: RuleRow, why: string, parentId: string | null): void {
    if (!store.suspend(row.id, why)) return;
    receipt("suspend", { pattern: row, id: row.id, verdict: row.verdict, parentId: parentId ?? row.receipt_id, why });
    changed();
  }

  function withdraw({ proposal, receiptId }: StoredProposal, why: string): void {
    if (!store.settle(proposal.id, "withdrawn", now(), null)) return;
    receipt("withdraw", { pattern: proposal.pattern, id: proposal.id, verdict: proposal.verdict, parentId: receiptId, why });
    changed();
  }

  /** What the answers about a pattern agree on; null when they do not. */
  function agreed(
    pattern: LearnedPattern,
    key: TrustKey,
    of: LearningNumbers,
  ): { verdict: "allow" | "deny"; observations: number; consistency: number } | null {
    const evidence = store.evidence(pattern, now() - of.evidence.days * dayMs, now());
    const found = agreement(evidence, of);
    if (found === null || (found.verdict === "allow" && never.key(key))) return null;
    if (pattern.scope === null && (evidence.scopes < of.wide.scopes || of.wide.never.includes(pattern.capability))) return null;
    return found;
  }

  /** Looks for something to propose, the most specific pattern first. */
  function look(key: TrustKey, of: LearningNumbers): void {
    const { rules } = known.get();
    for (const pattern of patternsOf(key)) {
      if (rules.has(patternText(pattern))) return;
      const pending = store.pending(pattern);
      const found = agreed(pattern, key, of);
      if (pending !== null) {
        if (found?.verdict === pending.proposal.verdict) return;
        withdraw(pending, "Later answers no longer agree.");
      }
      if (found === null) continue;
      const fresh = store.since(pattern);
      if ((fresh !== null && fresh < of.evidence.again) || store.isPending(pattern)) return;
      const id = randomUUID();
      const words = coverageWords(pattern, found.verdict, of);
      const receiptId = receipt("propose", { pattern, id, verdict: found.verdict, why: words });
      store.propose({ ...pattern, ...found, id, words, receiptId, at: now() });
      changed();
      return;
    }
  }

  let forgotAt = 0;
  function forget(): void {
    const at = now();
    if (Math.abs(at - forgotAt) < dayMs) return;
    forgotAt = at;
    store.forgetBefore(at - rememberDays * dayMs);
  }

  function observe({ key, verdict, tier, riskLevel, held, questId, approvalId, at }: Observation): void {
    const { capability, action, scope } = key;
    if ([capability, action, scope].some((part) => part.length > maxPart || part.includes("\0"))) return;
    const name = patternText(key);
    try {
      storage.transaction(() => {
        forget();
        const told = Date.parse(at);
        const counts = tier !== "T3" && held === null && riskLevel !== "critical" && !(verdict === "allow" && never.key(key));
        const seen = {
          capability,
          action,
          scope,
          approvalId,
          verdict,
          counts,
          questId,
          at: Number.isNaN(told) ? now() : Math.min(told, now()),
        };
        if (!store.observe(seen)) return;
        // Whatever it was about, an answer against a rule is one.
        const { rules } = known.get();
        for (const pattern of patternsOf(key)) {
          const row = rules.get(patternText(pattern));
          if (row !== undefined && row.verdict !== verdict)
            suspend(row, verdict === "deny" ? "You said no to the same." : "You allowed the same.", null);
        }
        if (counts && numbers !== null) look({ capability, action, scope }, numbers);
      });
    } catch (error) {
      unwritten.add(name);
      log("an answer could not be learned from", error);
    }
  }

  const owner = createOwnersWord({ store, numbers, never, now, problem, receipt, changed, withdraw });

  return {
    find(key) {
      const row = ruleFor(key);
      if (row?.status !== "active" || row.decided_in_all >= row.max_in_all || unwritten.has(row.id)) return null;
      if (row.decided_today >= row.max_per_day && today() <= row.day) return null;
      if (row.verdict === "allow" && (unwritten.has(patternText(key)) || never.key(key))) return null;
      return { id: row.id, verdict: row.verdict, message: decidedWords(row, row.verdict) };
    },

    observe,

    used(ruleId, { receiptId }) {
      try {
        return storage.transaction(() => {
          if (!store.use(ruleId, today())) return false;
          known.touched();
          const row = store.rule(ruleId);
          if (row !== null && row.decided_in_all >= row.max_in_all) suspend(row, `It has decided ${row.max_in_all} times.`, receiptId);
          return true;
        });
      } catch (error) {
        unwritten.add(ruleId);
        log("a decision of a learned rule could not be counted", error);
        return false;
      }
    },

    outcome({ receiptId, ruleId, result }) {
      const ids = new Set(ruleId === undefined || ruleId === null ? [] : [ruleId]);
      // What no rule decided costs nothing.
      if (result === "success" && ids.size === 0) return;
      try {
        storage.transaction(() => {
          for (const id of ids) store.addUse(id, receiptId, now());
          if (result === "success") return;
          for (const id of store.usedBy(receiptId)) {
            const row = store.rule(id);
            // A rule that refuses has done nothing that could fail.
            if (row?.verdict === "allow")
              suspend(row, result === "failure" ? "What it allowed failed." : "You undid what it had allowed.", receiptId);
          }
        });
      } catch (error) {
        for (const id of ids) unwritten.add(id);
        log("what came of a learned rule could not be written", error);
      }
    },

    neverAutomate: never.subject,
    rules: (status, limit) => store.rules(status, limit).map((row) => shownRule(row, today())),
    proposals: (status, limit) => store.proposals(status, limit),

    decide(id, decision) {
      const decided = storage.transaction(() => owner.decide(id, decision));
      if (decided instanceof LancelotError) throw decided;
      const { rule, proposal } = decided;
      return { rule: rule === null ? null : shownRule(rule, today()), proposal };
    },

    problem: () => problem,
  };
}

/** What was learned from the owner's answers, and the owner's word on it. */
export function learningHandlers(learning: Learning): Pick<Handlers, "learning.rules" | "learning.proposals" | "learning.decide"> {
  return {
    "learning.rules": ({ status, limit }) => ({ items: learning.rules(status, limit) }),
    "learning.proposals": ({ status, limit }) => ({ items: learning.proposals(status ?? "pending", limit) }),
    "learning.decide": ({ id, decision }) => learning.decide(id, decision),
  };
}
