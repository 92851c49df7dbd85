import type { Tier } from "../../contract/common.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { TrustProposal } from "../../contract/trust.ts";
import type { Book } from "./trust-recorder.ts";
import { isStricter } from "./trust-state.ts";
import type { RecordKey } from "./trust-store.ts";

export type TrustDecision = "accept" | "decline" | "revoke";

/**
 * The owner's answer to a step, inside the running transaction. A refusal is handed back and not thrown, so that the withdrawal of a
 * proposal whose reason has gone is kept.
 */
export function decideStep(book: Book, id: string, decision: TrustDecision, problem: string | null): TrustProposal | LancelotError {
  const { store, numbers } = book;
  const one = store.proposal(id);
  if (one === null) return new LancelotError("not_found", `There is no trust proposal ${id.slice(0, 200)}.`);
  const { proposal, defaultTier, receiptId } = one;
  const was = decision === "revoke" ? "accepted" : "pending";
  if (proposal.status !== was) {
    return new LancelotError("conflict", cannotWords(proposal.status, decision), { data: { status: proposal.status } });
  }
  const { capability, action, scope } = proposal;
  const key: RecordKey = { capability, action, scope, defaultTier };
  const record = store.record(key);
  if (record === null) return new LancelotError("not_found", "What this proposal is about is no longer recorded.");
  const settle = (status: TrustProposal["status"], from: Tier, to: Tier): void => {
    store.settle(id, was, status, book.now());
    book.note(decision, { key, from, to, id, parentId: receiptId, byOwner: true });
  };
  switch (decision) {
    case "accept":
      if (numbers === null) return new LancelotError("unavailable", problem ?? "Trust lifts nothing.");
      if (book.isGone(one, record, "success")) {
        book.withdraw(key, [one], "The reason for it had gone when it was accepted.");
        return new LancelotError("conflict", "The reason for this proposal has gone, so it was withdrawn. Nothing was changed.");
      }
      settle("accepted", proposal.from, proposal.to);
      book.put({ ...record, tier: proposal.to, successes: 0 });
      break;
    case "decline":
      settle("declined", proposal.from, proposal.from);
      book.put({ ...record, coolDown: Math.max(record.coolDown, numbers?.cool_down.refused ?? 0) });
      break;
    case "revoke": {
      settle("revoked", proposal.to, proposal.from);
      const coolDown = Math.max(record.coolDown, numbers?.cool_down.revoked ?? 0);
      book.put({ ...record, tier: proposal.from, successes: 0, coolDown });
      const later = store.proposalsOf(key, "accepted").filter((other) => isStricter(proposal.from, other.proposal.to));
      book.withdraw(key, [...later, ...store.proposalsOf(key, "pending")], "You withdrew the step before it.");
      break;
    }
  }
  return store.proposal(id)?.proposal ?? proposal;
}

function cannotWords(status: TrustProposal["status"], decision: TrustDecision): string {
  if (decision === "revoke") return `Only a step that was accepted can be withdrawn; this one is ${status}.`;
  return status === "withdrawn" ? "The reason for this proposal has gone; it was withdrawn." : `This proposal was already ${status}.`;
}
