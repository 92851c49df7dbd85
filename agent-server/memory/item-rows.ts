import canonicalize from "canonicalize";
import { CoreBlockName, MemoryKind, type MemoryTarget, MemoryTier, Provenance } from "../contract/memory.ts";
import { LancelotError } from "../contract/errors.ts";
import type { ItemImage, StoredItem } from "./item-types.ts";

/** A row of memory_items. */
export interface ItemRow {
  seq: number;
  id: string;
  tier: string;
  block: string | null;
  namespace: string;
  workspace: string;
  kind: string;
  content: string;
  ref: string | null;
  confidence: number;
  tags: string;
  provenance: string;
  quest_id: string | null;
  commit_id: string;
  version: number;
  created_at: number;
  updated_at: number;
  expires_at: number | null;
  weight: number;
  reinforced_at: number;
  reinforced: number;
}

/** JSON with sorted keys, so that equal values give equal text. */
export function sortedJson(value: unknown): string {
  return canonicalize(value) ?? "null";
}

/** Converts a row. Rows were validated when they were written. */
export function itemOfRow(row: ItemRow): StoredItem {
  return {
    seq: row.seq,
    id: row.id,
    tier: row.tier as MemoryTier,
    block: row.block as CoreBlockName | null,
    namespace: row.namespace,
    workspace: row.workspace,
    kind: row.kind as MemoryKind,
    content: row.content,
    ref: row.ref,
    confidence: row.confidence,
    tags: JSON.parse(row.tags) as string[],
    provenance: JSON.parse(row.provenance) as Provenance,
    questId: row.quest_id,
    commitId: row.commit_id,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    expiresAt: row.expires_at,
    weight: row.weight,
    reinforcedAt: row.reinforced_at,
    reinforced: row.reinforced,
  };
}

/** The fields that a rollback restores, without derived ones. */
export function imageOf(item: ItemImage): ItemImage {
  return {
    id: item.id,
    tier: item.tier,
    block: item.block,
    namespace: item.namespace,
    workspace: item.workspace,
    kind: item.kind,
    content: item.content,
    ref: item.ref,
    confidence: item.confidence,
    tags: item.tags,
    provenance: item.provenance,
    questId: item.questId,
    commitId: item.commitId,
    version: item.version,
    createdAt: item.createdAt,
    updatedAt: item.updatedAt,
    expiresAt: item.expiresAt,
  };
}

export function sameImage(a: ItemImage | null, b: ItemImage | null): boolean {
  return sortedJson(a === null ? null : imageOf(a)) === sortedJson(b === null ? null : imageOf(b));
}

/** The tier and block of a target. */
export function placeOfTarget(target: MemoryTarget): { tier: MemoryTier; block: CoreBlockName | null } {
  const [tier, block] = target.split(":");
  return { tier: MemoryTier.parse(tier), block: block === undefined ? null : CoreBlockName.parse(block) };
}

export function targetOf(item: Pick<ItemImage, "tier" | "block">): MemoryTarget {
  if (item.tier !== "core") return item.tier;
  if (item.block === null) throw new LancelotError("internal", "A core item has no block.");
  return `core:${item.block}`;
}
