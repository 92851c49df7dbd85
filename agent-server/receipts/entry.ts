import { hash as digest, randomUUID } from "node:crypto";
import canonicalize from "canonicalize";
import * as z from "zod";
import { Tier } from "../contract/common.ts";
import { ActionType, CognitionTier, type Receipt, ReceiptStatus } from "../contract/receipts.ts";

const Fields = z.record(z.string(), z.unknown());

/** What the opening entry of a receipt says. */
export const OpenEntry = z.object({
  v: z.literal(1),
  kind: z.literal("open"),
  id: z.string(),
  /** Milliseconds since 1970. */
  at: z.number(),
  host: z.string(),
  actionType: ActionType,
  actionName: z.string(),
  inputs: Fields,
  riskTier: Tier,
  cognitionTier: CognitionTier,
  parentId: z.string().nullable(),
  questId: z.string().nullable(),
  metadata: Fields,
});
export type OpenEntry = z.infer<typeof OpenEntry>;

/** What the closing entry of a receipt says. */
export const CloseEntry = z.object({
  v: z.literal(1),
  kind: z.literal("close"),
  id: z.string(),
  at: z.number(),
  status: ReceiptStatus.exclude(["pending"]),
  outputs: Fields,
  errorMessage: z.string().nullable(),
  tokenCount: z.int().nullable(),
  durationMs: z.number(),
  metadata: Fields,
});
export type CloseEntry = z.infer<typeof CloseEntry>;

export type Entry = OpenEntry | CloseEntry;

/** A row of the table `ledger`. */
export interface EntryRow {
  seq: number;
  receipt_id: string;
  kind: string;
  body: string;
  hash: string;
  prev_hash: string;
}

/** `prev_hash` of the first entry. */
export const genesis = "0".repeat(64);

/** Hash of an entry: SHA-256, in hex, of the hash before it and its canonical body (RFC 8785), which holds its own number. */
export function hashEntry(prevHash: string, body: string): string {
  return digest("sha256", prevHash + body, "hex");
}

/**
 * Canonical JSON (RFC 8785) of plain JSON with well-formed text. Objects keep the order in which their keys were set, so a copy with
 * sorted keys is canonical when stringified, several times faster than the general way. Keys that look like array indices keep an order of their
 * own; with one of those the general way is taken.
 */
export function canonicalJson(value: unknown): string {
  const order = { kept: true };
  const sorted = sortedCopy(value, order);
  return (order.kept ? JSON.stringify(sorted) : canonicalize(value)) ?? "null";
}

function sortedCopy(value: unknown, order: { kept: boolean }): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => sortedCopy(item, order));
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value).sort()) {
    if (/^\d|^__proto__$/.test(key)) order.kept = false;
    else copy[key] = sortedCopy((value as Record<string, unknown>)[key], order);
  }
  return copy;
}

/** The row that puts `entry` at `seq`, after the entry with hash `prevHash`. */
export function toRow(entry: Entry, seq: number, prevHash: string): EntryRow {
  const body = canonicalJson({ ...entry, seq });
  return { seq, receipt_id: entry.id, kind: entry.kind, body, hash: hashEntry(prevHash, body), prev_hash: prevHash };
}

/** An entry as a row holds it; null when the row was changed from outside so far that it cannot be read. */
export function readEntry<T extends Entry>(schema: z.ZodType<T>, body: string): T | null {
  try {
    return schema.safeParse(JSON.parse(body)).data ?? null;
  } catch {
    return null;
  }
}

/** A new receipt id: UUID version 7, so that ids sort by time and their index grows at its end. */
export function newReceiptId(at: number): string {
  const time = at.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-7${randomUUID().slice(15)}`;
}

/** A receipt from its entries; `close` is null while it is pending. `last` is its latest row. */
export function toReceipt(open: OpenEntry, close: CloseEntry | null, last: { hash: string; prev_hash: string }): Receipt {
  return {
    id: open.id,
    timestamp: new Date(open.at).toISOString(),
    actionType: open.actionType,
    actionName: open.actionName,
    inputs: open.inputs,
    outputs: close?.outputs ?? {},
    status: close?.status ?? "pending",
    durationMs: close?.durationMs ?? null,
    tokenCount: close?.tokenCount ?? null,
    cognitionTier: open.cognitionTier,
    riskTier: open.riskTier,
    parentId: open.parentId,
    questId: open.questId,
    errorMessage: close?.errorMessage ?? null,
    metadata: close === null ? open.metadata : { ...open.metadata, ...close.metadata },
    hash: last.hash,
    prevHash: last.prev_hash,
  };
}
