import { randomUUID } from "node:crypto";
import { LancelotError } from "../../contract/errors.ts";
import type { LearnedPattern, LearningProposal } from "../../contract/trust.ts";
import type { LearningConfig } from "./learning-config.ts";
import type { NeverAutomate } from "./never-automate.ts";
import type { LearningStore, RuleRow, StoredProposal } from "./learning-store.ts";

export type LearningDecision = "accept" | "decline" | "confirm" | "revoke";

/** Writes the receipt of a proposal, decision or suspension and returns its id. */
export type LearningReceipt = (
  name: string,
  of: { pattern: LearnedPattern; id: string; verdict: string; parentId?: string | null; byOwner?: boolean; why?: string },
) => string;

interface DecisionResult {
  readonly rule: RuleRow | null;
  readonly proposal: LearningProposal | null;
}

/**
 * Applies the owner's decisions on proposals and rules inside the running transaction. Returns errors instead of throwing them, so
 * that the transaction keeps the withdrawal of a stale proposal.
 */
export function createLearningDecisions(deps: {
  store: LearningStore;
  config: LearningConfig | null;
  never: NeverAutomate;
  now: () => number;
  problem: string | null;
  receipt: LearningReceipt;
  changed: () => void;
  withdraw: (proposal: StoredProposal, why: string) => void;
}): { decide(id: string, decision: LearningDecision): DecisionResult | LancelotError } {
  const { store, config, never, now, receipt, changed, withdraw } = deps;

  const conflict = (message: string, status?: string): LancelotError =>
    new LancelotError("conflict", message, status === undefined ? {} : { data: { status } });
  const unavailable = (): LancelotError =>
    new LancelotError("unavailable", deps.problem ?? "Learned rules are unavailable. See the log for the cause.");
  const result = (ruleId: string | null, proposalId: string | null): DecisionResult => ({
    rule: ruleId === null ? null : store.rule(ruleId),
    proposal: proposalId === null ? null : (store.proposal(proposalId)?.proposal ?? null),
  });

  function decline({ proposal: { id, pattern, verdict }, receiptId }: StoredProposal): DecisionResult {
    store.settle(id, "declined", now(), store.lastObservation());
    receipt("decline", { pattern, id, verdict, parentId: receiptId, byOwner: true });
    changed();
    return result(null, id);
  }

  function accept(one: StoredProposal): DecisionResult | LancelotError {
    const { proposal, receiptId } = one;
    const { id, pattern, verdict } = proposal;
    if (config === null) return unavailable();
    if (verdict === "allow" && never.key({ ...pattern, scope: pattern.scope ?? "" })) {
      withdraw(one, "The action is on the list of actions that are never automated.");
      return conflict("This action is on the list of actions that are never automated, so the proposal was withdrawn. Nothing changed.");
    }
    const rules = store.unrevokedRules();
    if (rules.length >= config.rules.most) {
      return conflict(`The limit of ${rules.length} learned rules is reached. Revoke one, then accept this again.`);
    }
    store.settle(id, "accepted", now(), null);
    const ruleId = randomUUID();
    const accepted = receipt("accept", { pattern, id: ruleId, verdict, parentId: receiptId, byOwner: true, why: proposal.scope });
    const { per_day: maxPerDay, in_all: maxInAll } = config.rules;
    store.addRule({ ...pattern, id: ruleId, verdict, maxPerDay, maxInAll, receiptId: accepted, at: now() });
    changed();
    return result(ruleId, id);
  }

  function decideRule(row: RuleRow, decision: "confirm" | "revoke"): DecisionResult | LancelotError {
    if (row.status === "revoked") return conflict("This rule was already revoked.", row.status);
    if (decision === "revoke") {
      store.revoke(row.id, store.lastObservation());
    } else {
      if (row.status === "active") return conflict("This rule is active and needs no confirmation.", row.status);
      if (config === null) return unavailable();
      store.confirm(row.id, { maxPerDay: config.rules.per_day, maxInAll: config.rules.in_all, at: now() });
    }
    receipt(decision, { pattern: row, id: row.id, verdict: row.verdict, parentId: row.receipt_id, byOwner: true });
    changed();
    return result(row.id, null);
  }

  return {
    decide(id, decision) {
      const one = store.proposal(id);
      if (one !== null) {
        if (decision !== "accept" && decision !== "decline") return conflict("Accept or decline a proposal.");
        if (one.proposal.status !== "pending") return conflict(`This proposal was already ${one.proposal.status}.`, one.proposal.status);
        return decision === "accept" ? accept(one) : decline(one);
      }
      const row = store.rule(id);
      if (row === null) return new LancelotError("not_found", `No proposal or rule has the id ${id.slice(0, 200)}.`);
      if (decision !== "confirm" && decision !== "revoke") return conflict("Confirm or revoke a rule.");
      return decideRule(row, decision);
    },
  };
}
