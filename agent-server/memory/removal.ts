import { targetOf } from "./item-rows.ts";
import type { GatedEdit, StoredItem } from "./item-types.ts";

/** The edit that removes an item, for those who need no gate: the host of what is its own, the owner's import. */
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
