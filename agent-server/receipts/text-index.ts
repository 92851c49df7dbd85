import type Database from "better-sqlite3";
import type { Storage } from "../storage/storage.ts";
import { CloseEntry, OpenEntry, readEntry } from "./entry.ts";

/** Ledger entries per part of the text index: few enough that a word in all of them is found in milliseconds. */
const entriesInPart = 131_072;
/** Characters that are indexed of each field of a receipt. */
const indexedCharacters = 4_000;

export const partOf = (seq: number): number => Math.floor(seq / entriesInPart);
export const firstOfPart = (part: number): number => part * entriesInPart;
export const tableOfPart = (part: number): string => `receipts_fts_${part}`;

/** Filter values that are indexed as tokens of a separate column, so that rare values are found fast. */
export interface Facets {
  status?: string | undefined;
  actionType?: string | undefined;
  tier?: string | undefined;
  questId?: string | undefined;
}

/** Hex-encoded so that the tokenizer does not split them. */
export function facetTokens({ status, actionType, tier, questId }: Facets): string[] {
  const word = (kind: string, value: string | undefined): string[] =>
    value === undefined ? [] : [`${kind}${Buffer.from(value.toLowerCase()).toString("hex")}`];
  return [...word("s", status), ...word("a", actionType), ...word("t", tier), ...word("q", questId)];
}

/** Text index of closed receipts, updated from the table `receipts` outside the write path. */
export interface TextIndex {
  /** Indexes at most `limit` further entries. Returns true when all projected entries are indexed. */
  advance(limit: number): boolean;
}

export function createTextIndex(storage: Storage): TextIndex {
  const { db } = storage;
  const position = db.prepare<[], { at: number; to: number }>('SELECT indexed_seq AS at, projected_seq AS "to" FROM receipts_progress');
  const closed = db.prepare<[number, number], { seq: number; at: number; opening: string; closing: string }>(
    `SELECT r.open_seq AS seq, r.opened_at AS at, o.body AS opening, c.body AS closing
      FROM ledger c JOIN receipts r ON r.id = c.receipt_id AND r.close_seq = c.seq JOIN ledger o ON o.seq = r.open_seq
      WHERE c.seq > ? AND c.seq <= ? AND c.kind = 'close' ORDER BY r.open_seq`,
  );
  const extend = db.prepare(
    "INSERT INTO receipts_parts (part, min_at, max_at) VALUES (?, ?, ?) ON CONFLICT (part) DO UPDATE SET min_at = min(min_at, excluded.min_at), max_at = max(max_at, excluded.max_at)",
  );
  const move = db.prepare("UPDATE receipts_progress SET indexed_seq = ?");
  const inserts = new Map<number, Database.Statement>();

  const insertInto = (part: number): Database.Statement => {
    const known = inserts.get(part);
    if (known !== undefined) return known;
    db.exec(
      `CREATE VIRTUAL TABLE IF NOT EXISTS ${tableOfPart(part)} USING fts5(content, facets, content='', detail='full', prefix='3 4', tokenize='unicode61')`,
    );
    const statement = db.prepare(`INSERT INTO ${tableOfPart(part)} (rowid, content, facets) VALUES (?, ?, ?)`);
    inserts.set(part, statement);
    return statement;
  };

  const index = (from: number, to: number): void => {
    const spans = new Map<number, [min: number, max: number]>();
    for (const { seq, at, opening, closing } of closed.all(from, to)) {
      const open = readEntry(OpenEntry, opening);
      const close = readEntry(CloseEntry, closing);
      if (open === null) continue;
      const facets = facetTokens({
        status: close?.status ?? "failure",
        actionType: open.actionType,
        tier: open.riskTier,
        questId: open.questId ?? undefined,
      });
      const part = partOf(seq);
      insertInto(part).run(seq, [openingText(open), close === null ? "" : closingText(close)].join("\n"), facets.join(" "));
      const [min, max] = spans.get(part) ?? [at, at];
      spans.set(part, [Math.min(min, at), Math.max(max, at)]);
    }
    for (const [part, [min, max]] of spans) extend.run(part, min, max);
  };

  return {
    advance: (limit) => {
      const { at, to } = position.get() ?? { at: 0, to: 0 };
      if (at >= to) return true;
      try {
        return storage.transaction(() => {
          // Read inside the transaction: another host may have advanced it.
          const now = position.get() ?? { at: 0, to: 0 };
          const end = Math.min(now.to, now.at + limit);
          index(now.at, end);
          move.run(end);
          return end >= now.to;
        });
      } catch (error) {
        // Tables created in a transaction that was rolled back do not exist.
        inserts.clear();
        throw error;
      }
    },
  };
}

/** All parts, newest first. */
export function textParts(db: Database.Database): { part: number; min_at: number; max_at: number }[] {
  return db.prepare<[], { part: number; min_at: number; max_at: number }>("SELECT * FROM receipts_parts ORDER BY part DESC").all();
}

/** Drops the parts that cover only entries before `seq`; all parts by default. */
export function dropTextIndex(db: Database.Database, seq = Number.POSITIVE_INFINITY): void {
  for (const { part } of textParts(db)) {
    if (firstOfPart(part + 1) > seq) continue;
    db.exec(`DROP TABLE IF EXISTS ${tableOfPart(part)}`);
    db.prepare("DELETE FROM receipts_parts WHERE part = ?").run(part);
  }
}

export function openingText(open: OpenEntry): string {
  return [open.actionName, open.actionType, indexedText(open.inputs), indexedText(open.metadata)].join("\n");
}

function closingText(close: CloseEntry): string {
  return [close.status, close.errorMessage, indexedText(close.outputs), indexedText(close.metadata)].join("\n");
}

function indexedText(fields: Record<string, unknown>): string {
  return JSON.stringify(fields)
    .slice(0, indexedCharacters)
    .replaceAll(/\\[nrt]/g, " ");
}
