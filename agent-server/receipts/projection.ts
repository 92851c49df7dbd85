import type Database from "better-sqlite3";
import type { Receipt } from "../contract/receipts.ts";
import type { Storage } from "../storage/storage.ts";
import { CloseEntry, type EntryRow, OpenEntry, readEntry, toReceipt } from "./entry.ts";
import { dropTextIndex } from "./text-index.ts";

/** A row of the derived table `receipts`, joined with the bodies and hashes of its entries. */
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

/** The SELECT clause of every receipt query; callers append conditions. */
export const selectReceipts = `SELECT r.*, o.body AS open_body, o.hash AS open_hash, o.prev_hash AS open_prev_hash,
  c.body AS close_body, c.hash AS close_hash, c.prev_hash AS close_prev_hash
  FROM receipts r JOIN ledger o ON o.seq = r.open_seq LEFT JOIN ledger c ON c.seq = r.close_seq`;

/** Entries per step. */
const pageSize = 512;

/** The derived table that makes the ledger searchable. It is updated outside the write path. */
export interface Projection {
  /** Projects at most `limit` further entries. Returns true at the end of the ledger. */
  advance(limit: number): boolean;
  /** Projects all remaining entries. Call it before reading the table. */
  settle(): void;
  find(id: string): ProjectedRow | null;
  /**
   * Compares at most `limit` further rows with the recorded progress, and rebuilds the table when they do not match. Returns true when
   * the table is checked. Counting a large table takes a second, so it happens in slices.
   */
  repair(limit: number): boolean;
}

export function createProjection(storage: Storage): Projection {
  const { db } = storage;
  const insert = prepareInsert(db, 1);
  const insertMany = prepareInsert(db, rowsPerInsert);
  const finish = db.prepare("UPDATE receipts SET close_seq = ?, status = ?, host_id = NULL WHERE id = ? AND close_seq IS NULL");
  const byId = db.prepare<[string], ProjectedRow>(`${selectReceipts} WHERE r.id = ?`);
  const position = db.prepare<[], { at: number; head: number }>(
    "SELECT projected_seq AS at, coalesce((SELECT seq FROM ledger_head), 0) AS head FROM receipts_progress",
  );
  const move = db.prepare("UPDATE receipts_progress SET projected_seq = ?");
  const extent = db.prepare<[], { projected: number; first: number | null; clearing: number }>(
    `SELECT projected_seq AS projected, (SELECT min(seq) FROM ledger) AS first,
      coalesce((SELECT min(seq) FROM ledger) <= (SELECT max(to_seq) FROM ledger_segments), 0) AS clearing FROM receipts_progress`,
  );
  // Each row represents its opening entry and, if present, its closing entry.
  const countRows = db.prepare<[{ after: number; upTo: number; limit: number }], { rows: number; entries: number; last: number }>(
    `SELECT count(*) AS rows, count(*) + coalesce(sum(close_seq <= @upTo), 0) AS entries, coalesce(max(open_seq), 0) AS last
      FROM (SELECT open_seq, close_seq FROM receipts WHERE open_seq > @after AND open_seq <= @upTo ORDER BY open_seq LIMIT @limit)`,
  );
  let check: { readonly projected: number; readonly first: number | null; at: number; entries: number } | null = null;
  const page = db.prepare<[number, number], Pick<EntryRow, "seq" | "kind" | "body">>(
    "SELECT seq, kind, body FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?",
  );

  /** Skips entries that are unreadable or reuse an id because they were modified; `verify` reports those. */
  const add = (rows: readonly Pick<EntryRow, "seq" | "kind" | "body">[]): void => {
    const opened = new Map<string, Columns>();
    const closings: { seq: number; entry: CloseEntry }[] = [];
    for (const { seq, kind, body } of rows) {
      if (kind === "open") {
        const entry = readEntry(OpenEntry, body);
        if (entry !== null && !opened.has(entry.id)) opened.set(entry.id, columns(entry, seq));
        continue;
      }
      const entry = readEntry(CloseEntry, body);
      if (entry === null) continue;
      const open = opened.get(entry.id);
      if (open === undefined) closings.push({ seq, entry });
      else if (open[closeSeqColumn] === null) close(open, seq, entry.status);
    }
    const all = [...opened.values()];
    let next = 0;
    for (; next + rowsPerInsert <= all.length; next += rowsPerInsert) insertMany(all.slice(next, next + rowsPerInsert).flat());
    for (const row of all.slice(next)) insert(row);
    for (const { seq, entry } of closings) finish.run(seq, entry.status, entry.id);
  };

  const advance = (limit: number): boolean => {
    const { at, head } = position.get() ?? { at: 0, head: 0 };
    if (at >= head) return true;
    return storage.transaction(() => {
      // Read inside the transaction: another host may have advanced it.
      const from = position.get() ?? { at: 0, head: 0 };
      const rows = page.all(from.at, limit);
      add(rows);
      const done = rows.length < limit;
      // Moves past missing entries, so that a truncated tail is not searched for on every query.
      const to = done ? from.head : (rows.at(-1)?.seq ?? from.at);
      move.run(to);
      return to >= from.head;
    });
  };

  return {
    advance,
    settle: () => {
      while (!advance(pageSize));
    },
    find: (id) => byId.get(id) ?? null,
    repair: (limit) =>
      storage.transaction(() => {
        const state = extent.get();
        // While sealed entries are being removed, one entry of a receipt may be gone already.
        if (state === undefined || state.clearing === 1) return true;
        check ??= { ...state, at: 0, entries: 0 };
        const slice = countRows.get({ after: check.at, upTo: check.projected, limit });
        check.entries += slice?.entries ?? 0;
        if (slice !== undefined && slice.rows === limit) {
          check.at = slice.last;
          return false;
        }
        // Rows up to the progress at the start change no more, unless their entries were sealed or the table was rebuilt meanwhile.
        const isCurrent = state.first === check.first && state.projected >= check.projected;
        const expected = check.projected - ((check.first ?? check.projected + 1) - 1);
        if (!isCurrent || check.entries === Math.max(0, expected)) return true;
        db.exec("DELETE FROM receipts; UPDATE receipts_progress SET projected_seq = 0, indexed_seq = 0;");
        dropTextIndex(db);
        return true;
      }),
  };
}

/** Rows per INSERT statement. */
const rowsPerInsert = 16;

type Columns = (string | number | null)[];
const closeSeqColumn = 1;

function prepareInsert(db: Database.Database, count: number): (values: readonly (string | number | null)[]) => void {
  const rows = Array.from({ length: count }, () => "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").join(", ");
  const statement = db.prepare(
    `INSERT INTO receipts (open_seq, close_seq, id, opened_at, host_id, status, action_type, risk_tier, quest_id, parent_id)
      VALUES ${rows} ON CONFLICT DO NOTHING`,
  );
  return (values) => void statement.run(values);
}

function columns(open: OpenEntry, seq: number): Columns {
  return [seq, null, open.id, open.at, open.host, "pending", open.actionType, open.riskTier, open.questId, open.parentId];
}

/** Clears the host id, which is only needed for open receipts. */
function close(row: Columns, seq: number, status: string): void {
  row[closeSeqColumn] = seq;
  row[4] = null;
  row[5] = status;
}

/** Builds the receipt of a row; unreadable entries yield a placeholder receipt. */
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
    errorMessage: "This receipt's ledger entry was modified. Verify the receipts to find the first modified entry.",
    metadata: {},
    hash: last.hash,
    prevHash: last.prev_hash,
  };
}
