import * as z from "zod";
import { Id, Timestamp } from "../../contract/common.ts";
import { MemoryKind, MemoryTarget, Namespace, Provenance, Tag } from "../../contract/memory.ts";
import { targetOf } from "../item-rows.ts";
import type { StoredItem } from "../item-types.ts";

/**
 * An export is JSON lines: this header, one line per item, the end. A backup also has lines `{"quarantine":…}`,
 * `{"commit":…}` and `{"image":…}`: pending edits are imported with the items, the history is informational.
 */
export const ExportHeader = z.object({
  lancelot: z.literal("memory"),
  version: z.int(),
  format: z.enum(["jsonl", "backup"]),
  exportedAt: Timestamp,
  /** Name of the exported workspace folder. */
  workspace: z.string().nullable(),
});
export type ExportHeader = z.infer<typeof ExportHeader>;

/** The written format version; older ones can be read. */
export const formatVersion = 1;

export const ExportEnd = z.object({ end: z.object({ items: z.int() }) });

const Confidence = z.number().min(0).max(1);

/** One item. A handwritten one needs only `target` and `content`. */
export const ItemLine = z.object({
  /** An id in another format is ignored: the item gets a new one. */
  id: z
    .string()
    .max(200)
    .optional()
    .transform((id) => (id !== undefined && /^mem_[0-9a-f-]{36}$/u.test(id) ? id : undefined)),
  target: MemoryTarget,
  namespace: Namespace.optional(),
  kind: MemoryKind.optional(),
  content: z.string().min(1).max(200_000),
  confidence: Confidence.default(0.7),
  tags: z.array(Tag).max(20).default([]),
  provenance: Provenance.default({ source: "agent" }),
  questId: Id.nullable().default(null),
  createdAt: Timestamp.optional(),
  updatedAt: Timestamp.optional(),
  expiresAt: Timestamp.nullable().default(null),
  reinforcedAt: Timestamp.optional(),
  reinforced: z.int().min(0).default(0),
});
export type ItemLine = z.infer<typeof ItemLine>;

/** An exported item with informational fields: its weight, its version and its commit. */
export function lineOf(item: StoredItem): ItemLine & { weight: number; version: number; commitId: string } {
  return {
    id: item.id,
    target: targetOf(item),
    namespace: item.namespace,
    kind: item.kind,
    content: item.content,
    confidence: item.confidence,
    tags: [...item.tags],
    provenance: item.provenance,
    questId: item.questId,
    createdAt: iso(item.createdAt),
    updatedAt: iso(item.updatedAt),
    expiresAt: item.expiresAt === null ? null : iso(item.expiresAt),
    reinforcedAt: iso(item.reinforcedAt),
    reinforced: item.reinforced,
    weight: item.weight,
    version: item.version,
    commitId: item.commitId,
  };
}

export function iso(at: number): string {
  return new Date(at).toISOString();
}

/** An edit that was pending when the backup was made. */
export const QuarantineLine = z.object({
  quarantine: z.object({
    status: z.string(),
    author: z.enum(["owner", "agent", "system"]),
    why: z.string(),
    itemId: z.string().nullable(),
    edit: z.object({
      op: z.enum(["insert", "replace", "delete", "rethink", "set_aside"]),
      target: MemoryTarget,
      namespace: Namespace,
      selector: z.string().nullable(),
      content: z.string().nullable(),
      kind: MemoryKind,
      tags: z.array(z.string()),
      confidence: Confidence,
      provenance: Provenance,
      reason: z.string(),
      ttlSeconds: z.number().nullable(),
    }),
    /** For a quarantined item: its text. */
    image: z.object({ content: z.string() }).nullable(),
  }),
});
export type QuarantineLine = z.infer<typeof QuarantineLine>["quarantine"];

/** A line of an imported file: an item, a pending edit, or the reason it cannot be read. `line` counts from 1. */
export type ParsedLine =
  | { readonly line: number; readonly item: ItemLine }
  | { readonly line: number; readonly quarantine: QuarantineLine }
  | { readonly line: number; readonly reason: string };
