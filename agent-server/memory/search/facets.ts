import { createHash } from "node:crypto";
import type { StoredItem } from "../item-types.ts";

/** No letter, digit or mark: no word of a text or of a query is a facet. */
const mark = "\u{e000}";

const facet = (kind: string, value: string): string => `${mark}${kind}${createHash("sha256").update(value).digest("hex").slice(0, 16)}`;

export const workspaceFacet = (workspace: string): string => facet("w", workspace);
export const tierFacet = (tier: string): string => facet("t", tier);
export const namespaceFacet = (namespace: string): string => facet("n", namespace);
/** Tags are the same in any case. */
export const tagFacet = (tag: string): string => facet("g", tag.toLowerCase());

/** What an item is filtered by, as words of a column of their own. */
export function facetsOf(item: Pick<StoredItem, "tier" | "namespace" | "workspace" | "tags">): string {
  return [workspaceFacet(item.workspace), tierFacet(item.tier), namespaceFacet(item.namespace), ...new Set(item.tags.map(tagFacet))].join(
    " ",
  );
}
