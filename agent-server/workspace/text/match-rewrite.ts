import { diffArrays } from "diff";
import { foldToken, tokensOf } from "./text-folding.ts";
import { lineEdits } from "./hunks.ts";
import { carryIndent } from "./indent.ts";
import { bareLine, type Eol } from "./lines.ts";
import { blankRun, indentOf, type Line, type Place, solidLines } from "./match-places.ts";

/** A range of file lines and their replacement; `to` exclusive. */
export interface Rewrite {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** Lines with more tokens are replaced as a whole. */
const maxTokens = 2_000;

/**
 * Turns the matched old lines into the new ones. Common lines keep the file's bytes; others get the file's indentation, quotes and line
 * endings.
 * @returns null when the indentation of a new line cannot be determined.
 */
export function rewriteBlock(
  fileLines: readonly string[],
  place: Place,
  texts: { old: readonly string[]; new: readonly string[]; eol: Eol },
): Rewrite | null {
  const bare = fileLines.map(bareLine);
  const before = solidLines(texts.old);
  const after = solidLines(texts.new);
  const lines = place.at.map((row) => bare[row] ?? "");
  const pairs = before.solid.map(({ text }, index) => ({ wanted: indentOf(text), found: indentOf(lines[index] ?? "") }));
  const carry = carryIndent(pairs, { file: bare, wanted: [texts.old, texts.new] });
  const marks = marksOf(before.solid, lines);
  const first = place.at[0] ?? 0;
  const last = place.at.at(-1) ?? first;
  const result: string[] = [];
  const lead = Math.min(blankRun(bare, first, -1), before.solid[0]?.blanksBefore ?? 0);
  const sameLead = after.solid.length > 0 && after.solid[0]?.blanksBefore === before.solid[0]?.blanksBefore;
  const from = sameLead ? first : first - lead;

  /** Keeps the file's blank lines before line `index` of the old text, as many as the new text has. */
  const blanks = (index: number | null, wanted: number): void => {
    if (result.length === 0 && sameLead) return;
    if (index === null) {
      for (let count = 0; count < wanted; count++) result.push(texts.eol);
      return;
    }
    const row = place.at[index] ?? 0;
    const had = index === 0 ? lead : blankRun(bare, row, -1);
    const was = Math.min(before.solid[index]?.blanksBefore ?? 0, index === 0 ? lead : Number.MAX_SAFE_INTEGER);
    const want = Math.max(0, had + wanted - was);
    for (let count = 0; count < want; count++) result.push(count < had ? (fileLines[row - had + count] ?? texts.eol) : texts.eol);
  };
  const keep = (index: number, line: Line): void => {
    blanks(index, line.blanksBefore);
    result.push(fileLines[place.at[index] ?? 0] ?? "");
  };
  /** Adds a line of the new text; `partner` is the old line it replaces, when known. */
  const put = (line: Line, number: number, near: number, partner: number | null): boolean => {
    blanks(partner, line.blanksBefore);
    const indent = carry(indentOf(line.text), near, number === 0);
    if (indent === null) return false;
    const rest = line.text.slice(indentOf(line.text).length);
    const text = partner === null ? applyMarks(rest, marks) : partnered(before.solid[partner]?.text ?? "", lines[partner] ?? "", rest);
    result.push(indent + text + (partner === null ? texts.eol : endOf(fileLines[place.at[partner] ?? 0]) || texts.eol));
    return true;
  };

  function partnered(was: string, found: string, rest: string): string {
    // Only the indentation changed: keeps the file's line with its trailing whitespace.
    if (was.trim() === rest.trim()) return found.trimStart();
    const made = mergeLine(was.trim(), found.trim(), rest.trimEnd(), marks);
    // Keeps them also when the line's end is unchanged and the new text has whitespace where the old text had some.
    const sameEnd = was.trimEnd().at(-1) === rest.trimEnd().at(-1) && blanksAtEnd(rest) === blanksAtEnd(was);
    return made + (sameEnd ? blanksAtEnd(found) : blanksAtEnd(rest));
  }

  let old = 0;
  let made = 0;
  const keepUntil = (end: number): void => {
    for (; old < end; old++, made++) keep(old, after.solid[made] ?? { text: "", blanksBefore: 0 });
  };
  for (const edit of lineEdits(
    before.solid.map(({ text }) => text),
    after.solid.map(({ text }) => text),
  )) {
    keepUntil(edit.from);
    const partners = partnersOf(before.solid.slice(edit.from, edit.to), after.solid.slice(made, made + edit.lines.length));
    for (const partner of partners) {
      const line = after.solid[made];
      const from = partner === null ? null : edit.from + partner;
      if (line === undefined || !put(line, made, from ?? Math.max(0, edit.from - (edit.from === edit.to ? 1 : 0)), from)) return null;
      made++;
    }
    old = edit.to;
  }
  keepUntil(before.solid.length);

  const tail = Math.min(blankRun(bare, last, 1), before.blanksAfter);
  const sameTail = after.solid.length > 0 && after.blanksAfter === before.blanksAfter;
  const to = sameTail ? last + 1 : last + 1 + tail;
  if (!sameTail) for (let count = 0; count < after.blanksAfter; count++) result.push(texts.eol);
  return { from, to, lines: ended(result, texts.eol, endOf(fileLines[to - 1]) !== "") };
}

/** Adds a line ending to every line; the last one keeps the file's. */
function ended(lines: readonly string[], eol: Eol, closed: boolean): string[] {
  return lines.map((line, index) => {
    if (index === lines.length - 1 && !closed) return bareLine(line);
    return line.endsWith("\n") ? line : line + eol;
  });
}

function blanksAtEnd(line: string): string {
  return line.slice(line.trimEnd().length);
}

function endOf(line: string | undefined): string {
  return line === undefined ? "" : line.slice(bareLine(line).length);
}

/** For each new line of an edit, the old line it replaces: one to one when their numbers are equal, otherwise lines with equal text. */
function partnersOf(old: readonly Line[], made: readonly Line[]): (number | null)[] {
  if (old.length === made.length) return made.map((_, index) => index);
  let from = 0;
  return made.map(({ text }) => {
    const found = old.findIndex((line, index) => index >= from && line.text.trim() === text.trim());
    if (found < 0) return null;
    from = found + 1;
    return found;
  });
}

/** Characters that the file consistently writes differently from the old text. */
function marksOf(old: readonly Line[], found: readonly string[]): ReadonlyMap<string, string> {
  const marks = new Map<string, string | null>();
  for (const [index, { text }] of old.entries()) {
    const line = found[index] ?? "";
    if (text.trim() === line.trim()) continue;
    const theirs = tokensOf(line.trim());
    for (const [at, mine] of tokensOf(text.trim()).entries()) {
      const other = theirs[at];
      // Plain characters stay plain in new text, because a quote in code may be intended that way.
      if (other === undefined || /^[\s\u0020-\u007e]+$/.test(mine)) continue;
      marks.set(mine, (marks.get(mine) ?? other) === other ? other : null);
    }
  }
  return new Map([...marks].flatMap(([mine, other]) => (other === null || mine === other ? [] : [[mine, other] as const])));
}

function applyMarks(text: string, marks: ReadonlyMap<string, string>): string {
  if (marks.size === 0) return text;
  return tokensOf(text)
    .map((one) => marks.get(one) ?? one)
    .join("");
}

/** The new line, with the parts it shares with the old line in the file's form. */
export function mergeLine(old: string, found: string, made: string, marks: ReadonlyMap<string, string>): string {
  if (old === found) return applyMarks(made, marks);
  const [mine, theirs, next] = [tokensOf(old), tokensOf(found), tokensOf(made)];
  if (mine.length !== theirs.length || mine.length > maxTokens || next.length > maxTokens) return applyMarks(made, marks);
  let at = 0;
  return diffArrays(mine, next, { comparator: (a, b) => a === b && foldToken(a) === foldToken(b) })
    .flatMap((part) => {
      if (part.added) return part.value.map((one) => marks.get(one) ?? one);
      const from = at;
      at += part.value.length;
      return part.removed ? [] : theirs.slice(from, at);
    })
    .join("");
}
