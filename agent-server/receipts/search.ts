import type Database from "better-sqlite3";
import { LancelotError } from "../contract/errors.ts";
import type { Receipt } from "../contract/receipts.ts";
import type { Params } from "../contract/table.ts";
import { OpenEntry, readEntry } from "./entry.ts";
import { type ProjectedRow, receiptOfRow, selectReceipts } from "./projection.ts";
import { facetTokens, firstOfPart, openingText, partOf, tableOfPart, textParts } from "./text-index.ts";

type Filter = Params<"receipts.search">;
type Value = string | number;

/** Maximum number of pending receipts that a text search examines, newest first. There are normally few. */
const maxPending = 2_000;

/** True when a search with this filter uses the text index, which must then be up to date. */
export function usesTextIndex(filter: Filter): boolean {
  return (
    termsOf(filter.query).length > 0 ||
    filter.status !== undefined ||
    filter.actionType !== undefined ||
    filter.actionTypes !== undefined ||
    filter.tier !== undefined ||
    isTimed(filter)
  );
}

/**
 * Returns receipts that match every given filter, newest first. Each term of `query` must be a prefix of a word in the receipt, or
 * `query` must be its id. The table `receipts` must be up to date, and so must the text index if `usesTextIndex`.
 */
export function searchReceipts(db: Database.Database, filter: Filter): { items: Receipt[]; nextCursor?: string } {
  const before = filter.cursor === undefined ? Number.MAX_SAFE_INTEGER : readCursor(filter.cursor);
  const wanted = filter.limit + 1;
  const rows = usesTextIndex(filter)
    ? [...pendingRows(db, filter, before), ...closedRows(db, filter, before, wanted), ...rowOfId(db, filter, before)]
    : plainRows(db, filter, before, wanted);
  const unique = [...new Map(rows.map((row) => [row.open_seq, row])).values()].sort((a, b) => b.open_seq - a.open_seq);
  const page = unique.slice(0, filter.limit);
  const last = page.at(-1);
  const items = page.map(receiptOfRow);
  return unique.length > page.length && last !== undefined ? { items, nextCursor: String(last.open_seq) } : { items };
}

/** SQL conditions and their bound values, in order. */
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
  if (filter.actionTypes !== undefined) {
    where.push(`r.action_type IN (${filter.actionTypes.map(() => "?").join(", ")})`);
    values.push(...filter.actionTypes);
  }
  add("r.status = ?", filter.status);
  add("r.risk_tier = ?", filter.tier);
  add("r.opened_at >= ?", filter.from === undefined ? undefined : Date.parse(filter.from));
  add("r.opened_at <= ?", filter.to === undefined ? undefined : Date.parse(filter.to));
  return { where, values };
}

function select(db: Database.Database, sql: string, values: readonly Value[]): ProjectedRow[] {
  return db.prepare<Value[], ProjectedRow>(sql).all(...values);
}

/** Queries a part of the text index. Another window may have dropped the part after sealing its receipts. */
function selectOfPart(db: Database.Database, sql: string, values: readonly Value[]): ProjectedRow[] {
  try {
    return select(db, sql, values);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("no such table: receipts_fts_")) return [];
    throw error;
  }
}

/** Rows of all receipts or of one quest, which the table and its index return in order. */
function plainRows(db: Database.Database, filter: Filter, before: number, wanted: number): ProjectedRow[] {
  const { where, values } = conditions(filter, before);
  return select(db, `${selectReceipts} WHERE ${where.join(" AND ")} ORDER BY r.open_seq DESC LIMIT ?`, [...values, wanted]);
}

/** Pending receipts, which are not in the text index. */
function pendingRows(db: Database.Database, filter: Filter, before: number): ProjectedRow[] {
  if (filter.status !== undefined && filter.status !== "pending") return [];
  const { where, values } = conditions(filter, before);
  // The index is named because the planner would scan the whole table.
  const pending = selectReceipts.replace("receipts r JOIN", "receipts r INDEXED BY receipts_open CROSS JOIN");
  const rows = select(db, `${pending} WHERE r.close_seq IS NULL AND ${where.join(" AND ")} ORDER BY r.open_seq DESC LIMIT ?`, [
    ...values,
    maxPending,
  ]);
  const query = termsOf(filter.query).flatMap(tokens);
  if (query.length === 0) return rows;
  return rows.filter((row) => {
    const open = readEntry(OpenEntry, row.open_body);
    const words = open === null ? [] : tokens(openingText(open));
    return query.every((start) => words.some((word) => word.startsWith(start)));
  });
}

/** Closed receipts from the parts of the text index, newest part first, until there are enough. */
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
      // A prefix of a common word costs milliseconds per part, while a facet without matches is nearly free, so facets are checked first.
      if (facets !== "" && selectOfPart(db, `SELECT rowid FROM ${table} WHERE ${table} MATCH ? LIMIT 1`, [facets]).length === 0) continue;
      // The index returns rows in order, so the query stops early; CROSS JOIN makes it the outer loop.
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
  if (!/^\d{1,15}$/.test(cursor))
    throw new LancelotError("invalid_params", "The cursor is not valid. Use the nextCursor of a receipts.search result.");
  return Number(cursor);
}

/** The terms of a query that contain a letter or digit. */
function termsOf(query: string | undefined): string[] {
  return (query ?? "")
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .slice(0, 20);
}

/** Builds the FTS5 query: facet tokens, then the query's terms as quoted prefixes, so that user input is never an operator. */
function toMatch(filter: Filter): string {
  const facets = facetTokens(filter).map((word) => `facets : ${word}`);
  const types = (filter.actionTypes ?? []).flatMap((actionType) => facetTokens({ actionType }).map((word) => `facets : ${word}`));
  const words = termsOf(filter.query).map((word) => `content : "${word.replaceAll('"', '""').replaceAll("\0", "")}"*`);
  return [...facets, ...(types.length === 0 ? [] : [`(${types.join(" OR ")})`]), ...words].join(" AND ");
}

/** Tokenizes like the index: lower case, without diacritics. */
function tokens(text: string): string[] {
  return (
    text
      .toLowerCase()
      .normalize("NFD")
      .replaceAll(/\p{M}/gu, "")
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}
