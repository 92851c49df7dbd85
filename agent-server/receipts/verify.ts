import { setImmediate } from "node:timers/promises";
import type Database from "better-sqlite3";
import { LancelotError } from "../contract/errors.ts";
import type { Verification } from "../contract/receipts.ts";
import { type EntryRow, genesis, hashEntry } from "./entry.ts";

type Problem = NonNullable<Verification["firstBad"]>;

/** Entries checked between two turns of the event loop: a few milliseconds of work. */
const chunk = 500;

/**
 * Checks every entry of the ledger against the one before it and the last against the recorded head, and names the first that is
 * not as it was written. Entries appended meanwhile are left to the next call. What it cannot see: a ledger rewritten from one
 * entry to its end together with its head by someone who can write the database.
 */
export async function verifyLedger(db: Database.Database, signal?: AbortSignal): Promise<Verification> {
  // One statement, so one moment: an append cannot fall between the head and the last entry.
  const now = db
    .prepare<[], { seq: number | null; hash: string | null; first: number | null; last: number | null }>(
      `SELECT (SELECT seq FROM ledger_head) AS seq, (SELECT hash FROM ledger_head) AS hash,
        (SELECT min(seq) FROM ledger) AS first, (SELECT max(seq) FROM ledger) AS last`,
    )
    .get();
  const last = now?.last ?? 0;
  const headKnown = typeof now?.seq === "number";
  const head = { seq: now?.seq ?? last, hash: now?.hash ?? "" };
  const page = db.prepare<[number, number, number], EntryRow>("SELECT * FROM ledger WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?");
  const end = Math.min(head.seq, last);
  let previous = genesis;
  let entries = 0;

  const bad = (firstBad: Problem): Verification => ({ ok: false, entries, head: entries === 0 ? null : previous, firstBad });

  if (typeof now?.first === "number" && now.first < 1) {
    return bad(problemAt(now.first, null, "inserted", "stands before the first entry of the ledger"));
  }
  while (entries < end) {
    if (signal?.aborted === true) throw new LancelotError("cancelled", "The check of the receipts was stopped.");
    const rows = page.all(entries, end, chunk);
    for (const row of rows) {
      const seq = entries + 1;
      if (row.seq !== seq || row.prev_hash !== previous || !isWhole(row) || bodyOf(row)?.seq !== seq) {
        return bad(diagnose(db, seq, previous, head));
      }
      previous = row.hash;
      entries = seq;
    }
    if (rows.length === 0) return bad(diagnose(db, entries + 1, previous, head));
    await setImmediate();
  }
  if (!headKnown) return bad(problemAt(last, null, "changed", "cannot be checked: the record of the ledger's head is gone"));
  if (last < head.seq) return bad(problemAt(last + 1, null, "removed", `is missing: the ledger had ${head.seq} entries and ends early`));
  if (last > head.seq) {
    // One more than there should be: the last, or one that was put in front of it and pushed it past the end.
    const pushed = previous === head.hash ? null : diagnose(db, head.seq + 1, previous, head);
    const added = () => problemAt(head.seq + 1, receiptAt(db, head.seq + 1), "inserted", "was added after the ledger's recorded end");
    return bad(pushed?.problem === "inserted" ? pushed : added());
  }
  if (previous !== head.hash) return bad(problemAt(last, receiptAt(db, last), "changed", "is not the one that was recorded as the last"));
  return { ok: true, entries, head: entries === 0 ? null : previous };
}

function problemAt(seq: number, receiptId: string | null, problem: Problem["problem"], what: string): Problem {
  return { seq, receiptId, problem, message: `Entry ${seq} ${what}.` };
}

function receiptAt(db: Database.Database, seq: number): string | null {
  return db.prepare<[number], string>("SELECT receipt_id FROM ledger WHERE seq = ?").pluck().get(seq) ?? null;
}

function bodyOf(row: EntryRow): { seq: unknown; id: unknown; kind: unknown } | null {
  try {
    const body: unknown = JSON.parse(row.body);
    return typeof body === "object" && body !== null ? { seq: undefined, id: undefined, kind: undefined, ...body } : null;
  } catch {
    return null;
  }
}

/** True when the entry agrees with itself: its hash is that of its body, and its columns say what its body says. */
function isWhole(row: EntryRow): boolean {
  const body = bodyOf(row);
  return hashEntry(row.prev_hash, row.body) === row.hash && body?.id === row.receipt_id && body.kind === row.kind;
}

/**
 * Names what happened at `seq`, the first place where the chain breaks; `previous` is the hash of the entry before. Where several
 * stories fit the same rows it tells the one with the fewest changes.
 */
function diagnose(db: Database.Database, seq: number, previous: string, head: { seq: number; hash: string }): Problem {
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
