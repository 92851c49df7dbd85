import type { MemoryItem } from "../contract/memory.ts";
import type { StoredItem } from "./item-types.ts";

/** An item in the form of the contract. `text`: the referenced message's text; defaults to the item's content. */
export function viewItem(item: StoredItem, text: string = item.content): MemoryItem {
  const { id, tier, block, namespace, kind, confidence, weight, tags, provenance, questId, commitId, version, reinforced } = item;
  return {
    id,
    tier,
    block,
    namespace,
    kind,
    content: text,
    confidence,
    weight,
    tags: [...tags],
    provenance,
    questId,
    commitId,
    version,
    createdAt: new Date(item.createdAt).toISOString(),
    updatedAt: new Date(item.updatedAt).toISOString(),
    reinforcedAt: new Date(item.reinforcedAt).toISOString(),
    reinforced,
    expiresAt: item.expiresAt === null ? null : new Date(item.expiresAt).toISOString(),
  };
}
