import { foldLine } from "./text-folding.ts";

/** A place in the file that matches the requested lines, ignoring blank lines and folded differences. */
export interface Place {
  /** For each requested non-blank line, the index of the matching line in the file. */
  readonly at: readonly number[];
  readonly level: Level;
}

/** Tolerances a match needs, in increasing order; `shape`: the indentation implies a different structure. */
export const levels = ["line ends", "indentation", "blank lines", "marks", "shape"] as const;
export type Level = (typeof levels)[number];

/** A non-blank requested line, with the number of blank lines before it. */
export interface Line {
  readonly text: string;
  readonly blanksBefore: number;
}

/** The non-blank lines of a text, and the number of blank lines after the last one. */
export function solidLines(lines: readonly string[]): { solid: Line[]; blanksAfter: number } {
  const solid: Line[] = [];
  let blanks = 0;
  for (const text of lines) {
    if (text.trim() === "") blanks++;
    else {
      solid.push({ text, blanksBefore: blanks });
      blanks = 0;
    }
  }
  return { solid, blanksAfter: blanks };
}

/** Every place where the requested lines match in sequence, including overlapping ones. */
export function findPlaces(fileLines: readonly string[], wanted: readonly string[]): Place[] {
  const { solid, blanksAfter } = solidLines(wanted);
  if (!solid.some(({ text }) => /[\p{L}\p{N}]/u.test(text))) return [];
  const keys = solid.map(({ text }) => foldLine(text));
  const rows = [...fileLines.keys()].filter((row) => (fileLines[row] ?? "").trim() !== "");
  const fileKeys = rows.map((row) => foldLine(fileLines[row] ?? ""));
  const places: Place[] = [];
  for (let start = 0; start + keys.length <= rows.length; start++) {
    if (!keys.every((key, index) => key === fileKeys[start + index])) continue;
    const at = rows.slice(start, start + keys.length);
    places.push({ at, level: levelOf(fileLines, at, solid, blanksAfter) });
  }
  return places;
}

function levelOf(file: readonly string[], at: readonly number[], solid: readonly Line[], blanksAfter: number): Level {
  const lines = at.map((row) => file[row] ?? "");
  if (!sameShape(lines, solid)) return "shape";
  if (!solid.every(({ text }, index) => text.trim() === lines[index]?.trim())) return "marks";
  const evenly = solid.every(({ blanksBefore }, index) => {
    const before = blankRun(file, at[index] ?? 0, -1);
    return index === 0 ? before >= blanksBefore : before === blanksBefore;
  });
  if (!evenly || blankRun(file, at.at(-1) ?? 0, 1) < blanksAfter) return "blank lines";
  return solid.every(({ text }, index) => text.trimEnd() === lines[index]?.trimEnd()) ? "line ends" : "indentation";
}

/** Number of blank lines directly before or after a line. */
export function blankRun(file: readonly string[], row: number, step: 1 | -1): number {
  let count = 0;
  for (let at = row + step; at >= 0 && at < file.length && (file[at] ?? "").trim() === ""; at += step) count++;
  return count;
}

/**
 * True when the file's lines have the same relative indentation as the requested text, in any style: equal where it is equal, deeper where
 * it is deeper. The first requested line may lack its indentation, as in text copied from its first character.
 */
function sameShape(lines: readonly string[], solid: readonly Line[]): boolean {
  const wanted = solid.map(({ text }) => indentOf(text));
  const found = lines.map(indentOf);
  if (sameOrder(found, wanted) || isMapping(found, wanted)) return true;
  const lost = wanted[0] === "" && found[0] !== "";
  return lost && (sameOrder(found.slice(1), wanted.slice(1)) || isMapping(found.slice(1), wanted.slice(1)));
}

function isMapping(found: readonly string[], wanted: readonly string[]): boolean {
  const map = new Map<string, string>();
  return wanted.every((indent, index) => {
    const to = found[index] ?? "";
    const known = map.get(indent) ?? to;
    map.set(indent, to);
    return known === to;
  });
}

function sameOrder(found: readonly string[], wanted: readonly string[]): boolean {
  const tabs = [2, 4, 8];
  return tabs.some((left) =>
    tabs.some((right) => {
      const a = found.map((indent) => columns(indent, left));
      const b = wanted.map((indent) => columns(indent, right));
      // Comparing adjacent lines is enough to determine nesting; all pairs would be too slow for long texts.
      return a.every(
        (column, index) => index === 0 || Math.sign(column - (a[index - 1] ?? 0)) === Math.sign((b[index] ?? 0) - (b[index - 1] ?? 0)),
      );
    }),
  );
}

function columns(indent: string, tab: number): number {
  let column = 0;
  for (const one of indent) column = one === "\t" ? column - (column % tab) + tab : column + 1;
  return column;
}

export function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}
