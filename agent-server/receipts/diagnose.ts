import type Database from "better-sqlite3";
import type { Verification } from "../contract/receipts.ts";
import { type EntryRow, hashEntry } from "./entry.ts";

/** The first entry at which verification failed. */
export type Problem = NonNullable<Verification["firstBad"]>;

/** Creates a problem with the message `Entry <seq> <what>.` */
export function problemAt(seq: number, receiptId: string | null, problem: Problem["problem"], what: string): Problem {
  return { seq, receiptId, problem, message: `Entry ${seq} ${what}.` };
}

export function receiptAt(db: Database.Database, seq: number): string | null {
  return db.prepare<[number], string>("SELECT receipt_id FROM ledger WHERE seq = ?").pluck().get(seq) ?? null;
}

/** The identifying fields of an entry's body; null when it cannot be parsed. */
export function bodyOf(row: Pick<EntryRow, "body">): { seq: unknown; id: unknown; kind: unknown } | null {
  try {
    // JSON that is not an object has none of these fields.
    return { seq: undefined, id: undefined, kind: undefined, ...(JSON.parse(row.body) as object | null) };
  } catch {
    return null;
  }
}

/** True when the row is consistent: its hash matches its body, and its columns match its body's fields. */
export function isWhole(row: EntryRow, body = bodyOf(row)): boolean {
  return hashEntry(row.prev_hash, row.body) === row.hash && body?.id === row.receipt_id && body.kind === row.kind;
}

/**
 * Diagnoses the first broken link of the chain, at `seq`; `previous` is the hash of the entry before. When several modifications
 * explain the same rows, it reports the one with the fewest changes.
 */
export function diagnose(db: Database.Database, seq: number, previous: string, head: { seq: number; hash: string }): Problem {
  const at = db.prepare<[number], EntryRow>("SELECT * FROM ledger WHERE seq = ?");
  const row = at.get(seq);
  const before = at.get(seq - 1);
  const next = at.get(seq + 1);
  const follower = db.prepare<[string, number], EntryRow>("SELECT * FROM ledger WHERE prev_hash = ? AND seq <> ?").get(previous, seq);
  const movedHere = follower !== undefined && isWhole(follower) && bodyOf(follower)?.seq === seq ? follower : undefined;

  if (row === undefined) {
    return movedHere === undefined
      ? problemAt(seq, null, "removed", "is missing")
      : problemAt(seq, movedHere.receipt_id, "reordered", `was moved to position ${movedHere.seq}`);
  }
  const number = bodyOf(row)?.seq;

  // A forged entry before this one is consistent with the chain, but this entry still links to the entry before the forgery.
  if (before !== undefined && isWhole(row) && row.prev_hash === before.prev_hash && number === seq - 1) {
    return problemAt(seq - 1, before.receipt_id, "inserted", "was not written by Lancelot: the next entry links to the previous one");
  }
  if (movedHere !== undefined) {
    // The expected entry is further down: an entry was inserted before it, or two were swapped.
    const after = at.get(movedHere.seq + 1);
    const pushedDown =
      movedHere.seq === seq + 1 &&
      (after === undefined ? head.hash === movedHere.hash || head.seq < movedHere.seq : after.prev_hash === movedHere.hash);
    return pushedDown
      ? problemAt(seq, row.receipt_id, "inserted", "was not written by Lancelot: the original entry follows it")
      : problemAt(seq, row.receipt_id, "reordered", `is not the original, which was moved to position ${movedHere.seq}`);
  }
  if (isWhole(row)) {
    if (typeof number === "number" && number !== seq)
      return problemAt(seq, null, "removed", "is missing: later entries were renumbered to close the gap");
    // This entry is consistent but does not link to the entry before, so that entry was rewritten together with its hash.
    if (before !== undefined && row.prev_hash !== previous) {
      return problemAt(seq - 1, before.receipt_id, "changed", "does not match the hash that the next entry links to");
    }
    return problemAt(seq, row.receipt_id, "changed", "was modified");
  }
  if (typeof number === "number" && number !== seq) {
    const other = at.get(number);
    if (other !== undefined && bodyOf(other)?.seq === seq) {
      return problemAt(seq, row.receipt_id, "reordered", `contains the original of entry ${number}`);
    }
  }
  if (next !== undefined && next.prev_hash === previous) {
    return problemAt(seq, row.receipt_id, "inserted", "was not written by Lancelot: the next entry links to the previous one");
  }
  return problemAt(seq, row.receipt_id, "changed", "was modified");
}
