import type Database from "better-sqlite3";
import type { Receipt } from "../contract/receipts.ts";
import { CloseEntry, type Entry, OpenEntry, readEntry, toReceipt } from "./entry.ts";

/** A row of the derived table `receipts`, with the bodies and hashes of its entries. */
export interface ProjectedRow {
  open_seq: number;
  close_seq: number | null;
  id: string;
  opened_at: number;
  host_id: string | null;
  status: string;
  action_type: string;
  risk_tier: string;
  quest_id: string | null;
  parent_id: string | null;
  open_body: string;
  open_hash: string;
  open_prev_hash: string;
  close_body: string | null;
  close_hash: string | null;
  close_prev_hash: string | null;
}

/** What every query for receipts selects from; conditions follow. */
export const selectReceipts = `SELECT r.*, o.body AS open_body, o.hash AS open_hash, o.prev_hash AS open_prev_hash,
  c.body AS close_body, c.hash AS close_hash, c.prev_hash AS close_prev_hash
  FROM receipts r JOIN ledger o ON o.seq = r.open_seq LEFT JOIN ledger c ON c.seq = r.close_seq`;

/** Both entries of an action that is over. */
export interface ClosedAction {
  open: OpenEntry;
  close: CloseEntry;
}

/** The derived table that makes the ledger searchable. Everything in it can be made again from the ledger. */
export interface Projection {
  /** Adds an entry that was just appended at `seq`. */
  add(entry: Entry, seq: number): void;
  /** Adds actions whose entries were appended in pairs from `seq` on. */
  addClosed(actions: readonly ClosedAction[], seq: number): void;
  find(id: string): ProjectedRow | null;
  /** Makes the table again from the ledger when the two disagree about how much there is. */
  repair(headSeq: number): void;
}

export function createProjection(db: Database.Database): Projection {
  const insert = prepareInsert(db, 1);
  const insertMany = prepareInsert(db, rowsAtOnce);
  const finish = db.prepare("UPDATE receipts SET close_seq = ?, status = ? WHERE id = ? AND close_seq IS NULL");
  const byId = db.prepare<[string], ProjectedRow>(`${selectReceipts} WHERE r.id = ?`);

  const add = (entry: Entry, seq: number): void => {
    if (entry.kind === "open") insert(columns(entry, seq, null, "pending"));
    else finish.run(seq, entry.status, entry.id);
  };

  const rebuild = (): void => {
    db.exec(
      "DELETE FROM receipts; INSERT INTO receipts_fts (receipts_fts) VALUES ('delete-all'); UPDATE receipts_index SET indexed_seq = 0;",
    );
    const page = db.prepare<[number], { seq: number; kind: string; body: string }>(
      "SELECT seq, kind, body FROM ledger WHERE seq > ? ORDER BY seq LIMIT 1000",
    );
    const seen = new Set<string>();
    for (let after = 0, rows = page.all(after); rows.length > 0; rows = page.all(after)) {
      for (const row of rows) {
        after = row.seq;
        const entry: Entry | null = row.kind === "open" ? readEntry(OpenEntry, row.body) : readEntry(CloseEntry, row.body);
        // An entry that was changed from outside may be unreadable or claim an id that is taken; `verify` is what reports it.
        if (entry === null || (entry.kind === "open" && seen.has(entry.id))) continue;
        if (entry.kind === "open") seen.add(entry.id);
        add(entry, row.seq);
      }
    }
  };

  return {
    add,
    addClosed: (actions, seq) => {
      const rows = actions.map(({ open, close }, index) => columns(open, seq + index * 2, seq + index * 2 + 1, close.status));
      let next = 0;
      for (; next + rowsAtOnce <= rows.length; next += rowsAtOnce) insertMany(rows.slice(next, next + rowsAtOnce).flat());
      for (; next < rows.length; next += 1) insert(rows[next] ?? []);
    },
    find: (id) => byId.get(id) ?? null,
    repair: (headSeq) => {
      // Each receipt stands for its opening entry, and for its closing one if it has it.
      const entries = db.prepare<[], number>("SELECT count(*) + count(close_seq) FROM receipts").pluck().get();
      if (entries !== headSeq) rebuild();
    },
  };
}

/** Rows that one statement inserts. */
const rowsAtOnce = 16;

function prepareInsert(db: Database.Database, count: number): (values: readonly (string | number | null)[]) => void {
  const rows = Array.from({ length: count }, () => "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").join(", ");
  const statement = db.prepare(
    `INSERT INTO receipts (open_seq, close_seq, id, opened_at, host_id, status, action_type, risk_tier, quest_id, parent_id) VALUES ${rows}`,
  );
  return (values) => void statement.run(values);
}

function columns(open: OpenEntry, openSeq: number, closeSeq: number | null, status: string): (string | number | null)[] {
  // Whose host it was is asked only of receipts that are open.
  const host = closeSeq === null ? open.host : null;
  return [openSeq, closeSeq, open.id, open.at, host, status, open.actionType, open.riskTier, open.questId, open.parentId];
}

/** The receipt of a row. One whose entries cannot be read any more is shown as just that. */
export function receiptOfRow(row: ProjectedRow): Receipt {
  const open = readEntry(OpenEntry, row.open_body);
  const close = row.close_body === null ? null : readEntry(CloseEntry, row.close_body);
  const last = { hash: row.close_hash ?? row.open_hash, prev_hash: row.close_prev_hash ?? row.open_prev_hash };
  if (open !== null && (row.close_body === null || close !== null)) return toReceipt(open, close, last);
  return {
    id: row.id,
    timestamp: new Date(row.opened_at).toISOString(),
    actionType: "system",
    actionName: open?.actionName ?? "unreadable entry",
    inputs: {},
    outputs: {},
    status: "failure",
    durationMs: null,
    tokenCount: null,
    cognitionTier: "DETERMINISTIC",
    riskTier: "T3",
    parentId: null,
    questId: row.quest_id,
    errorMessage: "The ledger's entry of this receipt is not as it was written. Verify the receipts to see where the ledger was changed.",
    metadata: {},
    hash: last.hash,
    prevHash: last.prev_hash,
  };
}
