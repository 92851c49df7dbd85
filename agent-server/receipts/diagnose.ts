import type Database from "better-sqlite3";
import type { Verification } from "../contract/receipts.ts";
import { type EntryRow, hashEntry } from "./entry.ts";

/** The first place where the ledger is not as it was written. */
export type Problem = NonNullable<Verification["firstBad"]>;

/** A problem, worded for the owner: `Entry <seq> <what>.` */
export function problemAt(seq: number, receiptId: string | null, problem: Problem["problem"], what: string): Problem {
  return { seq, receiptId, problem, message: `Entry ${seq} ${what}.` };
}

export function receiptAt(db: Database.Database, seq: number): string | null {
  return db.prepare<[number], string>("SELECT receipt_id FROM ledger WHERE seq = ?").pluck().get(seq) ?? null;
}

/** What the body says of the entry; null when it cannot be read. */
export function bodyOf(row: Pick<EntryRow, "body">): { seq: unknown; id: unknown; kind: unknown } | null {
  try {
    // What is no object has none of these.
    return { seq: undefined, id: undefined, kind: undefined, ...(JSON.parse(row.body) as object | null) };
  } catch {
    return null;
  }
}

/** True when the entry agrees with itself: its hash is that of its body, and its columns say what its body says. */
export function isWhole(row: EntryRow, body = bodyOf(row)): boolean {
  return hashEntry(row.prev_hash, row.body) === row.hash && body?.id === row.receipt_id && body.kind === row.kind;
}

/**
 * Names what happened at `seq`, the first place where the chain breaks; `previous` is the hash of the entry before. Where several
 * stories fit the same rows it tells the one with the fewest changes.
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
      : problemAt(seq, movedHere.receipt_id, "reordered", `stands at ${movedHere.seq} instead of its place`);
  }
  const number = bodyOf(row)?.seq;

  // A forged entry in front of this one fits the chain itself; that this one continues from before it gives it away.
  if (before !== undefined && isWhole(row) && row.prev_hash === before.prev_hash && number === seq - 1) {
    return problemAt(
      seq - 1,
      before.receipt_id,
      "inserted",
      "was not written by the ledger: the entry after it continues from the one before it",
    );
  }
  if (movedHere !== undefined) {
    // The entry that belongs here is further down: something was put in front of it, or it changed places.
    const after = at.get(movedHere.seq + 1);
    const pushedDown =
      movedHere.seq === seq + 1 &&
      (after === undefined ? head.hash === movedHere.hash || head.seq < movedHere.seq : after.prev_hash === movedHere.hash);
    return pushedDown
      ? problemAt(seq, row.receipt_id, "inserted", "was not written by the ledger: the entry that belongs here comes after it")
      : problemAt(seq, row.receipt_id, "reordered", `is not the one that belongs here, which stands at ${movedHere.seq}`);
  }
  if (isWhole(row)) {
    if (typeof number === "number" && number !== seq)
      return problemAt(seq, null, "removed", "is missing: later entries were moved up to close the gap");
    // Whole and in its place, yet not continuing from the entry before: that one was rewritten together with its hash.
    if (before !== undefined && row.prev_hash !== previous) {
      return problemAt(seq - 1, before.receipt_id, "changed", "is not the one that the entry after it continues from");
    }
    return problemAt(seq, row.receipt_id, "changed", "is not as it was written");
  }
  if (typeof number === "number" && number !== seq) {
    const other = at.get(number);
    if (other !== undefined && bodyOf(other)?.seq === seq) {
      return problemAt(seq, row.receipt_id, "reordered", `holds what was written as entry ${number}`);
    }
  }
  if (next !== undefined && next.prev_hash === previous) {
    return problemAt(seq, row.receipt_id, "inserted", "was not written by the ledger: the entry after it continues from the one before it");
  }
  return problemAt(seq, row.receipt_id, "changed", "is not as it was written");
}
