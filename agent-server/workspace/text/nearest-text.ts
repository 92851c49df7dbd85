import { cutLine } from "./output-bounds.ts";
import { foldLine } from "./text-folding.ts";
import { bareLine } from "./lines.ts";

const maxCompared = 20_000;
const maxShown = 14;
/** Lines of the wanted text that are looked for, the longest first, and places that are tried for each. */
const maxAnchors = 5;
const maxPlaces = 20;
const maxLines = 100;
/** Letters of a line that say enough to look for it word for word. */
const minAnchor = 12;
/** Below this a line is not like another. */
const alike = 0.45;

/** Letters of a long line shown on each side of what is told about. */
const around = 60;
/** Letters of the wanted text that are looked for in lines too long to be compared as a whole. */
const partLength = 24;

/** Words with the lines of a file most like the wanted ones, and what differs there first. */
export function nearestBlock(fileLines: readonly string[], wanted: readonly string[]): string {
  const at = bestStart(fileLines, wanted);
  if (at === null) return nearestPart(fileLines, wanted);
  const from = Math.max(0, at - 1);
  const to = Math.min(fileLines.length, from + Math.min(wanted.length + 2, maxShown));
  const shown = fileLines.slice(from, to).map((line, index) => `${from + index + 1}\t${cutLine(bareLine(line), 200)}`);
  return ` The nearest text is:\n${shown.join("\n")}\n${firstDifference(fileLines, at, wanted)}Take old_text from there, exactly.`;
}

/** A sentence about the first line that is not as it was wanted, blank lines aside; empty when only those differ. */
function firstDifference(fileLines: readonly string[], start: number, wanted: readonly string[]): string {
  let row = start;
  for (const line of wanted) {
    if (line.trim() === "") continue;
    while (row < fileLines.length && (fileLines[row] ?? "").trim() === "") row++;
    const there = bareLine(fileLines[row] ?? "");
    row++;
    if (there === line || there.trim() === line.trim()) continue;
    if (row > fileLines.length) return "old_text goes on where the file ends. ";
    if (foldLine(there) === foldLine(line)) return `Line ${row} differs in blanks or quotes only. `;
    const [mine, theirs] = differingParts(line.trim(), there.trim());
    return `Line ${row} has ${JSON.stringify(theirs)}, old_text has ${JSON.stringify(mine)}. `;
  }
  return "It differs in blanks, or in how deep lines are indented, only. ";
}

/** Two texts from shortly before they differ on. */
function differingParts(mine: string, theirs: string): [string, string] {
  let at = 0;
  while (at < mine.length && mine[at] === theirs[at]) at++;
  const from = Math.max(0, at - around / 3);
  const cut = (text: string) => (from > 0 ? "…" : "") + text.slice(from, at + around) + (text.length > at + around ? "…" : "");
  return [cut(mine), cut(theirs)];
}

/** The same within one long line, as minified files have them: where a piece of the wanted text stands, and only there. */
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
    return ` Part of it is in line ${row + 1}, which reads there:\n…${text.slice(from, column - at + line.length + around).slice(0, 400)}…\nTake old_text from there, exactly.`;
  }
  return " Nothing in the file is like it; read the file again.";
}

/**
 * Where the wanted lines are found most alike. Lines that are there word for word lead, then long ones: short ones (`}`, `/**`)
 * stand everywhere and say nothing.
 * @returns the index of the line where the first wanted one would stand
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

/** Dice coefficient of two sets of letter pairs; a line that holds most of the wanted text counts as much as one like it. */
function likeness(wanted: ReadonlySet<string>, line: ReadonlySet<string>): number {
  if (wanted.size === 0 || line.size === 0) return 0;
  let shared = 0;
  for (const pair of wanted) if (line.has(pair)) shared++;
  const held = shared / wanted.size;
  return Math.max((2 * shared) / (wanted.size + line.size), held >= 0.75 ? held * 0.95 : 0);
}
