import { createTwoFilesPatch, diffArrays } from "diff";
import type { Hunk } from "../../contract/changes.ts";
import { bareLine, splitLines } from "./lines.ts";

/** Added and removed lines up to which texts are compared line by line, some hundred milliseconds; more become one hunk. */
const maxEdits = 5_000;
const noNewline = "\\ No newline at end of file";

/** A run of lines that differ: `lines` replace `from`–`to` of the old lines. Zero-based, `to` exclusive. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** Edits that turn `from` into `to`, in order, separated by at least one equal line. */
export function lineEdits(from: readonly string[], to: readonly string[]): Edit[] {
  let head = 0;
  while (head < from.length && head < to.length && from[head] === to[head]) head++;
  let tail = 0;
  while (tail < from.length - head && tail < to.length - head && from[from.length - 1 - tail] === to[to.length - 1 - tail]) tail++;
  const oldMiddle = from.slice(head, from.length - tail);
  const newMiddle = to.slice(head, to.length - tail);
  if (oldMiddle.length === 0 && newMiddle.length === 0) return [];
  const whole: Edit[] = [{ from: head, to: from.length - tail, lines: newMiddle }];
  if (oldMiddle.length === 0 || newMiddle.length === 0) return whole;
  const parts = diffArrays(oldMiddle, newMiddle, { maxEditLength: maxEdits });
  if (parts === undefined) return whole;
  const edits: Edit[] = [];
  let at = head;
  let open: { from: number; to: number; lines: string[] } | null = null;
  for (const part of parts) {
    if (!part.added && !part.removed) {
      if (open !== null) edits.push(open);
      open = null;
      at += part.value.length;
      continue;
    }
    open ??= { from: at, to: at, lines: [] };
    if (part.removed) {
      at += part.value.length;
      open.to = at;
    } else open.lines.push(...part.value);
  }
  if (open !== null) edits.push(open);
  return edits;
}

/**
 * Hunks from one text to another, without context, all pending. A created or deleted file is one hunk.
 * `oldStart` of an insertion is the line it precedes.
 */
export function computeHunks(base: string | null, proposed: string | null): Hunk[] {
  const oldLines = splitLines(base ?? "");
  const newLines = splitLines(proposed ?? "");
  const edits = base === null || proposed === null ? [{ from: 0, to: oldLines.length, lines: newLines }] : lineEdits(oldLines, newLines);
  let shift = 0;
  return edits.map((edit, index) => {
    const removed = oldLines.slice(edit.from, edit.to);
    const hunk: Hunk = {
      index,
      oldStart: edit.from + 1,
      oldLines: removed.length,
      newStart: edit.from + shift + 1,
      newLines: edit.lines.length,
      lines: [...shown("-", removed), ...shown("+", edit.lines)],
      state: "pending",
    };
    shift += edit.lines.length - removed.length;
    return hunk;
  });
}

/** The base with the selected hunks applied; null when the file would not exist. */
export function applyHunks(
  base: string | null,
  proposed: string | null,
  hunks: readonly Hunk[],
  take: (hunk: Hunk) => boolean,
): string | null {
  if (base === null || proposed === null) return hunks.some(take) ? proposed : base;
  const oldLines = splitLines(base);
  const newLines = splitLines(proposed);
  const result: string[] = [];
  let at = 0;
  for (const hunk of hunks) {
    if (!take(hunk)) continue;
    const from = hunk.oldStart - 1;
    pushAll(result, oldLines, at, from);
    pushAll(result, newLines, hunk.newStart - 1, hunk.newStart - 1 + hunk.newLines);
    at = from + hunk.oldLines;
  }
  pushAll(result, oldLines, at, oldLines.length);
  return result.join("");
}

/** A unified diff with three lines of context; empty when nothing differs. `null` represents a missing file. */
export function unifiedDiff(path: string, from: string | null, to: string | null): string {
  if (from === to) return "";
  const oldName = from === null ? "/dev/null" : `a/${path}`;
  const newName = to === null ? "/dev/null" : `b/${path}`;
  const patch = createTwoFilesPatch(oldName, newName, from ?? "", to ?? "", undefined, undefined, { context: 3, maxEditLength: maxEdits });
  if (patch === undefined) return `--- ${oldName}\n+++ ${newName}\n(too many differences for a line diff)\n`;
  return patch.replace(/^=+\n/, "");
}

function shown(sign: "+" | "-", lines: readonly string[]): string[] {
  return lines.flatMap((line) => (line.endsWith("\n") ? [sign + line.slice(0, -1)] : [sign + bareLine(line), noNewline]));
}

function pushAll(into: string[], from: readonly string[], start: number, end: number): void {
  for (let index = start; index < end; index++) into.push(from[index] ?? "");
}
