import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type Database from "better-sqlite3";
import { LancelotError } from "../contract/errors.ts";
import type { Verification } from "../contract/receipts.ts";
import { bodyOf, diagnose, isWhole, problemAt, type Problem, receiptAt } from "./diagnose.ts";
import { checkLine, type EntryLine } from "./entry-lines.ts";
import { type EntryRow, genesis } from "./entry.ts";
import { readSegment, type Segment, segmentFolder } from "./segment-file.ts";
import { createSignatureChecker, type SignedHead } from "./signature.ts";
import { createSignatureWalk } from "./signature-walk.ts";
import type { SignatureFacts } from "./signed-heads.ts";

/** Entries checked between two turns of the event loop: a few milliseconds of work. */
const chunk = 500;

export interface VerifyOptions {
  signal?: AbortSignal | undefined;
  /** Told after some entries each. */
  progress?: ((done: number, total: number) => void) | undefined;
}

/**
 * Checks every entry of the ledger against the one before it, sealed ones in their files, the last against the recorded head and
 * the signed heads against the chain, and names the first that is not as it was written. Entries appended meanwhile are left to
 * the next call.
 *
 * What it cannot see: a rewriting of entries that were not signed yet (the last minute, or the last 256) by someone who can
 * write the database; anything at all by someone who can write the key store as well; a database that was removed as a whole,
 * for a new ledger begins then; and, between two times the key store was told the last head (five minutes), the return of a
 * copy that is newer than what it was told.
 */
export async function verifyLedger(
  db: Database.Database,
  of: { dataDir: string; ledgerId: string; facts: SignatureFacts },
  options: VerifyOptions = {},
): Promise<Verification> {
  // One statement, so one moment: an append cannot fall between the head and the last entry.
  const now = db
    .prepare<[], { seq: number | null; hash: string | null; first: number | null; last: number | null; sealed: number }>(
      `SELECT (SELECT seq FROM ledger_head) AS seq, (SELECT hash FROM ledger_head) AS hash,
        (SELECT min(seq) FROM ledger) AS first, (SELECT max(seq) FROM ledger) AS last,
        coalesce((SELECT max(to_seq) FROM ledger_segments), 0) AS sealed`,
    )
    .get();
  const last = Math.max(now?.last ?? 0, now?.sealed ?? 0);
  const headKnown = typeof now?.seq === "number";
  const head = { seq: now?.seq ?? last, hash: now?.hash ?? "" };
  const end = Math.min(head.seq, last);
  const page = db.prepare<[number, number, number], EntryRow>("SELECT * FROM ledger WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?");
  const allSegments = db.prepare<[], Segment>("SELECT * FROM ledger_segments ORDER BY from_seq");
  let segments = allSegments.all();
  const walk = createSignatureWalk(
    // Those past the head as it is now; what was signed meanwhile is not.
    db
      .prepare<[number], SignedHead>(
        `SELECT seq, hash, at, key_id AS keyId, signature FROM ledger_signatures
          WHERE seq <= ? OR seq > (SELECT seq FROM ledger_head) ORDER BY seq, at`,
      )
      .all(head.seq),
    createSignatureChecker(of.ledgerId, of.facts.keys),
    of.facts.kept,
  );
  let previous = genesis;
  let entries = 0;
  let toldAt = 0;
  const sealed = { count: 0, entries: 0 };

  const answer = (firstBad: Problem | null): Verification => ({
    ok: firstBad === null,
    entries,
    head: entries === 0 ? null : previous,
    signed: walk.result(),
    segments: { ...sealed },
    ...(firstBad === null ? {} : { firstBad }),
  });
  const giveWay = async (): Promise<void> => {
    if (options.signal?.aborted === true) throw new LancelotError("cancelled", "The check of the receipts was stopped.");
    if (entries - toldAt >= 20 * chunk) {
      toldAt = entries;
      options.progress?.(entries, end);
    }
    await setImmediate();
  };
  const sealedAt = (seq: number): Segment | undefined => segments.find(({ from_seq, to_seq }) => from_seq <= seq && seq <= to_seq);

  /** What remains in the database of entries that a file holds must be the same: a crash may have left it, and `get` shows it. */
  const compareRemains = (first: number, lines: readonly (EntryLine | null)[]): Problem | null => {
    const remains = page.all(first - 1, first + lines.length - 1, lines.length);
    const other = remains.find((row) => lines[row.seq - first]?.body !== row.body || lines[row.seq - first]?.hash !== row.hash);
    return other === undefined
      ? null
      : problemAt(other.seq, other.receipt_id, "changed", "in the database is not what the sealed file holds");
  };

  const checkSegment = async (segment: Segment): Promise<Problem | null> => {
    const where = `in the sealed file ${segment.file}`;
    if (segment.from_seq === entries + 1 && segment.prev_hash !== previous)
      return problemAt(segment.from_seq, null, "changed", `${where} does not continue from the entry before it`);
    // Begun in the middle when the entries before were still in the database when they were checked.
    const begun = entries;
    let seq = segment.from_seq;
    let before = segment.prev_hash;
    const reader = readSegment(join(segmentFolder(of.dataDir), segment.file));
    try {
      for (let step = await reader.next(); ; step = await reader.next()) {
        if (step.done === true) {
          if (seq <= segment.to_seq) return problemAt(seq, null, "removed", `is missing ${where}`);
          if (step.value.sha256 !== segment.sha256) return problemAt(segment.from_seq, null, "changed", `${where} is not as it was sealed`);
          break;
        }
        const remains = compareRemains(seq, step.value);
        for (const line of step.value) {
          const problem =
            seq > segment.to_seq
              ? problemAt(seq, null, "inserted", `${where} is more than was sealed`)
              : checkLine(line, seq, before, where);
          if (problem !== null) return problem;
          before = line?.hash ?? "";
          if (seq === begun && before !== previous) return problemAt(seq, null, "changed", `${where} is not what the database held`);
          if (seq > begun && seq <= end) {
            const unsigned = walk.pass(seq, before, null);
            if (unsigned !== null) return unsigned;
            previous = before;
            entries = seq;
          }
          seq += 1;
        }
        if (remains !== null) return remains;
        await giveWay();
      }
    } catch (error) {
      if (error instanceof LancelotError) throw error;
      if ((error as NodeJS.ErrnoException).code === "ENOENT")
        return problemAt(segment.from_seq, null, "removed", `to ${segment.to_seq} are missing: the sealed file ${segment.file} is gone`);
      return problemAt(seq, null, "changed", `${where} cannot be read`);
    } finally {
      await reader.return({ sha256: "", bytes: 0 });
    }
    if (before !== segment.last_hash) return problemAt(segment.to_seq, null, "changed", `${where} is not the one it was sealed with`);
    sealed.count += 1;
    sealed.entries += segment.to_seq - segment.from_seq + 1;
    return null;
  };

  if (typeof now?.first === "number" && now.first < 1)
    return answer(problemAt(now.first, null, "inserted", "stands before the first entry of the ledger"));

  while (entries < end) {
    const segment = sealedAt(entries + 1);
    if (segment !== undefined) {
      const problem = await checkSegment(segment);
      if (problem !== null) return answer(problem);
      continue;
    }
    const rows = page.all(entries, end, chunk);
    let broken = rows.length === 0;
    for (const row of rows) {
      const seq = entries + 1;
      const body = bodyOf(row);
      if (row.seq !== seq || row.prev_hash !== previous || body?.seq !== seq || !isWhole(row, body)) {
        broken = true;
        break;
      }
      const unsigned = walk.pass(seq, row.hash, row.receipt_id);
      if (unsigned !== null) return answer(unsigned);
      previous = row.hash;
      entries = seq;
    }
    if (broken) {
      // It may have been sealed since this began.
      segments = allSegments.all();
      if (sealedAt(entries + 1) === undefined) return answer(diagnose(db, entries + 1, previous, head));
    }
    await giveWay();
  }
  if (toldAt < end) options.progress?.(end, end);
  return answer(atEnd());

  function atEnd(): Problem | null {
    if (!headKnown) return problemAt(last, null, "changed", "cannot be checked: the record of the ledger's head is gone");
    if (last < head.seq) return problemAt(last + 1, null, "removed", `is missing: the ledger had ${head.seq} entries and ends early`);
    if (last > head.seq) {
      // One more than there should be: the last, or one that was put in front of it and pushed it past the end.
      const pushed = previous === head.hash ? null : diagnose(db, head.seq + 1, previous, head);
      const added = () => problemAt(head.seq + 1, receiptAt(db, head.seq + 1), "inserted", "was added after the ledger's recorded end");
      return pushed?.problem === "inserted" ? pushed : added();
    }
    if (previous !== head.hash) return problemAt(last, receiptAt(db, last), "changed", "is not the one that was recorded as the last");
    return walk.finish();
  }
}
