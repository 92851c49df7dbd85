import type { StoredItem } from "./item-types.ts";

type Entry = Pick<StoredItem, "id" | "content" | "weight" | "createdAt">;

/**
 * The order of entries in a block, and in which they are kept when they do not all fit: highest confidence first. It
 * depends on the entries alone, not on write or read order, nor on the locale.
 */
export function orderEntries<T extends Entry>(entries: readonly T[]): T[] {
  return entries.toSorted(
    (a, b) => b.weight - a.weight || a.createdAt - b.createdAt || compare(a.content, b.content) || compare(a.id, b.id),
  );
}

/** The text of a block: one line per entry, in the given order. */
export function blockText(contents: readonly string[]): string {
  return contents.map((content) => `- ${oneLine(content)}`).join("\n");
}

/** Collapses white space to single spaces, so that no text looks like several entries. */
export function oneLine(content: string): string {
  return content.replaceAll(/[\s\u0085]+/gu, " ").trim();
}

/** Compares by code units, so that the order is the same everywhere. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
