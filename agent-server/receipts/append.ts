import type Database from "better-sqlite3";
import { LancelotError } from "../contract/errors.ts";
import { type Entry, type EntryRow, toRow } from "./entry.ts";

/** Appends entries inside the current transaction, which must be `IMMEDIATE`; returns their rows in order. */
export type Append = (entries: readonly Entry[]) => EntryRow[];

/** Creates the only function that writes to the tables `ledger` and `ledger_head`. */
export function createAppend(db: Database.Database): Append {
  const readHead = db.prepare<[], { seq: number; hash: string }>("SELECT seq, hash FROM ledger_head");
  const moveHead = db.prepare("UPDATE ledger_head SET seq = ?, hash = ? WHERE id = 1");
  const insert = prepareInsert(db, 1);
  const insertMany = prepareInsert(db, rowsPerInsert);

  return (entries) => {
    const head = readHead.get();
    if (head === undefined) throw damagedLedger();
    let { seq, hash } = head;
    const rows = entries.map((entry) => {
      seq += 1;
      const row = toRow(entry, seq, hash);
      hash = row.hash;
      return row;
    });
    try {
      let next = 0;
      for (; next + rowsPerInsert <= rows.length; next += rowsPerInsert) insertMany(rows.slice(next, next + rowsPerInsert));
      for (; next < rows.length; next += 1) insert(rows.slice(next, next + 1));
    } catch (error) {
      throw (error as { code?: string }).code === "SQLITE_CONSTRAINT_PRIMARYKEY" ? damagedLedger(error) : error;
    }
    moveHead.run(seq, hash);
    return rows;
  };
}

/** Rows per INSERT statement; fewer calls into SQLite make each row cheaper. */
const rowsPerInsert = 16;

function prepareInsert(db: Database.Database, count: number): (rows: readonly EntryRow[]) => void {
  const values = Array.from({ length: count }, () => "(?, ?, ?, ?, ?, ?)").join(", ");
  const statement = db.prepare(`INSERT INTO ledger (seq, receipt_id, kind, body, hash, prev_hash) VALUES ${values}`);
  return (rows) => {
    const bound: (string | number)[] = [];
    for (const row of rows) bound.push(row.seq, row.receipt_id, row.kind, row.body, row.hash, row.prev_hash);
    statement.run(bound);
  };
}

export function damagedLedger(cause?: unknown): LancelotError {
  return new LancelotError(
    "unavailable",
    "The ledger was modified by another program, so Lancelot cannot record or do anything. Verify the receipts to find the first modified entry.",
    { cause },
  );
}
