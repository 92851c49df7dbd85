import { join } from "node:path";
import type Database from "better-sqlite3";
import type { Receipt } from "../contract/receipts.ts";
import { CloseEntry, genesis, OpenEntry, readEntry, toReceipt } from "./entry.ts";
import { readSegment, type Segment, segmentFolder } from "./segment-file.ts";

/**
 * Reads a sealed receipt from its file, which its metadata names as `sealed`. Returns null when no file contains it, or when the file is
 * missing or damaged (which `verify` reports). A receipt's id encodes its time, so usually only one file is read.
 */
export async function findSealed(db: Database.Database, dataDir: string, id: string): Promise<Receipt | null> {
  const at = timeOf(id);
  if (at === null) return null;
  const segments = db
    .prepare<[number, number], Segment>("SELECT * FROM ledger_segments WHERE first_at <= ? AND last_at >= ? ORDER BY from_seq DESC")
    .all(at, at);
  for (const segment of segments) {
    const found = await findIn(join(segmentFolder(dataDir), segment.file), id, segment.prev_hash).catch(() => null);
    if (found !== null) return { ...found, metadata: { ...found.metadata, sealed: segment.file } };
  }
  return null;
}

async function findIn(file: string, id: string, prevHash: string): Promise<Receipt | null> {
  const mark = `"id":${JSON.stringify(id)}`;
  let previous = prevHash;
  let open: OpenEntry | null = null;
  for await (const lines of readSegment(file)) {
    for (const line of lines) {
      if (line?.body.includes(mark) === true) {
        open ??= ofId(readEntry(OpenEntry, line.body), id);
        const close = ofId(readEntry(CloseEntry, line.body), id);
        if (open !== null && close !== null) return toReceipt(open, close, { hash: line.hash, prev_hash: previous });
      }
      previous = line?.hash ?? genesis;
    }
  }
  return null;
}

const ofId = <T extends { id: string }>(entry: T | null, id: string): T | null => (entry?.id === id ? entry : null);

/** Time encoded in a receipt id (UUID version 7), in milliseconds since 1970; null for other ids. */
function timeOf(id: string): number | null {
  const digits = /^([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(id);
  return digits === null ? null : Number.parseInt(`${digits[1]}${digits[2]}`, 16);
}

/** Number and latest time of the sealed entries, which are no longer in the database; null when there are none. */
export function sealedSpan(db: Database.Database): { entries: number; until: number } | null {
  const span = db
    .prepare<[], { entries: number | null; until: number | null }>(
      "SELECT max(to_seq) AS entries, max(last_at) AS until FROM ledger_segments",
    )
    .get();
  return typeof span?.entries === "number" ? { entries: span.entries, until: span.until ?? 0 } : null;
}
