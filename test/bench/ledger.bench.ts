import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createLedger, receiptsMigrations } from "../../agent-server/receipts/receipts.ts";
import { createRedactor } from "../../agent-server/security/security.ts";
import { openStorage } from "../../agent-server/storage/storage.ts";
import type { BenchRow } from "./bench-row.ts";

type Row = [seq: number, receiptId: string, kind: string, body: string, hash: string, prevHash: string];

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

/**
 * Receipts a second against bare better-sqlite3 inserts of the very same rows, with the same durability (WAL, synchronous FULL) and
 * the same number of rows in a transaction. The two take turns, and the median of the rounds counts.
 */
export async function run(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "lancelot-bench-"));
  const storage = openStorage({ dataDir: join(folder, "data"), migrations: receiptsMigrations });
  const ledger = createLedger({ storage, redactor: createRedactor() });
  const bare = new Database(join(folder, "bare.sqlite"));
  bare.pragma("journal_mode = WAL");
  bare.pragma("synchronous = FULL");
  bare.exec(
    "CREATE TABLE rows (seq INTEGER PRIMARY KEY, receipt_id TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL, prev_hash TEXT NOT NULL) STRICT",
  );
  const insert = bare.prepare("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)");
  const insertAll = bare.transaction((rows: readonly Row[]) => {
    for (const row of rows) insert.run(...row);
  });
  const rowsAfter = storage.db.prepare<[number], Row>("SELECT * FROM ledger WHERE seq > ? ORDER BY seq").raw();
  let copied = 0;

  const round = (receipts: number, rowsInTransaction: number, write: () => void): { ours: number; bare: number } => {
    const ours = perSecond(receipts, write);
    const rows = rowsAfter.all(copied);
    if (rows.length !== receipts * 2) throw new Error(`The ledger holds ${rows.length} new entries instead of ${receipts * 2}.`);
    copied += rows.length;
    const transactions = Array.from({ length: rows.length / rowsInTransaction }, (_, index) =>
      rows.slice(index * rowsInTransaction, (index + 1) * rowsInTransaction),
    );
    return {
      ours,
      bare: perSecond(receipts, () => {
        for (const transaction of transactions) insertAll.immediate(transaction);
      }),
    };
  };

  const batched = () =>
    round(batchedPerRound, batch * 2, () => {
      for (let index = 0; index < batchedPerRound; index += 1) ledger.record(opening(index, "T0"), closing);
      ledger.flush();
    });
  const durable = () =>
    round(durablePerRound, 1, () => {
      for (let index = 0; index < durablePerRound; index += 1) ledger.close(ledger.open(opening(index, "T1")), closing);
    });

  try {
    const rows = [
      toRow("ledger: T0 receipts, batched", repeat(batched), "64 receipts a transaction, redacted, hashed, indexed for filters"),
      toRow("ledger: T1 receipts, durable", repeat(durable), "opened and closed in a transaction each"),
    ];
    const verification = await ledger.verify();
    if (!verification.ok) throw new Error(`The ledger does not verify: ${verification.firstBad?.message}`);
    return rows;
  } finally {
    storage.close();
    bare.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function perSecond(count: number, work: () => void): number {
  const start = performance.now();
  work();
  return (count / (performance.now() - start)) * 1_000;
}

/** The first round warms up and does not count. */
function repeat(round: () => { ours: number; bare: number }): { ours: number; bare: number } {
  round();
  const results = Array.from({ length: rounds }, round);
  const ratios = results.sort((a, b) => a.ours / a.bare - b.ours / b.bare);
  return ratios[Math.floor(rounds / 2)] ?? { ours: 0, bare: 0 };
}

function toRow(name: string, { ours, bare }: { ours: number; bare: number }, note: string): BenchRow {
  return { name, ours: Math.round(ours), bare: Math.round(bare), ratio: Number((ours / bare).toFixed(2)), unit: "receipts/s", note };
}

if (import.meta.main) console.table(await run());
