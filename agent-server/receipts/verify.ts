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

/** Entries checked per turn of the event loop: a few milliseconds of work. */
const chunk = 500;

export interface VerifyOptions {
  signal?: AbortSignal | undefined;
  /** Called periodically. */
  progress?: ((done: number, total: number) => void) | undefined;
}

/**
 * Verifies every entry of the ledger against the previous one (sealed entries in their files), the last against the recorded head,
 * and the signed heads against the chain. Reports the first modified entry. Entries appended during the call are not checked.
 *
 * It cannot detect: a rewrite of entries that are not signed yet (the last minute, or the last 256) by someone who can write the
 * database; any change by someone who can also write the key store; removal of the whole database, which starts a new ledger; and
 * replacement with a copy that is newer than the head in the key store (updated every five minutes).
 */
export async function verifyLedger(
  db: Database.Database,
  of: { dataDir: string; ledgerId: string; facts: SignatureFacts },
  options: VerifyOptions = {},
): Promise<Verification> {
  // One statement reads a consistent snapshot: no append can happen between head and last entry.
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
    // Includes signatures past the current head, but not those made after this snapshot.
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
  let reportedAt = 0;
  const sealed = { count: 0, entries: 0 };

  const answer = (firstBad: Problem | null): Verification => ({
    ok: firstBad === null,
    entries,
    head: entries === 0 ? null : previous,
    signed: walk.result(),
    segments: { ...sealed },
    ...(firstBad === null ? {} : { firstBad }),
  });
  const yieldToEventLoop = async (): Promise<void> => {
    if (options.signal?.aborted === true) throw new LancelotError("cancelled", "Verifying the receipts was canceled.");
    if (entries - reportedAt >= 20 * chunk) {
      reportedAt = entries;
      options.progress?.(entries, end);
    }
    await setImmediate();
  };
  const sealedAt = (seq: number): Segment | undefined => segments.find(({ from_seq, to_seq }) => from_seq <= seq && seq <= to_seq);

  /** Sealed entries that are still in the database (after a crash) must match the file, because `get` reads them. */
  const compareRemaining = (first: number, lines: readonly (EntryLine | null)[]): Problem | null => {
    const remains = page.all(first - 1, first + lines.length - 1, lines.length);
    const other = remains.find((row) => lines[row.seq - first]?.body !== row.body || lines[row.seq - first]?.hash !== row.hash);
    return other === undefined ? null : problemAt(other.seq, other.receipt_id, "changed", "in the database does not match the sealed file");
  };

  const checkSegment = async (segment: Segment): Promise<Problem | null> => {
    const where = `in the sealed file ${segment.file}`;
    if (segment.from_seq === entries + 1 && segment.prev_hash !== previous)
      return problemAt(segment.from_seq, null, "changed", `${where} does not link to the previous entry`);
    // Starts in the middle when the earlier entries were still in the database when they were checked.
    const begun = entries;
    let seq = segment.from_seq;
    let before = segment.prev_hash;
    const reader = readSegment(join(segmentFolder(of.dataDir), segment.file));
    try {
      for (let step = await reader.next(); ; step = await reader.next()) {
        if (step.done === true) {
          if (seq <= segment.to_seq) return problemAt(seq, null, "removed", `is missing ${where}`);
          if (step.value.sha256 !== segment.sha256)
            return problemAt(segment.from_seq, null, "changed", `${where} does not have the hash of the sealed file`);
          break;
        }
        const remains = compareRemaining(seq, step.value);
        for (const line of step.value) {
          const problem =
            seq > segment.to_seq
              ? problemAt(seq, null, "inserted", `${where} was added after sealing`)
              : checkLine(line, seq, before, where);
          if (problem !== null) return problem;
          before = line?.hash ?? "";
          if (seq === begun && before !== previous)
            return problemAt(seq, null, "changed", `${where} does not match the entry that was in the database`);
          if (seq > begun && seq <= end) {
            const unsigned = walk.pass(seq, before, null);
            if (unsigned !== null) return unsigned;
            previous = before;
            entries = seq;
          }
          seq += 1;
        }
        if (remains !== null) return remains;
        await yieldToEventLoop();
      }
    } catch (error) {
      if (error instanceof LancelotError) throw error;
      if ((error as NodeJS.ErrnoException).code === "ENOENT")
        return problemAt(
          segment.from_seq,
          null,
          "removed",
          `to ${segment.to_seq} are missing: the sealed file ${segment.file} was deleted`,
        );
      return problemAt(seq, null, "changed", `${where} cannot be read`);
    } finally {
      await reader.return({ sha256: "", bytes: 0 });
    }
    if (before !== segment.last_hash)
      return problemAt(segment.to_seq, null, "changed", `${where} does not match the hash it was sealed with`);
    sealed.count += 1;
    sealed.entries += segment.to_seq - segment.from_seq + 1;
    return null;
  };

  if (typeof now?.first === "number" && now.first < 1)
    return answer(problemAt(now.first, null, "inserted", "precedes the first entry of the ledger"));

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
      // It may have been sealed during this verification.
      segments = allSegments.all();
      if (sealedAt(entries + 1) === undefined) return answer(diagnose(db, entries + 1, previous, head));
    }
    await yieldToEventLoop();
  }
  if (reportedAt < end) options.progress?.(end, end);
  return answer(atEnd());

  function atEnd(): Problem | null {
    if (!headKnown) return problemAt(last, null, "changed", "cannot be verified: the record of the ledger's head was deleted");
    if (last < head.seq) return problemAt(last + 1, null, "removed", `is missing: the ledger had ${head.seq} entries and is truncated`);
    if (last > head.seq) {
      // There is an extra entry: either the last one, or one inserted before it.
      const pushed = previous === head.hash ? null : diagnose(db, head.seq + 1, previous, head);
      const added = () => problemAt(head.seq + 1, receiptAt(db, head.seq + 1), "inserted", "was added after the ledger's recorded end");
      return pushed?.problem === "inserted" ? pushed : added();
    }
    if (previous !== head.hash) return problemAt(last, receiptAt(db, last), "changed", "does not match the recorded head");
    return walk.finish();
  }
}
