import { isOmission, partsOf, withoutNumbers, withoutSomeNumbers } from "./copy-markers.ts";
import { foldMarks } from "./text-folding.ts";
import { bareLine, mainEol, splitLines } from "./lines.ts";
import { mergeEnds } from "./line-ends.ts";
import { nearestBlock } from "./nearest-text.ts";
import { findPlaces, type Level, levels, type Place } from "./match-places.ts";
import { mergeLine, rewriteBlock } from "./match-rewrite.ts";

export interface Replacement {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

export type EditOutcome =
  | {
      readonly ok: true;
      readonly text: string;
      /** Number of replaced matches. */
      readonly count: number;
      /** 1-based first lines of the matches in the old text. */
      readonly lines: readonly number[];
      /** The tolerance that was needed; null for an exact match. */
      readonly tolerance: string | null;
    }
  | { readonly ok: false; readonly problem: string };

/** Lines of at least this many characters are treated as generated. */
const minLongLine = 300;

/** Descriptions of the tolerated differences. */
const toleranceLabels: Record<Level, string> = {
  "line ends": "whitespace at line ends",
  indentation: "indentation",
  "blank lines": "blank lines",
  marks: "quotes, dashes and whitespace within lines",
  shape: "indentation",
};

/**
 * Replaces `oldText`: an exact match, otherwise whole lines that differ only in whitespace, indentation, blank lines or quotes. Lines
 * common
 * to old and new text keep the file's form, and every line keeps its ending. Words must always be equal.
 * Never guesses: several matches without `replaceAll` are an error that names them, and so is a match that is only the
 * most likely one. When there is no match, the error quotes the nearest text and its differences.
 */
export function replaceText(text: string, edit: Replacement): EditOutcome {
  if (edit.oldText === edit.newText) return { ok: false, problem: "old_text and new_text are identical; there is nothing to change." };
  const whole = replaceExactly(text, edit) ?? replaceLines(text, edit);
  if (whole !== null) return whole;
  const fileLines = splitLines(text).map(bareLine);
  const wanted = linesOf(edit.oldText);
  const numberless = withoutNumbers(wanted);
  if (numberless !== null) {
    const clean = {
      ...edit,
      oldText: joined(numberless, edit.oldText),
      newText: joined(withoutSomeNumbers(linesOf(edit.newText)), edit.newText),
    };
    const outcome = clean.oldText === clean.newText ? null : (replaceExactly(text, clean) ?? replaceLines(text, clean));
    if (outcome !== null) return outcome.ok ? { ...outcome, tolerance: withTolerance("line numbers", outcome.tolerance) } : outcome;
    return notFound(fileLines, numberless, " (Its line numbers were removed.)");
  }
  if (wanted.some(isOmission))
    return (
      replaceParts(text, edit, wanted) ??
      notFound(
        fileLines,
        wanted.filter((line) => !isOmission(line)),
        "",
      )
    );
  return replaceWithin(text, edit) ?? notFound(fileLines, wanted, "");
}

/** Replaces character-by-character matches, ignoring line endings; null when there are none. */
function replaceExactly(text: string, edit: Replacement): EditOutcome | null {
  const file = unix(text);
  const wanted = unix(edit.oldText).text;
  const found = occurrences(file.text, wanted, edit.replaceAll ? wanted.length : 1);
  if (found.length === 0) return null;
  const lines = linesAt(file.text, found);
  if (found.length > 1 && !edit.replaceAll) return ambiguous(lines, null);
  // It starts with part of its line's indentation, so whole lines with other indentation are meant.
  if (found.length === 1 && /^[ \t]/.test(wanted) && /^[ \t]+$/.test(file.text.slice(lineStart(file.text, found[0] ?? 0), found[0]))) {
    const whole = replaceLines(text, edit);
    if (whole?.ok === true) return whole;
  }
  const made = unix(edit.newText).text;
  const eol = mainEol(text);
  let result = "";
  let at = 0;
  for (const place of found) {
    const from = file.offset(place);
    const to = file.offset(place + wanted.length);
    result += text.slice(at, from) + mergeEnds(text.slice(from, to), made, eol);
    at = to;
  }
  return finish(text, result + text.slice(at), lines, null);
}

/** Replaces whole lines that are equal apart from the tolerated differences; null when there are none. */
function replaceLines(text: string, edit: Replacement): EditOutcome | null {
  const fileLines = splitLines(text);
  const old = linesOf(edit.oldText);
  const places = findPlaces(fileLines.map(bareLine), old);
  const level = levels.find((one) => places.some((place) => place.level === one));
  if (level === undefined) return null;
  const chosen = edit.replaceAll ? withoutOverlaps(places.filter((place) => place.level === level)) : places;
  const lines = chosen.map((place) => (place.at[0] ?? 0) + 1);
  if (chosen.length > 1 && !edit.replaceAll) return ambiguous(lines, toleranceLabels[places.length === 1 ? level : worst(places)]);
  if (level === "shape") return null;
  let result = "";
  let at = 0;
  for (const place of chosen) {
    const rewrite = rewriteBlock(fileLines, place, { old, new: linesOf(edit.newText), eol: mainEol(text) });
    if (rewrite === null) return foreignIndent(fileLines, place);
    result += fileLines.slice(at, rewrite.from).join("") + rewrite.lines.join("");
    at = rewrite.to;
  }
  return finish(text, result + fileLines.slice(at).join(""), lines, toleranceLabels[level]);
}

/** Handles old text with omitted lines: each part is matched separately, and changed parts must have one match. */
function replaceParts(text: string, edit: Replacement, wanted: readonly string[]): EditOutcome | null {
  const old = partsOf(wanted);
  const made = partsOf(linesOf(edit.newText));
  if (old.length !== made.length || edit.replaceAll) {
    const problem =
      "old_text omits lines (…) that new_text does not omit. Nothing was changed. Write every line, or edit the parts one by one.";
    return { ok: false, problem };
  }
  const fileLines = splitLines(text);
  const bare = fileLines.map(bareLine);
  let result = "";
  let at = 0;
  const lines: number[] = [];
  for (const [index, part] of old.entries()) {
    const next = made[index] ?? [];
    if (part.every((line) => line.trim() === "") && next.every((line) => line.trim() === "")) continue;
    const places = findPlaces(bare, part).filter((place) => place.level !== "shape");
    const later = places.filter((place) => (place.at[0] ?? 0) >= at);
    const [place] = later;
    if (place === undefined) return null;
    if (part.join("\n") === next.join("\n")) {
      const end = (place.at.at(-1) ?? 0) + 1;
      result += fileLines.slice(at, end).join("");
      at = end;
      continue;
    }
    if (places.length > 1)
      return ambiguous(
        places.map((one) => (one.at[0] ?? 0) + 1),
        "the omitted lines",
      );
    const rewrite = rewriteBlock(fileLines, place, { old: part, new: next, eol: mainEol(text) });
    if (rewrite === null) return foreignIndent(fileLines, place);
    if (rewrite.from < at) return null;
    result += fileLines.slice(at, rewrite.from).join("") + rewrite.lines.join("");
    at = rewrite.to;
    lines.push((place.at[0] ?? 0) + 1);
  }
  return finish(text, result + fileLines.slice(at).join(""), lines, "the omitted lines");
}

/** Replaces part of a line with different quotes or, in long lines of minified files, with extra surrounding whitespace. */
function replaceWithin(text: string, edit: Replacement): EditOutcome | null {
  if (edit.replaceAll) return null;
  const core = edit.oldText.trim();
  if (core.includes("\n") || !/[\p{L}\p{N}]/u.test(core)) return null;
  const [lead = "", tail = ""] = edit.oldText.split(core);
  // The same whitespace around the new text belongs to the quotation and not to the file.
  const made =
    edit.newText.startsWith(lead) && edit.newText.endsWith(tail)
      ? edit.newText.slice(lead.length, edit.newText.length - tail.length)
      : null;
  if (made === null || made.trim() !== made || made.includes("\n")) return null;
  const found = occurrences(foldMarks(text), foldMarks(core), 1);
  const lines = linesAt(text, found);
  const [at] = found;
  if (at === undefined) return null;
  if (found.length > 1) return ambiguous(lines, "quotes, dashes and surrounding whitespace");
  // In regular files, surrounding whitespace means that whole lines were quoted, and those are different now.
  if (core !== edit.oldText && lineLength(text, at) < minLongLine) return null;
  if (cutsWord(text, at) || cutsWord(text, at + core.length)) return null;
  const there = text.slice(at, at + core.length);
  const result = text.slice(0, at) + mergeLine(core, there, made, new Map()) + text.slice(at + core.length);
  return finish(text, result, lines, there === core ? "surrounding whitespace" : "quotes and dashes");
}

function lineLength(text: string, offset: number): number {
  const end = text.indexOf("\n", offset);
  return (end < 0 ? text.length : end) - lineStart(text, offset);
}

/** True when an offset is inside a word. */
function cutsWord(text: string, offset: number): boolean {
  return /[\p{L}\p{N}_]/u.test(text.charAt(offset - 1)) && /[\p{L}\p{N}_]/u.test(text.charAt(offset));
}

/** Matches that do not overlap, from the first one on. */
function withoutOverlaps(places: readonly Place[]): Place[] {
  const kept: Place[] = [];
  for (const place of places) if ((place.at[0] ?? 0) > (kept.at(-1)?.at.at(-1) ?? -1)) kept.push(place);
  return kept;
}

function worst(places: readonly Place[]): Level {
  return levels.findLast((level) => places.some((place) => place.level === level)) ?? "indentation";
}

function linesOf(text: string): string[] {
  return splitLines(text).map(bareLine);
}

/** Joins lines with the same final newline as `like`. */
function joined(lines: readonly string[], like: string): string {
  return lines.join("\n") + (like.endsWith("\n") ? "\n" : "");
}

/** Converts a text to \n line endings, with a map to its original offsets. */
function unix(text: string): { text: string; offset: (at: number) => number } {
  if (!text.includes("\r\n")) return { text, offset: (at) => at };
  // Positions, in the shorter text, of line endings that lost their \r.
  const lost: number[] = [];
  for (let at = text.indexOf("\r\n"); at !== -1; at = text.indexOf("\r\n", at + 2)) lost.push(at - lost.length);
  const offset = (at: number): number => {
    let low = 0;
    let high = lost.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((lost[middle] ?? 0) < at) low = middle + 1;
      else high = middle;
    }
    return at + low;
  };
  return { text: text.replaceAll("\r\n", "\n"), offset };
}

/** Offsets of a part; `step` 1 also finds overlapping ones. */
function occurrences(text: string, part: string, step: number): number[] {
  const found: number[] = [];
  if (part === "") return found;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + step)) found.push(at);
  return found;
}

function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf("\n", offset - 1) + 1;
}

/** The lines of ascending offsets, from 1. */
function linesAt(text: string, offsets: readonly number[]): number[] {
  let line = 1;
  let end = text.indexOf("\n");
  return offsets.map((offset) => {
    for (; end !== -1 && end < offset; end = text.indexOf("\n", end + 1)) line++;
    return line;
  });
}

function finish(before: string, text: string, lines: readonly number[], tolerance: string | null): EditOutcome {
  if (text === before) return { ok: false, problem: "The file already has this content; there is nothing to change." };
  return { ok: true, text, count: lines.length, lines, tolerance };
}

function withTolerance(one: string, other: string | null): string {
  return other === null ? one : `${one} and ${other}`;
}

function ambiguous(lines: readonly number[], tolerance: string | null): EditOutcome {
  const shown = lines.slice(0, 20).join(", ") + (lines.length > 20 ? ", …" : "");
  const how = tolerance === null ? "" : ` (not minding ${tolerance})`;
  return {
    ok: false,
    problem: `old_text matches ${lines.length} places${how}, lines ${shown}. Nothing was changed. Add lines around it until it is unique, or set replace_all.`,
  };
}

function foreignIndent(fileLines: readonly string[], place: Place): EditOutcome {
  const line = (place.at[0] ?? 0) + 1;
  return {
    ok: false,
    problem: `old_text stands at line ${line}, but indented otherwise, and how new_text is to be indented there cannot be determined. Nothing was changed.${nearestBlock(
      fileLines.map(bareLine),
      place.at.map((row) => bareLine(fileLines[row] ?? "")),
    )}`,
  };
}

function notFound(fileLines: readonly string[], oldLines: readonly string[], hint: string): EditOutcome {
  return { ok: false, problem: `old_text is not in the file. Nothing was changed.${hint}${nearestBlock(fileLines, oldLines)}` };
}
