import type Database from "better-sqlite3";
import { LancelotError } from "../contract/errors.ts";
import type { Receipt } from "../contract/receipts.ts";
import type { Params } from "../contract/table.ts";
import type { Storage } from "../storage/storage.ts";
import { CloseEntry, type EntryRow, OpenEntry, readEntry } from "./entry.ts";
import { type ProjectedRow, receiptOfRow, selectReceipts } from "./projection.ts";

/** Receipts, newest first, that match every given filter. `query`: every word of it begins a word of the receipt. */
export function searchReceipts(db: Database.Database, filter: Params<"receipts.search">): { items: Receipt[]; nextCursor?: string } {
  const conditions: string[] = [];
  const values: (string | number)[] = [];
  const where = (condition: string, ...bound: (string | number)[]): void => {
    conditions.push(condition);
    values.push(...bound);
  };
  if (filter.cursor !== undefined) where("r.open_seq < ?", readCursor(filter.cursor));
  if (filter.questId !== undefined) where("r.quest_id = ?", filter.questId);
  if (filter.actionType !== undefined) where("r.action_type = ?", filter.actionType);
  if (filter.status !== undefined) where("r.status = ?", filter.status);
  if (filter.tier !== undefined) where("r.risk_tier = ?", filter.tier);
  if (filter.from !== undefined) where("r.opened_at >= ?", Date.parse(filter.from));
  if (filter.to !== undefined) where("r.opened_at <= ?", Date.parse(filter.to));
  const match = filter.query === undefined ? "" : toMatch(filter.query);
  if (match !== "") {
    const matching = "(SELECT rowid FROM receipts_fts WHERE receipts_fts MATCH ?)";
    where(`(r.open_seq IN ${matching} OR r.close_seq IN ${matching} OR r.id = ?)`, match, match, filter.query?.trim() ?? "");
  }
  const sql = `${selectReceipts}${conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`} ORDER BY r.open_seq DESC LIMIT ?`;
  const rows = db.prepare<(string | number)[], ProjectedRow>(sql).all(...values, filter.limit + 1);
  const page = rows.slice(0, filter.limit);
  const last = page.at(-1);
  const items = page.map(receiptOfRow);
  return rows.length > page.length && last !== undefined ? { items, nextCursor: String(last.open_seq) } : { items };
}

function readCursor(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw new LancelotError("invalid_params", "This list position is not one that receipts.search gave out.");
  return Number(cursor);
}

/** Words as quoted prefixes, so that nothing a user types is an operator of the index. */
function toMatch(query: string): string {
  return query
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .slice(0, 20)
    .map((word) => `"${word.replaceAll('"', '""').replaceAll("\0", "")}"*`)
    .join(" ");
}

/** Characters of each part of a receipt that the index reads. */
const indexedCharacters = 4_000;

/** The full-text index follows the ledger with a delay, off the path of a write. */
export interface TextIndex {
  /** Indexes at most `limit` entries more. True when the end of the ledger is reached. */
  advance(limit: number): boolean;
}

export function createTextIndex(storage: Storage): TextIndex {
  const { db } = storage;
  const position = db.prepare<[], number>("SELECT indexed_seq FROM receipts_index").pluck();
  const behind = db.prepare<[], number>("SELECT (SELECT seq FROM ledger_head) > (SELECT indexed_seq FROM receipts_index)").pluck();
  const next = db.prepare<[number, number], EntryRow>("SELECT * FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?");
  const openingOf = db
    .prepare<[string], string>("SELECT body FROM ledger WHERE seq = (SELECT open_seq FROM receipts WHERE id = ?)")
    .pluck();
  const closedAt = db.prepare<[string], number | null>("SELECT close_seq FROM receipts WHERE id = ?").pluck();
  const insert = db.prepare("INSERT INTO receipts_fts (rowid, content) VALUES (?, ?)");
  const move = db.prepare("UPDATE receipts_index SET indexed_seq = ?");
  const head = db.prepare<[], number>("SELECT seq FROM ledger_head").pluck();

  const content = (row: EntryRow): string | null => {
    if (row.kind === "open") {
      // The closing entry is indexed with the words of the opening one.
      const open = (closedAt.get(row.receipt_id) ?? null) === null ? readEntry(OpenEntry, row.body) : null;
      return open === null ? null : openingText(open);
    }
    const close = readEntry(CloseEntry, row.body);
    const open = readEntry(OpenEntry, openingOf.get(row.receipt_id) ?? "");
    return [open === null ? "" : openingText(open), close === null ? "" : closingText(close)].join("\n");
  };

  return {
    advance: (limit) =>
      behind.get() !== 1 ||
      storage.transaction(() => {
        const rows = next.all(position.get() ?? 0, limit);
        for (const row of rows) {
          const text = content(row);
          if (text !== null) insert.run(row.seq, text);
        }
        const done = rows.length < limit;
        // Past entries that are missing, so that a cut tail is not looked for at every search.
        move.run(done ? Math.max(head.get() ?? 0, rows.at(-1)?.seq ?? 0) : rows.at(-1)?.seq);
        return done;
      }),
  };
}

function openingText(open: OpenEntry): string {
  return [open.actionName, open.actionType, words(open.inputs), words(open.metadata)].join("\n");
}

function closingText(close: CloseEntry): string {
  return [close.status, close.errorMessage ?? "", words(close.outputs), words(close.metadata)].join("\n");
}

function words(fields: Record<string, unknown>): string {
  return JSON.stringify(fields)
    .slice(0, indexedCharacters)
    .replaceAll(/\\[nrt]/g, " ");
}
