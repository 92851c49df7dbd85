/** How a pattern is read. */
export interface WildcardRules {
  readonly ignoreCase?: boolean;
  /** For globs of paths: `*`, `?` and sets match no slash, `**` matches folders, and `{a,b}` either text. Otherwise as `find -path` does. */
  readonly paths?: boolean;
}

/**
 * Matches `*`, `?`, `[a-z]`, `[!a-z]` and `\`. The pattern becomes a state machine, all of whose states advance together, so the time is at most
 * pattern length times text length. Regular expressions of such patterns backtrack: a pattern or a file name can be made to take hours.
 */
export function wildcard(pattern: string, rules: WildcardRules = {}): (text: string) => boolean {
  const fold = (text: string): string => (rules.ignoreCase === true ? text.toLowerCase() : text);
  const states: State[] = [{ steps: [], free: [] }];
  const start = build(parse(Array.from(fold(pattern)), rules.paths === true), 0, states);
  const move = remembered(states);
  return (text) => {
    let position = move.start(start);
    for (const char of fold(text)) {
      position = move.next(position, char);
      if (position.at.length === 0) return false;
    }
    return position.at.includes(0);
  };
}

/** All states that the machine is in after some text, and where characters lead from there. */
interface Position {
  readonly at: readonly number[];
  readonly next: Map<string, Position>;
}

const maxPositions = 1_000;
const maxCharacters = 200;

/** Moves of the machine, kept: the next text takes one look per character. */
function remembered(states: readonly State[]) {
  const known = new Map<string, Position>();
  const positionOf = (from: readonly number[]): Position => {
    const at = [...reach(from, states)].toSorted((a, b) => a - b);
    const key = at.join();
    const position = known.get(key) ?? { at, next: new Map() };
    if (known.size >= maxPositions) known.clear();
    known.set(key, position);
    return position;
  };
  return {
    start: (state: number) => positionOf([state]),
    next(position: Position, char: string): Position {
      const found = position.next.get(char);
      if (found !== undefined) return found;
      const next = positionOf(position.at.flatMap((at) => (states[at]?.steps ?? []).filter(({ test }) => test(char)).map(({ to }) => to)));
      if (position.next.size < maxCharacters) position.next.set(char, next);
      return next;
    },
  };
}

type Test = (char: string) => boolean;
/** `folders` is any number of folders with their slashes; `below` is nothing, or a slash and anything. */
type Part = { kind: "one" | "many"; test: Test } | { kind: "folders" | "below" } | { kind: "either"; of: Part[][] };

interface State {
  readonly steps: { test: Test; to: number }[];
  /** States that are reached without a character. */
  readonly free: number[];
}

const everything: Test = () => true;
const slash: Test = (char) => char === "/";
const noSlash: Test = (char) => char !== "/";

function reach(from: readonly number[], states: readonly State[]): Set<number> {
  const reached = new Set(from);
  // A set visits what is added while it is read.
  for (const at of reached) for (const to of states[at]?.free ?? []) reached.add(to);
  return reached;
}

/** Adds the states of the parts. @returns the first of them; the last one leads to `next`. */
function build(parts: readonly Part[], next: number, states: State[]): number {
  const add = (state: State): number => states.push(state) - 1;
  return parts.reduceRight((after, part) => {
    switch (part.kind) {
      case "one":
        return add({ steps: [{ test: part.test, to: after }], free: [] });
      case "many":
        return add({ steps: [{ test: part.test, to: states.length }], free: [after] });
      case "folders": {
        const name: State = { steps: [], free: [] };
        const folder = add({ steps: [], free: [add(name), after] });
        name.steps.push({ test: noSlash, to: folder - 1 }, { test: slash, to: folder });
        return folder;
      }
      case "below":
        return add({
          steps: [{ test: slash, to: add({ steps: [{ test: everything, to: states.length }], free: [after] }) }],
          free: [after],
        });
      case "either":
        return add({ steps: [], free: part.of.map((one) => build(one, after, states)) });
    }
  }, next);
}

function parse(chars: readonly string[], paths: boolean): Part[] {
  const closing = paths ? closingBraces(chars) : new Map<number, number>();
  const within = paths ? noSlash : everything;
  const read = (from: number, end: number): Part[] => {
    const parts: Part[] = [];
    const one = (test: Test): void => void parts.push({ kind: "one", test });
    for (let at = from; at < end; at += 1) {
      const char = chars[at] ?? "";
      const close = closing.get(at);
      const set = setEnd(chars, at);
      if (close !== undefined) {
        parts.push({ kind: "either", of: alternatives(chars, at, close, closing).map(([first, last]) => read(first, last)) });
        at = close;
      } else if (paths && isWholeName(chars, at) && chars[at + 2] === "/") {
        parts.push({ kind: "folders" });
        at += 2;
      } else if (paths && isWholeName(chars, at)) {
        parts.push({ kind: "many", test: everything });
        at += 1;
      } else if (paths && char === "/" && isWholeName(chars, at + 1) && chars[at + 3] !== "/") {
        parts.push({ kind: "below" });
        at += 2;
      } else if (char === "*") parts.push({ kind: "many", test: within });
      else if (char === "?") one(within);
      else if (set !== null) {
        const negated = chars[at + 1] === "!" || chars[at + 1] === "^";
        const has = members(chars.slice(at + (negated ? 2 : 1), set));
        one((other) => has(other) !== negated && within(other));
        at = set;
      } else {
        const literal = char === "\\" && at + 1 < end ? (chars[(at += 1)] ?? char) : char;
        one((other) => other === literal);
      }
    }
    return parts;
  };
  return read(0, chars.length);
}

/** True when `**` is here, alone between slashes, commas or braces. */
function isWholeName(chars: readonly string[], at: number): boolean {
  const isEdge = (index: number, edges: string): boolean => chars[index] === undefined || edges.includes(chars[index]);
  return chars[at] === "*" && chars[at + 1] === "*" && isEdge(at - 1, "/{,") && isEdge(at + 2, "/},");
}

/** Where the set ends that begins here, or null. A leading `]` is a member of the set. */
function setEnd(chars: readonly string[], at: number): number | null {
  if (chars[at] !== "[") return null;
  const first = at + (chars[at + 1] === "!" || chars[at + 1] === "^" ? 2 : 1);
  const end = chars.indexOf("]", first + 1);
  return end === -1 ? null : end;
}

/** The position of `}` for each `{` that is closed and has a comma of its own; others are plain characters, as in a shell. */
function closingBraces(chars: readonly string[]): Map<number, number> {
  const found = new Map<number, number>();
  const open: { at: number; commas: number }[] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const last = open.at(-1);
    if (chars[at] === "\\") at += 1;
    else if (chars[at] === "[") at = setEnd(chars, at) ?? at;
    else if (chars[at] === "{") open.push({ at, commas: 0 });
    else if (chars[at] === "," && last !== undefined) last.commas += 1;
    else if (chars[at] === "}" && open.pop() !== undefined && last !== undefined && last.commas > 0) found.set(last.at, at);
  }
  return found;
}

function alternatives(chars: readonly string[], open: number, close: number, closing: ReadonlyMap<number, number>): [number, number][] {
  const found: [number, number][] = [];
  let from = open + 1;
  for (let at = from; at < close; at += 1) {
    if (chars[at] === "\\") at += 1;
    else if (chars[at] === "[") at = setEnd(chars, at) ?? at;
    else if (closing.has(at)) at = closing.get(at) ?? at;
    else if (chars[at] === ",") {
      found.push([from, at]);
      from = at + 1;
    }
  }
  found.push([from, close]);
  return found;
}

function members(chars: readonly string[]): Test {
  const ranges: (readonly [string, string])[] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const first = chars[at] ?? "";
    const last = chars[at + 2];
    if (chars[at + 1] === "-" && last !== undefined) {
      ranges.push([first, last]);
      at += 2;
    } else ranges.push([first, first]);
  }
  return (char) => ranges.some(([first, last]) => char >= first && char <= last);
}
