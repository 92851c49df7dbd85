import { type TrustRecorder, recordKey } from "./trust-recorder.ts";
import { applyOutcome, dueStep, initialTrustState, isStricter, type ObservedOutcome, type TrustResult } from "./trust-state.ts";
import type { RecordKey, StoredRecord } from "./trust-store.ts";
import { confirmationMessage, proposalMessage } from "./trust-messages.ts";

/** Of two results for one receipt, the more severe one counts. */
const severity: Readonly<Record<TrustResult, number>> = { success: 0, refused: 1, failure: 2, rollback: 3 };

const keepsCheckpoint = "The action changes files, so it keeps its checkpoint.";
const resetReasons: Readonly<Record<TrustResult, string>> = {
  success: keepsCheckpoint,
  refused: keepsCheckpoint,
  failure: "The action failed, so its tier was reset to the default.",
  rollback: "You undid the action, so its trust was reset.",
};

/** Counts one outcome inside the running transaction: updates the record, withdraws stale proposals, and proposes a due step. */
export function countOutcome(recorder: TrustRecorder, key: RecordKey, seen: ObservedOutcome & { readonly receiptId: string }): void {
  const { store, config } = recorder;
  const { receiptId, result } = seen;
  const known = store.result(receiptId, key);
  if (known !== null && severity[known] >= severity[result]) return;
  const at = recorder.now();
  const lifted = isStricter(key.defaultTier, seen.decidedTier);
  store.putResult(receiptId, key, { result, lifted, at });
  const before: StoredRecord = store.record(key) ?? { ...key, ...initialTrustState(key.defaultTier), updatedAt: at };
  const record: StoredRecord = { ...before, ...applyOutcome(before, seen, config), updatedAt: at };
  recorder.save(record);
  if (result === "rollback" && isStricter(record.tier, before.tier)) {
    const why = "You undid the action, so it is one tier stricter than its default.";
    recorder.recordChange("rollback", { key, from: before.tier, to: record.tier, parentId: receiptId, why });
  }
  const lost = store.proposalsOf(key, "accepted").filter(({ proposal }) => isStricter(record.tier, proposal.to));
  recorder.withdraw(key, lost, resetReasons[result]);
  const stale = store.proposalsOf(key, "pending").filter((pending) => recorder.isStale(pending, record, result));
  recorder.withdraw(key, stale, "The proposal no longer applies.");
  if ((result === "failure" || result === "rollback") && lifted) breakCircuit(recorder, key.capability, receiptId);
  const due = result === "success" ? dueStep(record, config) : null;
  if (due !== null && store.proposalsOf(key, "pending").length === 0) {
    const reason = proposalMessage(key, record.tier, due.to, record.successes);
    recorder.propose(record, due.to, { reason, confirms: false, parentId: receiptId });
  }
}

/** After several failures at lowered tiers within a short time, suspends the capability's lowered tiers until the owner confirms them. */
function breakCircuit(recorder: TrustRecorder, capability: string, parentId: string): void {
  const { store, config } = recorder;
  // Without its configuration, trust lowers no tier that could be suspended.
  if (config === null) return;
  const { failures, minutes } = config.breaker;
  const at = recorder.now();
  const tripped = store.trippedAt(capability) ?? 0;
  // A trip in the future means that the clock was set back since.
  const bad = store.badSince(capability, Math.max(at - minutes * 60_000, tripped <= at ? tripped : 0));
  if (bad < failures) return;
  store.trip(capability, at);
  for (const record of store.lifted(capability)) {
    const key = recordKey(record);
    const suspended: StoredRecord = { ...record, tier: record.defaultTier, successes: 0, updatedAt: at };
    recorder.save(suspended);
    const why = confirmationMessage(key, record.tier, bad, minutes);
    recorder.withdraw(key, store.proposalsOf(key, "accepted"), why);
    recorder.withdraw(key, store.proposalsOf(key, "pending"), why);
    recorder.propose(suspended, record.tier, { reason: why, confirms: true, parentId });
  }
}
