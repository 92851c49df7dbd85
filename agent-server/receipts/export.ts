import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type Database from "better-sqlite3";
import { LancelotError } from "../contract/errors.ts";
import type { Params, Result } from "../contract/table.ts";
import { type ExportPiece, writeExportFile } from "../storage/storage.ts";
import { type EntryLine, writeLine } from "./entry-lines.ts";
import type { ExportEnd, ExportHeader } from "./export-format.ts";
import { genesis } from "./entry.ts";
import { readSegment, type Segment, segmentFolder } from "./segment-file.ts";
import type { PublicKey, SignedHead } from "./signature.ts";

export type ExportFilter = Params<"receipts.export">;

/** Entries and receipts written per turn of the event loop. */
const chunk = 500;

export interface ExportDeps {
  db: Database.Database;
  dataDir: string;
  ledgerId: string;
  keys: readonly PublicKey[];
  now: () => number;
  /** Pages of receipts, newest first. */
  search(filter: Params<"receipts.search">): Result<"receipts.search">;
}

/**
 * Writes receipts as JSON lines to `exports/` of the data folder, readable by its owner only. Receipts were redacted before they were
 * recorded. The file is renamed into place when complete; a cancelled or failed export leaves no file.
 * @throws LancelotError `cancelled`, `invalid_params` (a ledger export cannot be filtered), `unavailable` (a sealed file is missing, or a disk error)
 */
export async function exportReceipts(deps: ExportDeps, filter: ExportFilter, signal?: AbortSignal): Promise<Result<"receipts.export">> {
  const filtered = filter.questId !== undefined || filter.from !== undefined || filter.to !== undefined;
  if (filter.format === "ledger" && filtered)
    throw new LancelotError(
      "invalid_params",
      "A ledger export cannot be filtered, because it could not be verified. Remove the task and time filters.",
    );
  const { count, ...written } = await writeExportFile({
    dataDir: deps.dataDir,
    name: filter.format,
    extension: "jsonl",
    now: deps.now,
    pieces: filter.format === "ledger" ? ledgerLines(deps) : receiptLines(deps, filter),
    signal,
  });
  return { ...written, entries: count };
}

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;

/** Yields the header, every entry (sealed ones from their files) with its signed heads, and the end record. */
async function* ledgerLines({ db, dataDir, ledgerId, keys, now }: ExportDeps): AsyncGenerator<ExportPiece> {
  const head = db.prepare<[], { seq: number; hash: string }>("SELECT seq, hash FROM ledger_head").get() ?? { seq: 0, hash: genesis };
  const heads = db
    .prepare<[number], SignedHead>(
      "SELECT seq, hash, at, key_id AS keyId, signature FROM ledger_signatures WHERE seq <= ? ORDER BY seq, at",
    )
    .all(head.seq);
  const page = db.prepare<[number, number, number], EntryLine & { seq: number }>(
    "SELECT seq, body, hash FROM ledger WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
  );
  const segmentOf = db.prepare<[number, number], Segment>("SELECT * FROM ledger_segments WHERE from_seq <= ? AND to_seq >= ?");
  const header: ExportHeader = {
    lancelot: "ledger",
    version: 1,
    ledger: ledgerId,
    exportedAt: new Date(now()).toISOString(),
    keys: [...keys],
    sealed: db
      .prepare<[], ExportHeader["sealed"][number]>(
        'SELECT from_seq AS "from", to_seq AS "to", file, sha256, last_hash AS lastHash FROM ledger_segments ORDER BY from_seq',
      )
      .all(),
  };
  yield { text: line(header), count: 0 };

  let seq = 0;
  let signed = 0;
  const write = (some: readonly EntryLine[]): ExportPiece => {
    let text = "";
    for (const entry of some) {
      seq += 1;
      text += `${writeLine(entry)}\n`;
      for (let next = heads[signed]; next?.seq === seq; next = heads[signed]) {
        signed += 1;
        text += line({ signature: next });
      }
    }
    return { text, count: some.length };
  };
  while (seq < head.seq) {
    const segment = segmentOf.get(seq + 1, seq + 1);
    if (segment === undefined) {
      const rows = page.all(seq, head.seq, chunk);
      const gap = rows.length === 0 ? 0 : rows.findIndex((row, index) => row.seq !== seq + 1 + index);
      if (gap === -1) yield write(rows);
      // It was sealed in the meantime: the next iteration finds its file.
      else if (segmentOf.get(seq + 1, seq + 1) === undefined) throw incompleteLedger(seq + 1 + gap);
      continue;
    }
    // Lines are copied without a check: verifying the export finds modified ones.
    let at = segment.from_seq;
    for await (const some of sealedLines(join(segmentFolder(dataDir), segment.file))) {
      const from = at;
      at += some.length;
      const wanted = some.filter((_, index) => from + index > seq && from + index <= head.seq);
      if (wanted.includes(null)) throw incompleteLedger(from);
      yield write(wanted.filter((entry) => entry !== null));
    }
    if (at <= segment.to_seq) throw incompleteLedger(at);
  }
  const end: ExportEnd = { end: { entries: seq, head: head.hash, signatures: signed } };
  yield { text: line(end), count: 0 };
}

/** Yields the header and the matching receipts, newest first. */
async function* receiptLines({ search, now, ledgerId }: ExportDeps, { questId, from, to }: ExportFilter): AsyncGenerator<ExportPiece> {
  yield { text: line({ lancelot: "receipts", version: 1, ledger: ledgerId, exportedAt: new Date(now()).toISOString() }), count: 0 };
  let cursor: string | undefined;
  do {
    const page = search({
      limit: chunk,
      ...(questId === undefined ? {} : { questId }),
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    yield { text: page.items.map(line).join(""), count: page.items.length };
    cursor = page.nextCursor;
    await setImmediate();
  } while (cursor !== undefined);
}

function incompleteLedger(seq: number): LancelotError {
  return new LancelotError(
    "unavailable",
    `Entry ${seq} of the ledger is missing or unreadable, so nothing was exported. Verify the receipts for details.`,
  );
}

/** Reads a sealed file; distinguishes a missing file from a write error. */
async function* sealedLines(file: string): AsyncGenerator<(EntryLine | null)[]> {
  try {
    yield* readSegment(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new LancelotError(
      "unavailable",
      "A sealed file of the ledger is missing, so nothing was exported. Verify the receipts to find out which.",
      { data: { reason: "ENOENT" }, cause: error },
    );
  }
}
