import { indentOf } from "./match-places.ts";

/** How one line of the wanted text is indented, and how the file's line that stands for it is. */
export interface IndentPair {
  readonly wanted: string;
  readonly found: string;
}

/** One step deeper, as the wanted text writes it and as the file does. */
interface Step {
  readonly wanted: string;
  readonly found: string;
}

/** The texts whose steps are compared: the file, and what was given for it, each part by itself. */
interface Texts {
  readonly file: readonly string[];
  readonly wanted: readonly (readonly string[])[];
}

/** Says how a new line near the pair `near` is indented in the file; null when that cannot be told. */
export type CarryIndent = (indent: string, near: number, first: boolean) => string | null;

/**
 * Carries the indentation of new lines over to the file's way of writing it.
 * @param pairs for the lines of the old text, in order; the new lines lie among them.
 */
export function carryIndent(pairs: readonly IndentPair[], texts: Texts): CarryIndent {
  if (pairs.every(({ wanted, found }) => wanted === found)) return (indent) => indent;
  const whole = reading(pairs, 0, texts);
  // A text copied from its first letter on lacks the indentation of its first line alone.
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

/** One way to understand the pairs; `fits` when it explains them all. */
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
    // Moved as a whole: what is deeper by some blanks, or less deep, is so in the file too.
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

/** The file's indentation of a pair, taken some steps further in or out. Blanks that make no step come after the steps. */
function moved({ wanted, found }: IndentPair, steps: number, rest: string, step: Step): string | null {
  const of = depth(wanted, step.wanted);
  if (!/^ *$/.test(rest) || !found.endsWith(of.rest)) return null;
  const body = found.slice(0, found.length - of.rest.length);
  const more = steps - of.steps;
  if (more >= 0) return body + step.found.repeat(more) + rest;
  const less = step.found.repeat(-more);
  return body.endsWith(less) ? body.slice(0, body.length - less.length) + rest : null;
}

/** The step that the pairs differ by, else those the two texts are indented by. */
function stepOf(pairs: readonly IndentPair[], { file, wanted }: Texts): Step | null {
  for (let index = 1; index < pairs.length; index++) {
    const [a, b] = [pairs[index - 1], pairs[index]].toSorted((x, y) => (x?.wanted.length ?? 0) - (y?.wanted.length ?? 0));
    if (a === undefined || b === undefined || a.wanted === b.wanted) continue;
    if (!b.wanted.startsWith(a.wanted) || !b.found.startsWith(a.found) || a.found === b.found) continue;
    const step = { wanted: b.wanted.slice(a.wanted.length), found: b.found.slice(a.found.length) };
    if (step.wanted !== step.found) return reduced(step);
    // A blank more in both, as before the star of a comment, is no step; more than that is the same step in both.
    if (step.wanted !== " ") return null;
  }
  const found = unitOf([file]);
  const written = unitOf(wanted);
  // As many steps deep in both, each by steps of its own; otherwise the block was moved as a whole and its steps are the file's.
  if (found !== null && written !== null && found !== written)
    for (const pair of pairs) if (sameDepth(pair, { wanted: written, found })) return { wanted: written, found };
  return stepOfForeign(pairs);
}

/** Tabs for blanks, or the other way round, at one depth alone. */
function stepOfForeign(pairs: readonly IndentPair[]): Step | null {
  const foreign = pairs.find(
    ({ wanted, found }) => wanted !== "" && found !== "" && wanted[0] !== found[0] && !wanted.endsWith(found) && !found.endsWith(wanted),
  );
  if (foreign === undefined) return null;
  const star = /\t( +)$/.exec(foreign.wanted)?.[1] ?? /\t( +)$/.exec(foreign.found)?.[1] ?? "";
  const bare = (indent: string) => (indent.endsWith(star) ? indent.slice(0, indent.length - star.length) : indent);
  return reduced({ wanted: bare(foreign.wanted), found: bare(foreign.found) });
}

/** True when both sides are equally many steps deep, and not at the edge; the blank before the star of a comment does not count. */
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

/** The same in the smallest parts; of blanks alone at least two make a step. */
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

/** By what texts are indented one step deeper: what lines most often have more than the line above them. */
function unitOf(texts: readonly (readonly string[])[]): string | null {
  const counts = new Map<string, number>();
  for (const lines of texts) {
    // How deep the first line stands says nothing of steps.
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
