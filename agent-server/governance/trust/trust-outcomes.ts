import { type Book, recordKey } from "./trust-recorder.ts";
import { after, dueStep, firstStanding, isStricter, type Seen, type TrustResult } from "./trust-state.ts";
import type { RecordKey, StoredRecord } from "./trust-store.ts";
import { confirmationWords, proposalWords } from "./trust-messages.ts";

/** How bad a result is: told twice, the worse one counts. */
const badness: Readonly<Record<TrustResult, number>> = { success: 0, refused: 1, failure: 2, rollback: 3 };

const keepsCheckpoint = "It changes files, so it keeps its checkpoint.";
const lostWords: Readonly<Record<TrustResult, string>> = {
  success: keepsCheckpoint,
  refused: keepsCheckpoint,
  failure: "It failed, so it is back at the tier it began with.",
  rollback: "You undid it, so what it had earned is lost.",
};

/** Counts one outcome inside the running transaction: the record, what it loses, what may be proposed. */
export function countOutcome(book: Book, key: RecordKey, seen: Seen & { readonly receiptId: string }): void {
  const { store, numbers } = book;
  const { receiptId, result } = seen;
  const told = store.result(receiptId, key);
  if (told !== null && badness[told] >= badness[result]) return;
  const at = book.now();
  const lifted = isStricter(key.defaultTier, seen.decidedTier);
  store.putResult(receiptId, key, { result, lifted, at });
  const before: StoredRecord = store.record(key) ?? { ...key, ...firstStanding(key.defaultTier), updatedAt: at };
  const record: StoredRecord = { ...before, ...after(before, seen, numbers), updatedAt: at };
  book.put(record);
  if (result === "rollback" && isStricter(record.tier, before.tier)) {
    const why = "You undid it, so it is one tier stricter than it began.";
    book.note("rollback", { key, from: before.tier, to: record.tier, parentId: receiptId, why });
  }
  const lost = store.proposalsOf(key, "accepted").filter(({ proposal }) => isStricter(record.tier, proposal.to));
  book.withdraw(key, lost, lostWords[result]);
  const gone = store.proposalsOf(key, "pending").filter((pending) => book.isGone(pending, record, result));
  book.withdraw(key, gone, "The reason for it has gone.");
  if ((result === "failure" || result === "rollback") && lifted) breakCircuit(book, key.capability, receiptId);
  const due = result === "success" ? dueStep(record, numbers) : null;
  if (due !== null && store.proposalsOf(key, "pending").length === 0) {
    const reason = proposalWords(key, record.tier, due.to, record.successes);
    book.propose(record, due.to, { reason, confirms: false, parentId: receiptId });
  }
}

/** Several failures at lowered tiers within a short time: what the capability was granted waits to be confirmed. */
function breakCircuit(book: Book, capability: string, parentId: string): void {
  const { store, numbers } = book;
  // Without numbers nothing is lifted that could be suspended.
  if (numbers === null) return;
  const { failures, minutes } = numbers.breaker;
  const at = book.now();
  const tripped = store.trippedAt(capability) ?? 0;
  // A trip that lies ahead was written by a clock that was set back since.
  const bad = store.badSince(capability, Math.max(at - minutes * 60_000, tripped <= at ? tripped : 0));
  if (bad < failures) return;
  store.trip(capability, at);
  for (const record of store.lifted(capability)) {
    const key = recordKey(record);
    const suspended: StoredRecord = { ...record, tier: record.defaultTier, successes: 0, updatedAt: at };
    book.put(suspended);
    const why = confirmationWords(key, record.tier, bad, minutes);
    book.withdraw(key, store.proposalsOf(key, "accepted"), why);
    book.withdraw(key, store.proposalsOf(key, "pending"), why);
    book.propose(suspended, record.tier, { reason: why, confirms: true, parentId });
  }
}
