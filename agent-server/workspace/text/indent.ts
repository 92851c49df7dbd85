import { indentOf } from "./match-places.ts";

/** Indentation of one line of the requested text, and of the matching line in the file. */
export interface IndentPair {
  readonly wanted: string;
  readonly found: string;
}

/** One indentation level, in the requested text and in the file. */
interface Step {
  readonly wanted: string;
  readonly found: string;
}

/** The texts whose indentation levels are compared: the file, and each part of the request. */
interface Texts {
  readonly file: readonly string[];
  readonly wanted: readonly (readonly string[])[];
}

/** Returns the file's indentation for a new line near the pair `near`; null when it cannot be determined. */
export type CarryIndent = (indent: string, near: number, first: boolean) => string | null;

/**
 * Converts the indentation of new lines to the file's style.
 * @param pairs for the lines of the old text, in order; the new lines are among them.
 */
export function carryIndent(pairs: readonly IndentPair[], texts: Texts): CarryIndent {
  if (pairs.every(({ wanted, found }) => wanted === found)) return (indent) => indent;
  const whole = reading(pairs, 0, texts);
  // Text copied from its first non-blank character lacks only its first line's indentation.
  if (pairs.length < 2 || pairs[0]?.wanted !== "" || pairs[0].found === "") return whole.carry;
  const rest = reading(pairs.slice(1), 1, { ...texts, wanted: texts.wanted.map((part) => part.slice(1)) });
  const lost: CarryIndent = (indent, near, first) => (first && indent === "" ? (pairs[0]?.found ?? "") : rest.carry(indent, near, first));
  if (!rest.fits) return whole.carry;
  if (!whole.fits) return lost;
  const written = unitOf(texts.wanted.map((part) => part.slice(1)));
  if (written !== null && written === unitOf([texts.file])) return lost;
  if (written !== null && written === whole.step?.wanted) return whole.carry;
  return (indent, near, first) => {
    const one = lost(indent, near, first);
    return one === whole.carry(indent, near, first) ? one : null;
  };
}

/** One interpretation of the pairs; `fits` when it explains all of them. */
function reading(pairs: readonly IndentPair[], from: number, texts: Texts): { carry: CarryIndent; fits: boolean; step: Step | null } {
  const step = stepOf(pairs, texts);
  const all = pairs.map((pair, index) => [pair, index + from] as const);
  const carry: CarryIndent = (indent, near) => {
    const nearest = (candidates: readonly (readonly [IndentPair, number])[]): IndentPair | undefined =>
      candidates.toSorted(([, a], [, b]) => Math.abs(a - near) - Math.abs(b - near))[0]?.[0];
    const same = nearest(all.filter(([{ wanted }]) => wanted === indent));
    if (same !== undefined) return same.found;
    if (step !== null) {
      const { steps, rest } = depth(indent, step.wanted);
      const alike = all.filter(([{ wanted }]) => depth(wanted, step.wanted).rest === rest);
      const by = nearest(alike.length > 0 ? alike : all);
      return by === undefined ? null : moved(by, steps, rest, step);
    }
    // The block was shifted as a whole: differences in depth are the same in the file.
    const by = nearest(longestOf(all.filter(([{ wanted }]) => indent.startsWith(wanted))));
    if (by !== undefined) {
      const more = indent.slice(by.wanted.length);
      return by.found === "" || Array.from(more).every((one) => by.found.includes(one)) ? by.found + more : null;
    }
    const inner = nearest(longestOf(all.filter(([{ wanted }]) => wanted.startsWith(indent))));
    const less = inner?.wanted.slice(indent.length) ?? "";
    return inner?.found.endsWith(less) === true ? inner.found.slice(0, inner.found.length - less.length) : null;
  };
  const [first] = pairs;
  const fits = pairs.every((pair) => {
    if (first === undefined) return false;
    if (step === null) return pair.found.length - pair.wanted.length === first.found.length - first.wanted.length;
    const { steps, rest } = depth(pair.wanted, step.wanted);
    return isUnit(step.wanted) && isUnit(step.found) && moved(first, steps, rest, step) === pair.found;
  });
  return { carry, fits, step };
}

function longestOf(pairs: readonly (readonly [IndentPair, number])[]): (readonly [IndentPair, number])[] {
  const longest = Math.max(...pairs.map(([{ wanted }]) => wanted.length));
  return pairs.filter(([{ wanted }]) => wanted.length === longest);
}

/** The file's indentation of a pair, shifted by some levels. Remaining spaces follow the levels. */
function moved({ wanted, found }: IndentPair, steps: number, rest: string, step: Step): string | null {
  const of = depth(wanted, step.wanted);
  if (!/^ *$/.test(rest) || !found.endsWith(of.rest)) return null;
  const body = found.slice(0, found.length - of.rest.length);
  const more = steps - of.steps;
  if (more >= 0) return body + step.found.repeat(more) + rest;
  const less = step.found.repeat(-more);
  return body.endsWith(less) ? body.slice(0, body.length - less.length) + rest : null;
}

/** The level by which the pairs differ; otherwise the levels of the two texts. */
function stepOf(pairs: readonly IndentPair[], { file, wanted }: Texts): Step | null {
  for (let index = 1; index < pairs.length; index++) {
    const [a, b] = [pairs[index - 1], pairs[index]].toSorted((x, y) => (x?.wanted.length ?? 0) - (y?.wanted.length ?? 0));
    if (a === undefined || b === undefined || a.wanted === b.wanted) continue;
    if (!b.wanted.startsWith(a.wanted) || !b.found.startsWith(a.found) || a.found === b.found) continue;
    const step = { wanted: b.wanted.slice(a.wanted.length), found: b.found.slice(a.found.length) };
    if (step.wanted !== step.found) return reduced(step);
    // One extra space in both, as before the star of a comment, is no level; more is the same level in both.
    if (step.wanted !== " ") return null;
  }
  const found = unitOf([file]);
  const written = unitOf(wanted);
  // With the same number of levels in both, each has its own style; otherwise the block was shifted and has the file's style.
  if (found !== null && written !== null && found !== written)
    for (const pair of pairs) if (sameDepth(pair, { wanted: written, found })) return { wanted: written, found };
  return stepOfForeign(pairs);
}

/** Tabs instead of spaces, or the reverse, at only one depth. */
function stepOfForeign(pairs: readonly IndentPair[]): Step | null {
  const foreign = pairs.find(
    ({ wanted, found }) => wanted !== "" && found !== "" && wanted[0] !== found[0] && !wanted.endsWith(found) && !found.endsWith(wanted),
  );
  if (foreign === undefined) return null;
  const star = /\t( +)$/.exec(foreign.wanted)?.[1] ?? /\t( +)$/.exec(foreign.found)?.[1] ?? "";
  const bare = (indent: string) => (indent.endsWith(star) ? indent.slice(0, indent.length - star.length) : indent);
  return reduced({ wanted: bare(foreign.wanted), found: bare(foreign.found) });
}

/** True when both sides have the same number of levels above zero; the space before the star of a comment does not count. */
function sameDepth(pair: IndentPair, step: Step): boolean {
  const [wanted, found] = [depth(pair.wanted, step.wanted), depth(pair.found, step.found)];
  return wanted.steps > 0 && wanted.steps === found.steps && wanted.rest === found.rest;
}

function depth(indent: string, step: string): { steps: number; rest: string } {
  let steps = 0;
  let rest = indent;
  for (; rest.startsWith(step); steps++) rest = rest.slice(step.length);
  return { steps, rest };
}

/** The same in the smallest units; a level of spaces has at least two. */
function reduced({ wanted, found }: Step): Step {
  for (let parts = divisor(wanted.length, found.length); parts > 1; parts--) {
    const step = { wanted: wanted.slice(0, wanted.length / parts), found: found.slice(0, found.length / parts) };
    const whole = step.wanted.repeat(parts) === wanted && step.found.repeat(parts) === found;
    if (whole && isUnit(step.wanted) && isUnit(step.found)) return step;
  }
  return { wanted, found };
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}

function isUnit(indent: string): boolean {
  return /^(?:\t+| {2,8})$/.test(indent);
}

/** The indentation unit of texts: the most frequent difference between a line and the one above it. */
function unitOf(texts: readonly (readonly string[])[]): string | null {
  const counts = new Map<string, number>();
  for (const lines of texts) {
    // The depth of the first line says nothing about the unit.
    let above: string | null = null;
    for (const line of lines.slice(0, 4000)) {
      if (line.trim() === "") continue;
      const indent = indentOf(line);
      const more = above !== null && indent.startsWith(above) ? indent.slice(above.length) : "";
      if (isUnit(more)) counts.set(more, (counts.get(more) ?? 0) + 1);
      above = indent;
    }
  }
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? null;
}
