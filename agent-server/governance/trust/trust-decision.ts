import type { Tier } from "../../contract/common.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { TrustProposal } from "../../contract/trust.ts";
import type { TrustRecorder } from "./trust-recorder.ts";
import { isStricter } from "./trust-state.ts";
import type { RecordKey } from "./trust-store.ts";

export type TrustDecision = "accept" | "decline" | "revoke";

/**
 * Applies the owner's decision on a proposal inside the running transaction. Returns an error instead of throwing it, so that the
 * transaction keeps the withdrawal of a stale proposal.
 */
export function decideTrustProposal(
  recorder: TrustRecorder,
  id: string,
  decision: TrustDecision,
  problem: string | null,
): TrustProposal | LancelotError {
  const { store, config } = recorder;
  const one = store.proposal(id);
  if (one === null) return new LancelotError("not_found", `No trust proposal has the id ${id.slice(0, 200)}.`);
  const { proposal, defaultTier, receiptId } = one;
  const was = decision === "revoke" ? "accepted" : "pending";
  if (proposal.status !== was) {
    return new LancelotError("conflict", conflictMessage(proposal.status, decision), { data: { status: proposal.status } });
  }
  const { capability, action, scope } = proposal;
  const key: RecordKey = { capability, action, scope, defaultTier };
  const record = store.record(key);
  if (record === null) return new LancelotError("not_found", "The record behind this proposal no longer exists.");
  const settle = (status: TrustProposal["status"], from: Tier, to: Tier): void => {
    store.settle(id, was, status, recorder.now());
    recorder.recordChange(decision, { key, from, to, id, parentId: receiptId, byOwner: true });
  };
  switch (decision) {
    case "accept":
      if (config === null) return new LancelotError("unavailable", problem ?? "Trust is unavailable. See the log for the cause.");
      if (recorder.isStale(one, record, "success")) {
        recorder.withdraw(key, [one], "The proposal no longer applied when it was accepted.");
        return new LancelotError("conflict", "This proposal no longer applies and was withdrawn. Nothing changed.");
      }
      settle("accepted", proposal.from, proposal.to);
      recorder.save({ ...record, tier: proposal.to, successes: 0 });
      break;
    case "decline":
      settle("declined", proposal.from, proposal.from);
      recorder.save({ ...record, coolDown: Math.max(record.coolDown, config?.cool_down.refused ?? 0) });
      break;
    case "revoke": {
      settle("revoked", proposal.to, proposal.from);
      const coolDown = Math.max(record.coolDown, config?.cool_down.revoked ?? 0);
      recorder.save({ ...record, tier: proposal.from, successes: 0, coolDown });
      const later = store.proposalsOf(key, "accepted").filter((other) => isStricter(proposal.from, other.proposal.to));
      recorder.withdraw(key, [...later, ...store.proposalsOf(key, "pending")], "You revoked the step before it.");
      break;
    }
  }
  return store.proposal(id)?.proposal ?? proposal;
}

function conflictMessage(status: TrustProposal["status"], decision: TrustDecision): string {
  if (decision === "revoke") return `Only an accepted proposal can be revoked; this one is ${status}.`;
  return status === "withdrawn" ? "This proposal no longer applies and was withdrawn." : `This proposal was already ${status}.`;
}
