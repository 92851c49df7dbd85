import { type Edit, lineEdits } from "./hunks.ts";
import { splitLines } from "./lines.ts";

/**
 * Merges two versions of a text that began as `base`, by lines. Edits that overlap or touch conflict, unless they are the same.
 * @returns null on a conflict.
 */
export function mergeTexts(base: string, ours: string, theirs: string): string | null {
  if (ours === base || ours === theirs) return theirs;
  if (theirs === base) return ours;
  const lines = splitLines(base);
  const left = lineEdits(lines, splitLines(ours));
  const right = lineEdits(lines, splitLines(theirs));
  const merged: string[] = [];
  let at = 0;
  let l = 0;
  let r = 0;
  for (;;) {
    const mine = left[l];
    const other = right[r];
    let next: Edit;
    if (mine !== undefined && other !== undefined && touches(mine, other)) {
      if (!same(mine, other)) return null;
      next = mine;
      l++;
      r++;
    } else if (mine !== undefined && (other === undefined || mine.from < other.from)) {
      next = mine;
      l++;
    } else if (other !== undefined) {
      next = other;
      r++;
    } else break;
    for (; at < next.from; at++) merged.push(lines[at] ?? "");
    for (const line of next.lines) merged.push(line);
    at = next.to;
  }
  for (; at < lines.length; at++) merged.push(lines[at] ?? "");
  return merged.join("");
}

/** The same for files that may not exist (`null`): a deletion merges only when the other side made no change. */
export function mergeFiles(base: string | null, ours: string | null, theirs: string | null): { text: string | null } | null {
  if (ours === base || ours === theirs) return { text: theirs };
  if (theirs === base) return { text: ours };
  if (base === null || ours === null || theirs === null) return null;
  const text = mergeTexts(base, ours, theirs);
  return text === null ? null : { text };
}

function touches(a: Edit, b: Edit): boolean {
  return a.from <= b.to && b.from <= a.to;
}

function same(a: Edit, b: Edit): boolean {
  return a.from === b.from && a.to === b.to && a.lines.length === b.lines.length && a.lines.every((line, index) => line === b.lines[index]);
}
