import type Database from "better-sqlite3";
import { LancelotError } from "../contract/errors.ts";
import type { Receipt } from "../contract/receipts.ts";
import type { Params } from "../contract/table.ts";
import { OpenEntry, readEntry } from "./entry.ts";
import { type ProjectedRow, receiptOfRow, selectReceipts } from "./projection.ts";
import { facetWords, firstOfPart, openingText, partOf, tableOfPart, textParts } from "./text-index.ts";

type Filter = Params<"receipts.search">;
type Value = string | number;

/** Receipts that are open at a time are few; of more the newest are searched by their words. */
const maxPending = 2_000;

/** True when a search with this filter reads the text index, which must then be up to date. */
export function readsTextIndex(filter: Filter): boolean {
  return (
    wordsOf(filter.query).length > 0 ||
    filter.status !== undefined ||
    filter.actionType !== undefined ||
    filter.tier !== undefined ||
    isTimed(filter)
  );
}

/**
 * Receipts, newest first, that match every given filter. `query`: every word of it begins a word of the receipt, or it is its id.
 * The table `receipts` must be up to date, and the text index where `readsTextIndex` says so.
 */
export function searchReceipts(db: Database.Database, filter: Filter): { items: Receipt[]; nextCursor?: string } {
  const before = filter.cursor === undefined ? Number.MAX_SAFE_INTEGER : readCursor(filter.cursor);
  const wanted = filter.limit + 1;
  const rows = readsTextIndex(filter)
    ? [...pendingRows(db, filter, before), ...closedRows(db, filter, before, wanted), ...rowOfId(db, filter, before)]
    : plainRows(db, filter, before, wanted);
  const unique = [...new Map(rows.map((row) => [row.open_seq, row])).values()].sort((a, b) => b.open_seq - a.open_seq);
  const page = unique.slice(0, filter.limit);
  const last = page.at(-1);
  const items = page.map(receiptOfRow);
  return unique.length > page.length && last !== undefined ? { items, nextCursor: String(last.open_seq) } : { items };
}

/** Conditions and their values, in the order in which they are bound. */
function conditions(filter: Filter, before: number): { where: string[]; values: Value[] } {
  const where = ["r.open_seq < ?"];
  const values: Value[] = [before];
  const add = (condition: string, value: Value | undefined): void => {
    if (value === undefined) return;
    where.push(condition);
    values.push(value);
  };
  add("r.quest_id = ?", filter.questId);
  add("r.action_type = ?", filter.actionType);
  add("r.status = ?", filter.status);
  add("r.risk_tier = ?", filter.tier);
  add("r.opened_at >= ?", filter.from === undefined ? undefined : Date.parse(filter.from));
  add("r.opened_at <= ?", filter.to === undefined ? undefined : Date.parse(filter.to));
  return { where, values };
}

function select(db: Database.Database, sql: string, values: readonly Value[]): ProjectedRow[] {
  return db.prepare<Value[], ProjectedRow>(sql).all(...values);
}

/** The same for a part of the index, which another window may have dropped since the parts were listed: its receipts were sealed. */
function selectOfPart(db: Database.Database, sql: string, values: readonly Value[]): ProjectedRow[] {
  try {
    return select(db, sql, values);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("no such table: receipts_fts_")) return [];
    throw error;
  }
}

/** Everything, or a quest's: the table and its index tell the order. */
function plainRows(db: Database.Database, filter: Filter, before: number, wanted: number): ProjectedRow[] {
  const { where, values } = conditions(filter, before);
  return select(db, `${selectReceipts} WHERE ${where.join(" AND ")} ORDER BY r.open_seq DESC LIMIT ?`, [...values, wanted]);
}

/** Open receipts are not in the text index. */
function pendingRows(db: Database.Database, filter: Filter, before: number): ProjectedRow[] {
  if (filter.status !== undefined && filter.status !== "pending") return [];
  const { where, values } = conditions(filter, before);
  // Named, or the planner walks the whole table in its order.
  const pending = selectReceipts.replace("receipts r JOIN", "receipts r INDEXED BY receipts_open CROSS JOIN");
  const rows = select(db, `${pending} WHERE r.close_seq IS NULL AND ${where.join(" AND ")} ORDER BY r.open_seq DESC LIMIT ?`, [
    ...values,
    maxPending,
  ]);
  const query = wordsOf(filter.query).flatMap(tokens);
  if (query.length === 0) return rows;
  return rows.filter((row) => {
    const open = readEntry(OpenEntry, row.open_body);
    const words = open === null ? [] : tokens(openingText(open));
    return query.every((start) => words.some((word) => word.startsWith(start)));
  });
}

/** Part by part of the text index, the newest first, until there are enough. */
function closedRows(db: Database.Database, filter: Filter, before: number, wanted: number): ProjectedRow[] {
  if (filter.status === "pending") return [];
  const { where, values } = conditions(filter, before);
  const from = filter.from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(filter.from);
  const to = filter.to === undefined ? Number.POSITIVE_INFINITY : Date.parse(filter.to);
  const match = toMatch(filter);
  const facets = toMatch({ ...filter, query: undefined });
  const found: ProjectedRow[] = [];
  for (const { part, min_at, max_at } of textParts(db)) {
    if (part > partOf(before) || max_at < from || min_at > to) continue;
    if (match === "") {
      const inPart = [firstOfPart(part), firstOfPart(part + 1)];
      const sql = `${selectReceipts} WHERE r.close_seq IS NOT NULL AND r.open_seq >= ? AND r.open_seq < ? AND ${where.join(" AND ")}
        ORDER BY r.open_seq DESC LIMIT ?`;
      found.push(...select(db, sql, [...inPart, ...values, wanted - found.length]));
    } else {
      const table = tableOfPart(part);
      // The beginning of a common word costs milliseconds in each part, a filter that nothing here fits next to nothing.
      if (facets !== "" && selectOfPart(db, `SELECT rowid FROM ${table} WHERE ${table} MATCH ? LIMIT 1`, [facets]).length === 0) continue;
      // The index gives its rows in order, so it stops as soon as there are enough; CROSS JOIN keeps it in front.
      const sql = `${selectReceipts.replace("FROM receipts r JOIN", `FROM ${table} f CROSS JOIN receipts r ON r.open_seq = f.rowid CROSS JOIN`)}
        WHERE ${table} MATCH ? AND f.rowid < ? AND ${where.join(" AND ")} ORDER BY f.rowid DESC LIMIT ?`;
      found.push(...selectOfPart(db, sql, [match, before, ...values, wanted - found.length]));
    }
    if (found.length >= wanted) break;
  }
  return found;
}

function rowOfId(db: Database.Database, filter: Filter, before: number): ProjectedRow[] {
  const id = filter.query?.trim() ?? "";
  if (!/^[\w-]{8,200}$/.test(id)) return [];
  const { where, values } = conditions(filter, before);
  return select(db, `${selectReceipts} WHERE r.id = ? AND ${where.join(" AND ")}`, [id, ...values]);
}

function isTimed(filter: Filter): boolean {
  return filter.from !== undefined || filter.to !== undefined;
}

function readCursor(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw new LancelotError("invalid_params", "This list position is not one that receipts.search gave out.");
  return Number(cursor);
}

/** What of a query says something. */
function wordsOf(query: string | undefined): string[] {
  return (query ?? "")
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .slice(0, 20);
}

/** Filters as words of their column, then words of the query as quoted prefixes: nothing a user types is an operator of the index. */
function toMatch(filter: Filter): string {
  const facets = facetWords(filter).map((word) => `facets : ${word}`);
  const words = wordsOf(filter.query).map((word) => `content : "${word.replaceAll('"', '""').replaceAll("\0", "")}"*`);
  return [...facets, ...words].join(" AND ");
}

/** Words as the index sees them: in any case, without marks. */
function tokens(text: string): string[] {
  return (
    text
      .toLowerCase()
      .normalize("NFD")
      .replaceAll(/\p{M}/gu, "")
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}
