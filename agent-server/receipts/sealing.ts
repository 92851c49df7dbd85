import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { LancelotError } from "../contract/errors.ts";
import { createClock, createLease, type Storage } from "../storage/storage.ts";
import { bodyOf, isWhole } from "./diagnose.ts";
import { checkLine, type EntryLine } from "./entry-lines.ts";
import type { EntryRow } from "./entry.ts";
import { readSegment, type Segment, segmentFolder, segmentName, writeSegment } from "./segment-file.ts";
import type { RetentionSettings } from "./retention-settings.ts";
import { dropTextIndex } from "./text-index.ts";

/** Rows read or removed per turn of the event loop: a few milliseconds of work. */
const slice = 250;
/** The lease outlasts the slowest step between two renewals (ms). */
const leaseMs = 60_000;
const renewEvery = 10_000;
const day = 86_400_000;
/** An entry this long (ms) past its retention time is sealed even when its segment is not full. */
const maxWaitForFullSegment = 30 * day;

/** Entries `from` to `to`, all of them due. */
export interface SealRange {
  from: number;
  to: number;
}

/** Steps of a sealing in order; the ledger verifies after a crash at any of them. */
export type SealStep = "begun" | "written" | "checked" | "recorded" | "removing" | "removed";

export interface SealingDeps {
  storage: Storage;
  settings: () => RetentionSettings;
  now: () => number;
  /** Updates the derived table, which must contain every entry before a range is chosen. Returns true when it does. */
  advance(limit: number): boolean;
  /** Signs the head before entries are removed from the database. */
  sign(): Promise<unknown>;
  /** Runs one sealing inside a receipt. */
  record(range: SealRange, work: () => Promise<Segment>): Promise<Segment>;
  /** Called after each step; lets tests stop between steps. */
  reached?: (step: SealStep) => void;
}

/** Moves old entries into sealed files, one host at a time. */
export interface Sealing {
  /**
   * Seals all due entries and completes a sealing that a crash interrupted.
   * @throws LancelotError `conflict` when entries were modified (they are not sealed); `cancelled`
   */
  run(signal?: AbortSignal): Promise<{ segments: number; entries: number }>;
}

export function createSealing(deps: SealingDeps): Sealing {
  const { storage, now } = deps;
  const { db } = storage;
  const lease = createLease({ storage, name: "sealing", now });
  const folder = segmentFolder(storage.dataDir);
  const reached = deps.reached ?? (() => undefined);
  const clock = createClock({ storage, now });
  let leasedAt = 0;

  const sealedTo = db.prepare<[], number>("SELECT coalesce(max(to_seq), 0) FROM ledger_segments").pluck();
  const head = db.prepare<[], number>("SELECT coalesce((SELECT seq FROM ledger_head), 0)").pluck();
  const page = db.prepare<[number, number, number], EntryRow>("SELECT * FROM ledger WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?");
  const bodyAt = db.prepare<[number], string>("SELECT body FROM ledger WHERE seq = ?").pluck();
  const firstSpanning = db
    .prepare<[number, number, number], number | null>(
      "SELECT min(open_seq) FROM receipts WHERE open_seq >= ? AND open_seq <= ? AND (close_seq IS NULL OR close_seq > ?)",
    )
    .pluck();
  const spanned = db.prepare<[number, number], { open: number; close: number | null }>(
    "SELECT count(*) - count(close_seq) AS open, max(close_seq) AS close FROM receipts WHERE open_seq >= ? AND open_seq <= ?",
  );
  const span = db.prepare<[number, number], { first: number | null; last: number | null }>(
    "SELECT min(opened_at) AS first, max(opened_at) AS last FROM receipts WHERE open_seq >= ? AND open_seq <= ?",
  );
  const record = db.prepare(
    `INSERT INTO ledger_segments (from_seq, to_seq, prev_hash, last_hash, first_at, last_at, file, sha256, bytes, at)
      VALUES (@from_seq, @to_seq, @prev_hash, @last_hash, @first_at, @last_at, @file, @sha256, @bytes, @at)`,
  );
  const endOfSlice = db
    .prepare<[number, number], number | null>("SELECT max(seq) FROM (SELECT seq FROM ledger WHERE seq <= ? ORDER BY seq LIMIT ?)")
    .pluck();
  const removeEntries = db.prepare("DELETE FROM ledger WHERE seq <= ?");
  const removeReceipts = db.prepare("DELETE FROM receipts WHERE open_seq <= ?");

  const yieldAndRenew = async (signal: AbortSignal | undefined): Promise<void> => {
    await setImmediate();
    if (signal?.aborted === true || !db.open) throw new LancelotError("cancelled", "Sealing old receipts was canceled.");
    if (now() - leasedAt < renewEvery) return;
    if (!lease.take(leaseMs)) throw new LancelotError("conflict", "Another window is sealing old receipts.");
    leasedAt = now();
  };

  const timeOf = (seq: number): number =>
    (bodyOf({ body: bodyAt.get(seq) ?? "" }) as { at?: number } | null)?.at ?? Number.POSITIVE_INFINITY;

  /** Bytes of the database pages in use; free pages are not counted because SQLite reuses them. */
  const usedBytes = (): number =>
    ((db.pragma("page_count", { simple: true }) as number) - (db.pragma("freelist_count", { simple: true }) as number)) *
    (db.pragma("page_size", { simple: true }) as number);

  /** The next range of due entries; null when there is none. */
  const next = (): SealRange | null => {
    const { keep_days, segment_entries, max_bytes } = deps.settings();
    const from = (sealedTo.get() ?? 0) + 1;
    const end = head.get() ?? 0;
    const limit = now() - keep_days * day;
    const full = from + segment_entries - 1;
    let to = 0;
    const isClockSane = clock.mayRemove(keep_days);
    let due = (seq: number): boolean => isClockSane && timeOf(seq) < limit;
    if (full <= end && due(full)) to = full;
    else if (isClockSane && from <= end && timeOf(from) < limit - maxWaitForFullSegment) to = lastBefore(from, Math.min(full, end), limit);
    else if (max_bytes > 0 && full < end && usedBytes() > max_bytes) {
      to = full;
      due = () => true;
    }
    if (to === 0) return null;
    // A segment contains both entries of a receipt or neither.
    const smaller = shrink(from, to);
    if (smaller >= from) return { from, to: smaller };
    const larger = grow(from, to);
    return larger !== null && due(larger) ? { from, to: larger } : null;
  };

  /** The last entry up to `to` after which no receipt is open; less than `from` when there is none. */
  const shrink = (from: number, to: number): number => {
    let last = to;
    for (let first = firstSpanning.get(from, last, last); typeof first === "number"; first = firstSpanning.get(from, last, last)) {
      last = first - 1;
      if (last < from) break;
    }
    return last;
  };

  /** The first entry from `to` on after which no receipt is open; null while one of them is still pending. */
  const grow = (from: number, to: number): number | null => {
    for (let last = to; ; ) {
      const { open, close } = spanned.get(from, last) ?? { open: 0, close: null };
      if (open > 0) return null;
      if (close === null || close <= last) return last;
      last = close;
    }
  };

  /** The last entry of `from` to `to` written before `limit`, by binary search: entry times are nearly sorted. */
  const lastBefore = (from: number, to: number, limit: number): number => {
    let low = from;
    let high = to;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (timeOf(middle) < limit) low = middle;
      else high = middle - 1;
    }
    return low;
  };

  async function* verifiedEntries({ from, to }: SealRange, signal: AbortSignal | undefined): AsyncGenerator<EntryLine[]> {
    let previous: string | null = null;
    for (let seq = from; seq <= to; ) {
      const rows = page.all(seq - 1, to, slice);
      for (const row of rows) {
        if (row.seq !== seq || (previous !== null && row.prev_hash !== previous) || bodyOf(row)?.seq !== seq || !isWhole(row))
          throw modifiedEntry(seq);
        previous = row.hash;
        seq += 1;
      }
      if (rows.length === 0) throw modifiedEntry(seq);
      yield rows;
      await yieldAndRenew(signal);
    }
  }

  /** Reads the written file back and verifies it, before its entries may be removed from the database. */
  const check = async (
    file: string,
    { from, to }: SealRange,
    prevHash: string,
  ): Promise<{ lastHash: string; sha256: string; bytes: number }> => {
    let seq = from;
    let previous = prevHash;
    const reader = readSegment(file);
    for (;;) {
      const step = await reader.next();
      if (step.done === true) {
        if (seq !== to + 1) throw new LancelotError("internal", `The sealed file ends at entry ${seq - 1} instead of ${to}.`);
        return { lastHash: previous, ...step.value };
      }
      for (const line of step.value) {
        const problem = checkLine(line, seq, previous, "in the sealed file");
        if (problem !== null) throw new LancelotError("internal", problem.message);
        previous = line?.hash ?? "";
        seq += 1;
      }
      await setImmediate();
    }
  };

  const seal = async (range: SealRange, signal: AbortSignal | undefined): Promise<Segment> => {
    const name = segmentName(range.from, range.to);
    const file = join(folder, name);
    const prevHash = page.get(range.from - 1, range.to, 1)?.prev_hash ?? "";
    await writeSegment(file, verifiedEntries(range, signal));
    reached("written");
    const { lastHash, sha256, bytes } = await check(file, range, prevHash);
    reached("checked");
    await yieldAndRenew(signal);
    const times = span.get(range.from, range.to);
    const segment: Segment = {
      from_seq: range.from,
      to_seq: range.to,
      prev_hash: prevHash,
      last_hash: lastHash,
      first_at: times?.first ?? 0,
      last_at: times?.last ?? 0,
      file: name,
      sha256,
      bytes,
      at: now(),
    };
    storage.transaction(() => record.run(segment));
    reached("recorded");
    return segment;
  };

  /** Removes entries that sealed files contain, including those that an interrupted sealing did not remove. */
  const clear = async (signal: AbortSignal | undefined): Promise<void> => {
    const to = sealedTo.get() ?? 0;
    for (let end = endOfSlice.get(to, slice); typeof end === "number"; end = endOfSlice.get(to, slice)) {
      const last = end;
      storage.transaction(() => {
        removeReceipts.run(last);
        removeEntries.run(last);
      });
      reached("removing");
      await yieldAndRenew(signal);
    }
    storage.transaction(() => dropTextIndex(db, to + 1));
    reached("removed");
  };

  /** Deletes temporary files of an interrupted sealing. The lease excludes other hosts. */
  const removeTemporaryFiles = async (): Promise<void> => {
    const names = await readdir(folder).catch(() => []);
    for (const name of names) if (/^segment-.*\.tmp$/.test(name)) await rm(join(folder, name), { force: true });
  };

  return {
    run: async (signal) => {
      const done = { segments: 0, entries: 0 };
      if (!lease.take(leaseMs)) return done;
      leasedAt = now();
      try {
        await removeTemporaryFiles();
        await clear(signal);
        while (!deps.advance(slice)) await yieldAndRenew(signal);
        for (let range = next(); range !== null; range = next()) {
          const due = range;
          reached("begun");
          await deps.sign();
          await deps.record(due, () => seal(due, signal));
          done.segments += 1;
          done.entries += due.to - due.from + 1;
          await clear(signal);
          while (!deps.advance(slice)) await yieldAndRenew(signal);
        }
        return done;
      } finally {
        lease.release();
      }
    },
  };
}

function modifiedEntry(seq: number): LancelotError {
  return new LancelotError("conflict", `Entry ${seq} of the ledger was modified, so it is not sealed. Verify the receipts for details.`);
}
