import type { StoredItem } from "./item-types.ts";

type Entry = Pick<StoredItem, "id" | "content" | "weight" | "createdAt">;

/**
 * The order in which entries stand in a block, and in which they are kept when there is no room for all: the most certain first. It
 * depends on the entries alone, not on the order in which they were written or read, nor on a locale.
 */
export function orderEntries<T extends Entry>(entries: readonly T[]): T[] {
  return entries.toSorted(
    (a, b) => b.weight - a.weight || a.createdAt - b.createdAt || compare(a.content, b.content) || compare(a.id, b.id),
  );
}

/** What a block says, a line an entry, in the order given. */
export function blockText(contents: readonly string[]): string {
  return contents.map((content) => `- ${oneLine(content)}`).join("\n");
}

/** White space of any kind and length becomes one space, so that no text looks like several entries. */
export function oneLine(content: string): string {
  return content.replaceAll(/[\s\u0085]+/gu, " ").trim();
}

/** By code units: the same everywhere. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
