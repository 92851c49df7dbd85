import { targetOf } from "./item-rows.ts";
import type { GatedEdit, StoredItem } from "./item-types.ts";

/** An edit that removes an item, for callers that pass no gate: the host for its own items, and the owner's import. */
export function removalOf(item: StoredItem, reason: string): GatedEdit {
  const { id, namespace, kind, tags, confidence, provenance } = item;
  return {
    op: "delete",
    target: targetOf(item),
    namespace,
    selector: id,
    content: null,
    kind,
    tags,
    confidence,
    provenance,
    reason,
    ttlSeconds: null,
  };
}
