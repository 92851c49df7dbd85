import { hash as digest, randomUUID } from "node:crypto";
import canonicalize from "canonicalize";
import * as z from "zod";
import { Tier } from "../contract/common.ts";
import { ActionType, CognitionTier, type Receipt, ReceiptStatus } from "../contract/receipts.ts";

const Fields = z.record(z.string(), z.unknown());

/** The opening entry of a receipt. Keys are in canonical JSON order, so that they can be written without sorting. */
export const OpenEntry = z.object({
  actionName: z.string(),
  actionType: ActionType,
  /** Milliseconds since 1970. */
  at: z.number(),
  cognitionTier: CognitionTier,
  host: z.string(),
  id: z.string(),
  inputs: Fields,
  kind: z.literal("open"),
  metadata: Fields,
  parentId: z.string().nullable(),
  questId: z.string().nullable(),
  riskTier: Tier,
  /** Position in the ledger; 0 until it is assigned. */
  seq: z.int(),
  v: z.literal(1),
});
export type OpenEntry = z.infer<typeof OpenEntry>;

/** The closing entry of a receipt. */
export const CloseEntry = z.object({
  at: z.number(),
  durationMs: z.number(),
  errorMessage: z.string().nullable(),
  id: z.string(),
  kind: z.literal("close"),
  metadata: Fields,
  outputs: Fields,
  seq: z.int(),
  status: ReceiptStatus.exclude(["pending"]),
  tokenCount: z.int().nullable(),
  v: z.literal(1),
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

/** Hash of an entry: SHA-256, in hex, of the previous hash and its canonical body (RFC 8785), which contains its `seq`. */
export function hashEntry(prevHash: string, body: string): string {
  return digest("sha256", prevHash + body, "hex");
}

/**
 * Canonical JSON (RFC 8785) of plain JSON with well-formed text. Objects keep insertion order, so `JSON.stringify` of an object with
 * sorted keys is canonical and several times faster than `canonicalize`. Keys that look like array indices have an order of their
 * own; objects with such keys use `canonicalize`.
 */
export function canonicalJson(value: unknown): string {
  const order = { kept: true };
  const ordered = inOrder(value, order);
  return (order.kept ? JSON.stringify(ordered) : canonicalize(value)) ?? "null";
}

/** Returns `value` when its keys are sorted, otherwise a sorted copy. */
function inOrder(value: unknown, order: { kept: boolean }): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => inOrder(item, order));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const fields = value as Record<string, unknown>;
  const keys = Object.keys(fields);
  let changed = false;
  let before = "";
  for (const key of keys) {
    const first = key.charCodeAt(0);
    if ((first >= 48 && first <= 57) || key === "__proto__") order.kept = false;
    if (key < before) changed = true;
    before = key;
  }
  if (!order.kept) return value;
  if (changed) keys.sort();
  let copy = changed ? Object.fromEntries(keys.map((key) => [key, fields[key]])) : null;
  for (const key of keys) {
    const field = fields[key];
    if (typeof field !== "object" || field === null) continue;
    const ordered = inOrder(field, order);
    if (ordered === field) continue;
    copy ??= { ...fields };
    copy[key] = ordered;
  }
  return copy ?? value;
}

/** The row for `entry` at `seq`, linked to the entry with hash `prevHash`. */
export function toRow(entry: Entry, seq: number, prevHash: string): EntryRow {
  const body = canonicalEntry(entry, seq);
  return { seq, receipt_id: entry.id, kind: entry.kind, body, hash: hashEntry(prevHash, body), prev_hash: prevHash };
}

/** `canonicalJson` of an entry, whose own keys are already sorted. */
function canonicalEntry(entry: Entry, seq: number): string {
  const order = { kept: true };
  const ordered = { ...entry, seq };
  ordered.metadata = inOrder(entry.metadata, order) as Entry["metadata"];
  if (ordered.kind === "open") ordered.inputs = inOrder(ordered.inputs, order) as OpenEntry["inputs"];
  else ordered.outputs = inOrder(ordered.outputs, order) as CloseEntry["outputs"];
  return order.kept ? JSON.stringify(ordered) : canonicalJson(ordered);
}

/** Parses a row's body; null when it was modified and no longer parses. */
export function readEntry<T extends Entry>(schema: z.ZodType<T>, body: string): T | null {
  try {
    return schema.safeParse(JSON.parse(body)).data ?? null;
  } catch {
    return null;
  }
}

/** Creates a receipt id: UUID version 7, so that ids sort by time and the index grows at its end. */
export function newReceiptId(at: number): string {
  const time = at.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-7${randomUUID().slice(15)}`;
}

/** Builds a receipt from its entries; `close` is null while it is pending. `last` is its latest row. */
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
