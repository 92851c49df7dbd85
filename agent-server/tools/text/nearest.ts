import { cutLine } from "./bounds.ts";
import { bareLine } from "./lines.ts";

const maxCompared = 20_000;
const maxShown = 14;
/** Lines of the wanted text that are looked for, the longest first, and places that are tried for each. */
const maxAnchors = 5;
const maxPlaces = 20;
const maxLines = 100;
/** Below this a line is not like another. */
const alike = 0.45;

/** Words with the lines of a file most like the wanted ones; empty when nothing is like them. */
export function nearestBlock(fileLines: readonly string[], wanted: readonly string[]): string {
  const at = bestStart(fileLines, wanted);
  if (at === null) return " Nothing in the file is like it; read the file again.";
  const from = Math.max(0, at - 1);
  const to = Math.min(fileLines.length, from + Math.min(wanted.length + 2, maxShown));
  const shown = fileLines.slice(from, to).map((line, index) => `${from + index + 1}\t${cutLine(bareLine(line), 200)}`);
  return ` The nearest text is:\n${shown.join("\n")}\nTake old_text from there, exactly.`;
}

/**
 * Where the wanted lines are found most alike. Long lines lead: short ones (`}`, `/**`) stand everywhere and say nothing.
 * @returns the index of the line where the first wanted one would stand
 */
function bestStart(fileLines: readonly string[], wanted: readonly string[]): number | null {
  const file = fileLines.slice(0, maxCompared).map((line) => line.trim().slice(0, 300));
  const lines = wanted.slice(0, maxLines).map((line) => line.trim().slice(0, 300));
  const anchors = [...lines.keys()].filter((index) => lines[index] !== "").sort((a, b) => lengthAt(lines, b) - lengthAt(lines, a) || a - b);
  const filePairs = file.map(pairs);
  const wantedPairs = lines.map(pairs);
  const likenessAt = (index: number, place: number): number =>
    lines[index] === file[place] ? 1 : likeness(wantedPairs[index] ?? new Set(), filePairs[place] ?? new Set());

  for (const anchor of anchors.slice(0, maxAnchors)) {
    const places = file
      .map((_, place) => ({ place, score: likenessAt(anchor, place) }))
      .filter(({ score }) => score > alike)
      .sort((a, b) => b.score - a.score || a.place - b.place)
      .slice(0, maxPlaces);
    let best: { start: number; score: number } | null = null;
    for (const { place } of places) {
      const start = place - anchor;
      const score = lines.reduce((sum, line, index) => sum + line.length * likenessAt(index, start + index), 0);
      if (best === null || score > best.score) best = { start, score };
    }
    if (best !== null) return Math.max(0, best.start);
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
