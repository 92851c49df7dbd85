import { cutLine } from "./bounds.ts";
import { bareLine } from "./lines.ts";

const maxCompared = 20_000;
const maxShown = 14;

/** Words with the lines of a file most like the wanted ones; empty when nothing is like them. */
export function nearestBlock(fileLines: readonly string[], wanted: readonly string[]): string {
  const at = bestStart(fileLines, wanted);
  if (at === null) return " Nothing in the file is like it; read the file again.";
  const from = Math.max(0, at - 1);
  const to = Math.min(fileLines.length, from + Math.min(wanted.length + 2, maxShown));
  const shown = fileLines.slice(from, to).map((line, index) => `${from + index + 1}\t${cutLine(bareLine(line), 200)}`);
  return ` The nearest text is:\n${shown.join("\n")}\nTake old_text from there, exactly.`;
}

/** Where most wanted lines stand at their place; else the line most like the first wanted one. */
function bestStart(fileLines: readonly string[], wanted: readonly string[]): number | null {
  const positions = new Map<string, number[]>();
  fileLines.slice(0, maxCompared).forEach((line, index) => {
    const key = line.trim();
    if (key.length < 3) return;
    const list = positions.get(key);
    if (list === undefined) positions.set(key, [index]);
    else if (list.length < 50) list.push(index);
  });
  const votes = new Map<number, number>();
  wanted.slice(0, 500).forEach((line, index) => {
    for (const position of positions.get(line.trim()) ?? []) {
      const start = Math.max(0, position - index);
      votes.set(start, (votes.get(start) ?? 0) + 1);
    }
  });
  const voted = [...votes].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0];
  if (voted !== undefined) return voted[0];
  const first = wanted.find((line) => line.trim() !== "")?.trim();
  if (first === undefined) return null;
  const wantedPairs = pairs(first);
  let best = { at: -1, score: 0.45 };
  fileLines.slice(0, maxCompared).forEach((line, index) => {
    const score = likeness(wantedPairs, pairs(line.trim().slice(0, 300)));
    if (score > best.score) best = { at: index, score };
  });
  return best.at === -1 ? null : best.at;
}

function pairs(line: string): Set<string> {
  const found = new Set<string>();
  for (let index = 0; index + 1 < line.length; index++) found.add(line.slice(index, index + 2));
  return found;
}

/** Dice coefficient of two sets of letter pairs. */
function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0 || b.size === 0) return 0;
  let shared = 0;
  for (const pair of a) if (b.has(pair)) shared++;
  return (2 * shared) / (a.size + b.size);
}
