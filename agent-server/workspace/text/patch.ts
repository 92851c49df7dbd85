import { bareLine, mainEol, splitLines } from "./lines.ts";
import { nearestBlock } from "./nearest-text.ts";
import type { PatchHunk } from "./patch-parse.ts";
import { findPlaces } from "./match-places.ts";
import { rewriteBlock } from "./match-rewrite.ts";

export { type FilePatch, parseFilePatches } from "./patch-parse.ts";

export type PatchOutcome = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly problem: string };

/**
 * Applies the hunks of one file. Context and removed lines must match exactly: at the line in the header, otherwise at the only
 * match. Whitespace may differ when there is exactly one such match.
 */
export function applyFilePatch(text: string, hunks: readonly PatchHunk[]): PatchOutcome {
  const lines = splitLines(text);
  const bare = lines.map(bareLine);
  const eol = mainEol(text);
  const result: string[] = [];
  let at = 0;
  let shift = 0;
  for (const [number, hunk] of hunks.entries()) {
    const fail = (words: string): PatchOutcome => ({
      ok: false,
      problem: `Hunk ${number + 1} (@@${hunk.oldStart === null ? "" : ` -${hunk.oldStart}`} @@) ${words}`,
    });
    const before = hunk.lines.filter((line) => line[0] === " " || line[0] === "-").map(content);
    // Lines added after line 5 have no old line of their own: `-5,0`.
    const expected = hunk.oldStart === null ? null : hunk.oldStart - (before.length === 0 ? 0 : 1) + shift;
    const place = findPlace(bare, before, expected, at);
    if (place.kind === "problem") return fail(place.words);
    if (place.kind === "exact") {
      if (expected !== null) shift += place.at - expected;
      for (; at < place.at; at++) result.push(lines[at] ?? "");
      at = applyExactly(result, lines, at, hunk, eol);
      continue;
    }
    const rewrite = rewriteBlock(lines, place.at, { old: before, new: hunk.lines.filter((line) => /^[ +]/.test(line)).map(content), eol });
    if (rewrite === null || rewrite.from < at) return fail(notThere(bare, before, expected));
    for (; at < rewrite.from; at++) result.push(lines[at] ?? "");
    result.push(...rewrite.lines);
    at = rewrite.to;
  }
  for (; at < lines.length; at++) result.push(lines[at] ?? "");
  // A last line without a newline gets one when lines now follow it.
  return { ok: true, text: result.map((line, index) => (index < result.length - 1 && !line.endsWith("\n") ? line + eol : line)).join("") };
}

function applyExactly(result: string[], lines: readonly string[], start: number, hunk: PatchHunk, eol: string): number {
  let at = start;
  let last: "old" | "new" | null = null;
  /** Line endings of removed lines, for their replacements. */
  let ends: string[] = [];
  for (const line of hunk.lines) {
    const sign = line[0];
    if (sign === "-") {
      ends.push(endOf(lines[at]));
      at++;
    } else if (sign === " ") {
      ends = [];
      result.push(lines[at] ?? "");
      at++;
    } else if (sign === "+") result.push(content(line) + (ends.shift() || eol));
    else if (sign === "\\" && last === "new") result.push(bareLine(result.pop() ?? ""));
    // Nothing to do after a context line: its ending does not change.
    if (sign !== "\\") last = sign === "+" ? "new" : "old";
  }
  return at;
}

function endOf(line: string | undefined): string {
  return line === undefined ? "" : line.slice(bareLine(line).length);
}

type Found =
  | { readonly kind: "exact"; readonly at: number }
  | { readonly kind: "near"; readonly at: ReturnType<typeof findPlaces>[number] }
  | { readonly kind: "problem"; readonly words: string };

/** Finds `before`: at the expected line, otherwise at the only match after the previous hunk. */
function findPlace(lines: readonly string[], before: readonly string[], expected: number | null, from: number): Found {
  if (before.length === 0) {
    if (lines.length === 0) return { kind: "exact", at: 0 };
    if (expected !== null && expected >= from && expected <= lines.length) return { kind: "exact", at: expected };
    return { kind: "problem", words: "adds lines without context to locate them. Include the surrounding lines." };
  }
  const matches = (at: number) => at >= from && before.every((line, index) => line === lines[at + index]);
  if (expected !== null && matches(expected)) return { kind: "exact", at: expected };
  const found: number[] = [];
  for (let at = from; at + before.length <= lines.length; at++) if (matches(at)) found.push(at);
  const [only] = found;
  if (only !== undefined && found.length === 1) return { kind: "exact", at: only };
  if (found.length > 1) return { kind: "problem", words: fitsOften(found) };
  const near = findPlaces(lines, before);
  const [one] = near;
  if (near.length > 1) return { kind: "problem", words: fitsOften(near.map((place) => place.at[0] ?? 0)) };
  if (one !== undefined && one.level !== "shape" && (one.at[0] ?? 0) >= from) return { kind: "near", at: one };
  return { kind: "problem", words: notThere(lines, before, expected) };
}

function fitsOften(places: readonly number[]): string {
  const shown = places.slice(0, 10).map((at) => at + 1);
  return `matches equally well at lines ${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}. Add the correct line number or more context.`;
}

function notThere(lines: readonly string[], before: readonly string[], expected: number | null): string {
  const at = Math.max(0, Math.min(expected ?? 0, lines.length - 1));
  const shown = lines.slice(at, at + Math.min(before.length, 8)).map((line, index) => `${at + index + 1}\t${line.slice(0, 200)}`);
  const there = expected === null || shown.length === 0 ? "" : ` There it reads:\n${shown.join("\n")}\n`;
  return `does not apply: its context or removed lines are not in the file.${there}${nearestBlock(lines, before).replace("old_text has", "the patch has").replace("Copy old_text from there exactly", "Copy them from there exactly")}`;
}

function content(line: string): string {
  return bareLine(line.slice(1));
}
