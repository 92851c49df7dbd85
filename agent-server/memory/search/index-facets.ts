import { createHash } from "node:crypto";
import type { StoredItem } from "../item-types.ts";

/** A private-use character, so that no word of a text or a query is a facet. */
const mark = "\u{e000}";

const facet = (kind: string, value: string): string => `${mark}${kind}${createHash("sha256").update(value).digest("hex").slice(0, 16)}`;

export const workspaceFacet = (workspace: string): string => facet("w", workspace);
export const tierFacet = (tier: string): string => facet("t", tier);
export const namespaceFacet = (namespace: string): string => facet("n", namespace);
/** Tags ignore case. */
export const tagFacet = (tag: string): string => facet("g", tag.toLowerCase());

/** The filters of an item, as words of their own index column. */
export function facetsOf(item: Pick<StoredItem, "tier" | "namespace" | "workspace" | "tags">): string {
  return [workspaceFacet(item.workspace), tierFacet(item.tier), namespaceFacet(item.namespace), ...new Set(item.tags.map(tagFacet))].join(
    " ",
  );
}
