import { randomUUID } from "node:crypto";
import { LancelotError } from "../../contract/errors.ts";
import type { LearnedPattern, LearningProposal } from "../../contract/trust.ts";
import type { LearningNumbers, NeverAutomate } from "./learning-config.ts";
import type { LearningStore, RuleRow, StoredProposal } from "./learning-store.ts";

export type LearningDecision = "accept" | "decline" | "confirm" | "revoke";

/** A receipt of something that was proposed, decided or suspended; its id. */
export type LearningReceipt = (
  name: string,
  of: { pattern: LearnedPattern; id: string; verdict: string; parentId?: string | null; byOwner?: boolean; why?: string },
) => string;

interface Decided {
  readonly rule: RuleRow | null;
  readonly proposal: LearningProposal | null;
}

/**
 * The owner's answers to proposals and about rules, inside the running transaction. A refusal is handed back and not thrown, so that
 * the withdrawal of a proposal whose reason has gone is kept.
 */
export function createOwnersWord(deps: {
  store: LearningStore;
  numbers: LearningNumbers | null;
  never: NeverAutomate;
  now: () => number;
  problem: string | null;
  receipt: LearningReceipt;
  changed: () => void;
  withdraw: (proposal: StoredProposal, why: string) => void;
}): { decide(id: string, decision: LearningDecision): Decided | LancelotError } {
  const { store, numbers, never, now, receipt, changed, withdraw } = deps;

  const conflict = (message: string, status?: string): LancelotError =>
    new LancelotError("conflict", message, status === undefined ? {} : { data: { status } });
  const unusable = (): LancelotError => new LancelotError("unavailable", deps.problem ?? "Nothing can be learned now.");
  const shown = (ruleId: string | null, proposalId: string | null): Decided => ({
    rule: ruleId === null ? null : store.rule(ruleId),
    proposal: proposalId === null ? null : (store.proposal(proposalId)?.proposal ?? null),
  });

  function decline({ proposal: { id, pattern, verdict }, receiptId }: StoredProposal): Decided {
    store.settle(id, "declined", now(), store.lastObservation());
    receipt("decline", { pattern, id, verdict, parentId: receiptId, byOwner: true });
    changed();
    return shown(null, id);
  }

  function accept(one: StoredProposal): Decided | LancelotError {
    const { proposal, receiptId } = one;
    const { id, pattern, verdict } = proposal;
    if (numbers === null) return unusable();
    if (verdict === "allow" && never.key({ ...pattern, scope: pattern.scope ?? "" })) {
      withdraw(one, "It is on the list of what is never automated.");
      return conflict("This is on the list of what is never automated, so the proposal was withdrawn. Nothing was changed.");
    }
    const standing = store.standing();
    if (standing.length >= numbers.rules.most) {
      return conflict(`There are ${standing.length} learned rules, which is the most there may be. Withdraw one, then accept this again.`);
    }
    store.settle(id, "accepted", now(), null);
    const ruleId = randomUUID();
    const accepted = receipt("accept", { pattern, id: ruleId, verdict, parentId: receiptId, byOwner: true, why: proposal.scope });
    const { per_day: maxPerDay, in_all: maxInAll } = numbers.rules;
    store.addRule({ ...pattern, id: ruleId, verdict, maxPerDay, maxInAll, receiptId: accepted, at: now() });
    changed();
    return shown(ruleId, id);
  }

  function decideRule(row: RuleRow, decision: "confirm" | "revoke"): Decided | LancelotError {
    if (row.status === "revoked") return conflict("This rule was already withdrawn.", row.status);
    if (decision === "revoke") {
      store.revoke(row.id, store.lastObservation());
    } else {
      if (row.status === "active") return conflict("This rule is in use; there is nothing to confirm.", row.status);
      if (numbers === null) return unusable();
      store.confirm(row.id, { maxPerDay: numbers.rules.per_day, maxInAll: numbers.rules.in_all, at: now() });
    }
    receipt(decision, { pattern: row, id: row.id, verdict: row.verdict, parentId: row.receipt_id, byOwner: true });
    changed();
    return shown(row.id, null);
  }

  return {
    decide(id, decision) {
      const one = store.proposal(id);
      if (one !== null) {
        if (decision !== "accept" && decision !== "decline") return conflict("A proposal is accepted or declined.");
        if (one.proposal.status !== "pending") return conflict(`This proposal was already ${one.proposal.status}.`, one.proposal.status);
        return decision === "accept" ? accept(one) : decline(one);
      }
      const row = store.rule(id);
      if (row === null) return new LancelotError("not_found", `There is no proposal and no rule ${id.slice(0, 200)}.`);
      if (decision !== "confirm" && decision !== "revoke") return conflict("A rule is confirmed or withdrawn.");
      return decideRule(row, decision);
    },
  };
}
