import { nearestBlock } from "./nearest.ts";
import { bareLine, mainEol, splitLines, withEol } from "./lines.ts";

export interface Replacement {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

export type EditOutcome =
  | {
      readonly ok: true;
      readonly text: string;
      /** Places replaced. */
      readonly count: number;
      /** 1-based first lines of them, in the old text. */
      readonly lines: readonly number[];
      /** Which tolerance it took; null for an exact match. */
      readonly tolerance: string | null;
    }
  | { readonly ok: false; readonly problem: string };

/**
 * Replaces `oldText`: exactly where it stands, else by whole lines with other line endings, trailing blanks or indentation.
 * Never guesses between places: more than one (without `replaceAll`) is an error that names them.
 */
export function replaceText(text: string, edit: Replacement): EditOutcome {
  if (edit.oldText === edit.newText) return { ok: false, problem: "old_text and new_text are the same: there is nothing to change." };
  const eol = mainEol(text);
  const newText = withEol(edit.newText, eol);
  for (const oldText of new Set([edit.oldText, withEol(edit.oldText, eol)])) {
    const found = occurrences(text, oldText);
    if (found.length === 0) continue;
    const lines = found.map((at) => lineAt(text, at));
    if (found.length > 1 && !edit.replaceAll) return ambiguous(lines, null);
    return finish(text, splice(text, found, oldText.length, newText), lines, null);
  }
  const fileLines = splitLines(text);
  const oldLines = wantedLines(edit.oldText);
  if (oldLines.every((line) => line.trim() === "")) return notFound(fileLines, oldLines);
  for (const rule of rules) {
    const places = findBlocks(fileLines, oldLines, rule.matches);
    if (places.length === 0) continue;
    const lines = places.map((at) => at + 1);
    if (places.length > 1 && !edit.replaceAll) return ambiguous(lines, rule.name);
    return finish(text, replaceBlocks(fileLines, oldLines, wantedLines(edit.newText), places, rule.reindents), lines, rule.name);
  }
  return notFound(fileLines, oldLines);
}

interface MatchRule {
  readonly name: string;
  readonly reindents: boolean;
  readonly matches: (file: readonly string[], wanted: readonly string[]) => boolean;
}

const rules: readonly MatchRule[] = [
  { name: "line endings", reindents: false, matches: (file, wanted) => wanted.every((line, index) => line === file[index]) },
  {
    name: "blanks at line ends",
    reindents: false,
    matches: (file, wanted) => wanted.every((line, index) => line.trimEnd() === file[index]?.trimEnd()),
  },
  { name: "indentation", reindents: true, matches: (file, wanted) => indentMap(file, wanted) !== null },
];

function findBlocks(fileLines: readonly string[], wanted: readonly string[], matches: MatchRule["matches"]): number[] {
  const bare = fileLines.map(bareLine);
  const first = wanted.findIndex((line) => line.trim() !== "");
  const anchor = wanted[first]?.trim();
  const found: number[] = [];
  for (let at = 0; at + wanted.length <= bare.length; at++) {
    if (bare[at + first]?.trim() !== anchor) continue;
    if (!matches(bare.slice(at, at + wanted.length), wanted)) continue;
    found.push(at);
    at += wanted.length - 1;
  }
  return found;
}

function replaceBlocks(
  fileLines: readonly string[],
  oldLines: readonly string[],
  newLines: readonly string[],
  places: readonly number[],
  reindents: boolean,
): string {
  const eol = mainEol(fileLines.join(""));
  const result: string[] = [];
  let at = 0;
  for (const place of places) {
    result.push(...fileLines.slice(at, place));
    at = place + oldLines.length;
    const block = fileLines.slice(place, at);
    const indents = reindents ? indentMap(block.map(bareLine), oldLines) : null;
    const openEnded = block.at(-1)?.endsWith("\n") === false;
    newLines.forEach((line, index) => {
      const end = openEnded && index === newLines.length - 1 ? "" : eol;
      result.push((indents === null ? line : reindent(line, indents)) + end);
    });
  }
  result.push(...fileLines.slice(at));
  return result.join("");
}

/** Which indentation of the file stands for which of the wanted text; null unless every line agrees and the rest is equal. */
function indentMap(file: readonly string[], wanted: readonly string[]): Map<string, string> | null {
  const map = new Map<string, string>();
  for (const [index, line] of wanted.entries()) {
    const other = file[index];
    if (other === undefined || other.trim() !== line.trim()) return null;
    if (line.trim() === "") continue;
    const from = indentOf(line);
    const to = indentOf(other);
    if ((map.get(from) ?? to) !== to) return null;
    map.set(from, to);
  }
  return map;
}

function reindent(line: string, indents: ReadonlyMap<string, string>): string {
  if (line.trim() === "") return line.trim();
  const indent = indentOf(line);
  const rest = line.slice(indent.length);
  const known = indents.get(indent);
  if (known !== undefined) return known + rest;
  const shorter = [...indents.keys()].filter((key) => indent.startsWith(key)).sort((a, b) => b.length - a.length)[0];
  if (shorter !== undefined) return (indents.get(shorter) ?? "") + indent.slice(shorter.length) + rest;
  for (const [from, to] of indents) {
    const surplus = from.startsWith(indent) ? from.slice(indent.length) : null;
    if (surplus !== null && to.endsWith(surplus)) return to.slice(0, to.length - surplus.length) + rest;
  }
  return line;
}

function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

function wantedLines(text: string): string[] {
  return splitLines(text).map(bareLine);
}

function occurrences(text: string, part: string): number[] {
  const found: number[] = [];
  if (part === "") return found;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) found.push(at);
  return found;
}

function splice(text: string, places: readonly number[], length: number, by: string): string {
  let result = "";
  let at = 0;
  for (const place of places) {
    result += text.slice(at, place) + by;
    at = place + length;
  }
  return result + text.slice(at);
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line++;
  return line;
}

function finish(before: string, text: string, lines: readonly number[], tolerance: string | null): EditOutcome {
  if (text === before) return { ok: false, problem: "The file already reads like that: there is nothing to change." };
  return { ok: true, text, count: lines.length, lines, tolerance };
}

function ambiguous(lines: readonly number[], tolerance: string | null): EditOutcome {
  const shown = lines.slice(0, 20).join(", ") + (lines.length > 20 ? ", …" : "");
  const how = tolerance === null ? "" : ` (not minding ${tolerance})`;
  return {
    ok: false,
    problem: `old_text stands at ${lines.length} places${how}, lines ${shown}. Nothing was changed. Add lines around it until it is unique, or set replace_all.`,
  };
}

function notFound(fileLines: readonly string[], oldLines: readonly string[]): EditOutcome {
  const numbered = oldLines.length > 0 && oldLines.every((line) => line.trim() === "" || /^\s*\d+[\t|:]/.test(line));
  const hint = numbered ? " old_text seems to carry the line numbers of read_file: leave them out." : "";
  return { ok: false, problem: `old_text is not in the file. Nothing was changed.${hint}${nearestBlock(fileLines, oldLines)}` };
}
