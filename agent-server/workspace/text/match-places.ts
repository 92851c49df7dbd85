import { foldLine } from "./text-folding.ts";

/** A place of a file that reads like the wanted lines, blank lines and folding aside. */
export interface Place {
  /** For each wanted line that is not blank, the index of the file's line that stands for it. */
  readonly at: readonly number[];
  readonly level: Level;
}

/** What has to be overlooked for a place to fit, from little to much; `shape`: the indentation tells another structure. */
export const levels = ["line ends", "indentation", "blank lines", "marks", "shape"] as const;
export type Level = (typeof levels)[number];

/** A line of wanted text that is not blank, and how many blank ones stand right before it. */
export interface Line {
  readonly text: string;
  readonly blanksBefore: number;
}

/** The lines of a text that are not blank, and the blank ones after the last of them. */
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

/** Every place where the wanted lines stand one after the other, overlapping ones among them. */
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

/** How many blank lines stand right before or after a line. */
export function blankRun(file: readonly string[], row: number, step: 1 | -1): number {
  let count = 0;
  for (let at = row + step; at >= 0 && at < file.length && (file[at] ?? "").trim() === ""; at += step) count++;
  return count;
}

/**
 * True when the lines are indented in the file as they are in the wanted text, in whatever way that is written: equally where
 * equally, deeper where deeper. The first wanted line may have lost its indentation, as one does that is copied from its first letter.
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
      // Along the lines is enough to tell nesting; all pairs would take too long for long texts.
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
