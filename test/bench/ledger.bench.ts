import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createLedger, receiptsMigrations } from "../../agent-server/receipts/receipts.ts";
import { createRedactor } from "../../agent-server/security/security.ts";
import { openStorage } from "../../agent-server/storage/storage.ts";
import type { BenchRow } from "./bench-row.ts";

type LedgerRow = [seq: number, receiptId: string, kind: string, body: string, hash: string, prevHash: string];
type ReceiptRow = [openSeq: number, closeSeq: number | null, ...rest: (string | number | null)[]];

/** What a read of a file leaves: the receipt that is written most. */
const opening = (index: number, riskTier: "T0" | "T1") => ({
  actionType: "tool_call" as const,
  actionName: "read_file",
  inputs: { path: `packages/editor/src/components/panel-${index}.tsx`, offset: 0, limit: 200 },
  riskTier,
  questId: "01a1fa9b-9862-7979-a895-47041f2704d7",
  parentId: "01a1fa9b-9862-7979-a895-47041f2704d8",
});
const closing = {
  status: "success" as const,
  outputs: {
    lines: 200,
    bytes: 7_312,
    truncated: false,
    preview: "export function add(a: number, b: number): number {\n  return a + b;\n}\n",
  },
};

const batch = 64;
const rounds = 7;
const batchedPerRound = 2_048;
const durablePerRound = 256;

interface Speeds {
  /** Until they are on the disk. */
  ours: number;
  /** The same rows of the ledger. */
  bare: number;
  /** Until they can be searched by their columns too. */
  oursSettled: number;
  /** The same rows of both tables. */
  bareBoth: number;
}

/**
 * Receipts a second against bare better-sqlite3 inserts of the very same rows of the ledger, with the same durability (WAL,
 * synchronous FULL) and the same number of rows in a transaction: what is measured is redaction, canonical JSON, hashing and
 * book-keeping. The table that makes receipts searchable follows behind the writes; the note says how ours compares when it is
 * waited for, with inserting the rows of both tables. They take turns, and the median of the rounds counts.
 */
export async function run(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "lancelot-bench-"));
  const storage = openStorage({ dataDir: join(folder, "data"), migrations: receiptsMigrations });
  const ledger = createLedger({ storage, redactor: createRedactor() });
  const schema = storage.db
    .prepare<[], string>(
      "SELECT sql FROM sqlite_schema WHERE tbl_name IN ('ledger', 'receipts') AND type IN ('table', 'index') AND sql IS NOT NULL",
    )
    .pluck()
    .all();
  const bare = openBare(join(folder, "bare.sqlite"), schema);
  const bareLedger = openBare(join(folder, "bare-ledger.sqlite"), schema);
  const ledgerRows = storage.db.prepare<[number], LedgerRow>("SELECT * FROM ledger WHERE seq > ? ORDER BY seq").raw();
  const receiptRows = storage.db.prepare<[number], ReceiptRow>("SELECT * FROM receipts WHERE open_seq > ? ORDER BY open_seq").raw();
  let copied = 0;

  const round = (count: number, receiptsInTransaction: number, write: () => void): Speeds => {
    const start = performance.now();
    write();
    const ours = (count / (performance.now() - start)) * 1_000;
    ledger.trace({ id: "settles the table" });
    const oursSettled = (count / (performance.now() - start)) * 1_000;
    const entries = ledgerRows.all(copied);
    const receipts = receiptRows.all(copied);
    if (entries.length !== count * 2 || receipts.length !== count)
      throw new Error(`${entries.length} entries of ${receipts.length} receipts were written.`);
    copied += entries.length;
    const insert = (into: ReturnType<typeof openBare>, searchable: boolean) => () => {
      if (receiptsInTransaction === 0) {
        for (let index = 0; index < count; index += 1)
          into.insertDurably(entries.slice(index * 2, index * 2 + 2), searchable ? receipts[index] : undefined);
      } else {
        for (let from = 0; from < count; from += receiptsInTransaction) {
          const to = from + receiptsInTransaction;
          into.insertBatch.immediate(entries.slice(from * 2, to * 2), searchable ? receipts.slice(from, to) : []);
        }
      }
    };
    return { ours, bare: perSecond(count, insert(bareLedger, false)), oursSettled, bareBoth: perSecond(count, insert(bare, true)) };
  };

  const batched = () =>
    round(batchedPerRound, batch, () => {
      for (let index = 0; index < batchedPerRound; index += 1) ledger.record(opening(index, "T0"), closing);
      ledger.flush();
    });
  const durable = () =>
    round(durablePerRound, 0, () => {
      for (let index = 0; index < durablePerRound; index += 1) ledger.close(ledger.open(opening(index, "T1")), closing);
    });

  try {
    const rows = [
      toRow("ledger: T0 receipts, batched", repeat(batched), "64 receipts a transaction"),
      toRow("ledger: T1 receipts, durable", repeat(durable), "opened and closed in a transaction each"),
    ];
    const verification = await ledger.verify();
    if (!verification.ok) throw new Error(`The ledger does not verify: ${verification.firstBad?.message}`);
    return rows;
  } finally {
    storage.close();
    bare.close();
    bareLedger.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function openBare(file: string, schema: readonly string[]) {
  const db = new Database(file);
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  for (const sql of schema) db.exec(sql);
  const insertEntry = db.prepare("INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?)");
  const insertReceipt = db.prepare("INSERT INTO receipts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const closeReceipt = db.prepare("UPDATE receipts SET close_seq = ? WHERE open_seq = ?");
  const insertBatch = db.transaction((entries: readonly LedgerRow[], receipts: readonly ReceiptRow[]) => {
    for (const entry of entries) insertEntry.run(...entry);
    for (const receipt of receipts) insertReceipt.run(...receipt);
  });
  const insertOpen = db.transaction((entry: LedgerRow, receipt: ReceiptRow | undefined) => {
    insertEntry.run(...entry);
    if (receipt !== undefined) insertReceipt.run(receipt[0], null, ...receipt.slice(2));
  });
  const insertClose = db.transaction((entry: LedgerRow, receipt: ReceiptRow | undefined) => {
    insertEntry.run(...entry);
    if (receipt !== undefined) closeReceipt.run(receipt[1], receipt[0]);
  });
  const insertDurably = ([open, close]: readonly LedgerRow[], receipt: ReceiptRow | undefined) => {
    if (open === undefined || close === undefined) throw new Error("A receipt has two entries.");
    insertOpen.immediate(open, receipt);
    insertClose.immediate(close, receipt);
  };
  return { insertBatch, insertDurably, close: () => void db.close() };
}

function perSecond(count: number, work: () => void): number {
  const start = performance.now();
  work();
  return (count / (performance.now() - start)) * 1_000;
}

/** The first round warms up and does not count. */
function repeat(round: () => Speeds): Speeds {
  round();
  const results = Array.from({ length: rounds }, round).sort((a, b) => a.ours / a.bare - b.ours / b.bare);
  return results[Math.floor(rounds / 2)] ?? { ours: 0, bare: 0, oursSettled: 0, bareBoth: 0 };
}

function toRow(name: string, { ours, bare, oursSettled, bareBoth }: Speeds, how: string): BenchRow {
  const ratio = (to: number, of: number): number => Number((of / to).toFixed(2));
  const note = `${how}; with the table that is searched ${Math.round(oursSettled)}, ${ratio(bareBoth, oursSettled)} of bare`;
  return { name, ours: Math.round(ours), bare: Math.round(bare), ratio: ratio(bare, ours), unit: "receipts/s", note };
}

if (import.meta.main) console.table(await run());
