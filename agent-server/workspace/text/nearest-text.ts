import { cutLine } from "./output-bounds.ts";
import { foldLine } from "./text-folding.ts";
import { bareLine } from "./lines.ts";

const maxCompared = 20_000;
const maxShown = 14;
/** Number of requested lines to search for, longest first, and of candidates per line. */
const maxAnchors = 5;
const maxPlaces = 20;
const maxLines = 100;
/** Minimum characters of a line for an exact search. */
const minAnchor = 12;
/** Below this likeness, lines count as different. */
const alike = 0.45;

/** Characters of a long line shown on each side of a difference. */
const around = 60;
/** Characters of the requested text to search for in lines that are too long to compare. */
const partLength = 24;

/** Describes the lines of a file that are most similar to the requested ones, and the first difference. */
export function nearestBlock(fileLines: readonly string[], wanted: readonly string[]): string {
  const at = bestStart(fileLines, wanted);
  if (at === null) return nearestPart(fileLines, wanted);
  const from = Math.max(0, at - 1);
  const to = Math.min(fileLines.length, from + Math.min(wanted.length + 2, maxShown));
  const shown = fileLines.slice(from, to).map((line, index) => `${from + index + 1}\t${cutLine(bareLine(line), 200)}`);
  return ` The nearest text is:\n${shown.join("\n")}\n${firstDifference(fileLines, at, wanted)}Copy old_text from there exactly.`;
}

/** A sentence about the first line that differs, ignoring blank lines; empty when only those differ. */
function firstDifference(fileLines: readonly string[], start: number, wanted: readonly string[]): string {
  let row = start;
  for (const line of wanted) {
    if (line.trim() === "") continue;
    while (row < fileLines.length && (fileLines[row] ?? "").trim() === "") row++;
    const there = bareLine(fileLines[row] ?? "");
    row++;
    if (there === line || there.trim() === line.trim()) continue;
    if (row > fileLines.length) return "old_text continues after the end of the file. ";
    if (foldLine(there) === foldLine(line)) return `Line ${row} differs only in whitespace or quotes. `;
    const [mine, theirs] = differingParts(line.trim(), there.trim());
    return `Line ${row} has ${JSON.stringify(theirs)}, old_text has ${JSON.stringify(mine)}. `;
  }
  return "It differs only in whitespace or indentation. ";
}

/** Excerpts of two texts, starting shortly before their first difference. */
function differingParts(mine: string, theirs: string): [string, string] {
  let at = 0;
  while (at < mine.length && mine[at] === theirs[at]) at++;
  const from = Math.max(0, at - around / 3);
  const cut = (text: string) => (from > 0 ? "…" : "") + text.slice(from, at + around) + (text.length > at + around ? "…" : "");
  return [cut(mine), cut(theirs)];
}

/** The same within one long line, as in minified files: shows where part of the requested text occurs, if it occurs once. */
function nearestPart(fileLines: readonly string[], wanted: readonly string[]): string {
  const line = wanted.toSorted((a, b) => b.length - a.length)[0]?.trim() ?? "";
  for (let at = 0; at + partLength <= Math.min(line.length, 2_000); at += partLength / 2) {
    const part = line.slice(at, at + partLength);
    const rows = [...fileLines.keys()].filter((row) => fileLines[row]?.includes(part));
    const [row] = rows;
    const text = fileLines[row ?? 0] ?? "";
    const column = text.indexOf(part);
    if (row === undefined || rows.length > 1 || text.includes(part, column + 1)) continue;
    const from = Math.max(0, column - at - around);
    return ` Part of it is in line ${row + 1}, which contains:\n…${text.slice(from, column - at + line.length + around).slice(0, 400)}…\nCopy old_text from there exactly.`;
  }
  return " The file contains nothing similar; read the file again.";
}

/**
 * Finds the position where the requested lines match best. Exact matches count most, then long lines, because short ones (`}`, `/**`)
 * occur everywhere.
 * @returns the line index that corresponds to the first requested line
 */
function bestStart(fileLines: readonly string[], wanted: readonly string[]): number | null {
  const file = fileLines.map((line) => line.trim().slice(0, 300));
  const lines = wanted.slice(0, maxLines).map((line) => line.trim().slice(0, 300));
  const anchors = [...lines.keys()].filter((index) => lines[index] !== "").sort((a, b) => lengthAt(lines, b) - lengthAt(lines, a) || a - b);
  const wantedPairs = lines.map(pairs);
  const known = new Map<number, Set<string>>();
  const pairsAt = (place: number): Set<string> => {
    const found = known.get(place) ?? pairs(file[place] ?? "");
    known.set(place, found);
    return found;
  };
  const likenessAt = (index: number, place: number): number =>
    lines[index] === file[place] ? 1 : likeness(wantedPairs[index] ?? new Set(), pairsAt(place));
  const bestOf = (starts: Iterable<number>): number | null => {
    let best: { start: number; score: number } | null = null;
    for (const start of new Set(starts)) {
      const score = lines.reduce((sum, line, index) => sum + line.length * likenessAt(index, start + index), 0);
      if (best === null || score > best.score) best = { start, score };
    }
    return best === null ? null : Math.max(0, best.start);
  };

  const rows = Map.groupBy(file.keys(), (place) => file[place] ?? "");
  const exact = anchors
    .filter((anchor) => lengthAt(lines, anchor) >= minAnchor)
    .flatMap((anchor) => {
      const places = rows.get(lines[anchor] ?? "") ?? [];
      return places.length > maxPlaces ? [] : places.map((place) => place - anchor);
    });
  if (exact.length > 0) return bestOf(exact.slice(0, maxAnchors * maxPlaces));
  for (const anchor of anchors.slice(0, maxAnchors)) {
    const places = [...file.keys()]
      .slice(0, maxCompared)
      .map((place) => ({ place, score: likenessAt(anchor, place) }))
      .filter(({ score }) => score > alike)
      .sort((a, b) => b.score - a.score || a.place - b.place)
      .slice(0, maxPlaces);
    const best = bestOf(places.map(({ place }) => place - anchor));
    if (best !== null) return best;
  }
  return null;
}

function lengthAt(lines: readonly string[], index: number): number {
  return lines[index]?.length ?? 0;
}

function pairs(line: string): Set<string> {
  const found = new Set<string>();
  for (let index = 0; index + 1 < line.length; index++) found.add(line.slice(index, index + 2));
  return found;
}

/** Dice coefficient of character pairs; a line that contains most of the requested text counts as much as a similar one. */
function likeness(wanted: ReadonlySet<string>, line: ReadonlySet<string>): number {
  if (wanted.size === 0 || line.size === 0) return 0;
  let shared = 0;
  for (const pair of wanted) if (line.has(pair)) shared++;
  const held = shared / wanted.size;
  return Math.max((2 * shared) / (wanted.size + line.size), held >= 0.75 ? held * 0.95 : 0);
}
