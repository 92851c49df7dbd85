import { trimEnd } from "./trim-end.ts";

/** The headings of an answer whose sections are shown in the War Room's Artifacts instead of the chat. (Requirement A8.) */
const verboseHeadings: ReadonlySet<string> = new Set([
  ...["assumptions", "decision points", "risks", "done when", "context", "mvp path", "test plan", "estimate", "references"],
]);

/** A piece of an answer. The texts of all pieces in order are the answer, byte for byte. */
export interface AnswerPiece {
  /** The heading of a verbose section, without marks; null for what stays in the chat. */
  readonly title: string | null;
  readonly text: string;
}

export interface SplitAnswer {
  readonly pieces: readonly AnswerPiece[];
  /** What the chat shows: the pieces without a title. */
  readonly chat: string;
  readonly sections: readonly { readonly title: string; readonly text: string }[];
  /** The lines of the sections that define links, which the chat may refer to. They show nothing. */
  readonly definitions: string;
}

interface Heading {
  readonly level: number;
  readonly title: string;
}

/** Longest line that can be a verbose heading, in characters. */
const maxHeading = 200;
/** Most list items that begin on one line. */
const maxListDepth = 20;

/**
 * Splits an answer into what the chat shows and its verbose sections. A section ends before the next heading of the same or a higher level.
 * Lines in code blocks, quotes and indented code are no headings. When nothing but headings would stay, everything stays. Takes linear time.
 */
export function splitAnswer(text: string): SplitAnswer {
  const pieces: { title: string | null; text: string }[] = [];
  const definitions: string[] = [];
  const fences = createFenceTracker();
  const lines = linesOf(text);
  let level = 0;
  let hasBody = false;
  for (const [index, line] of lines.entries()) {
    const isCode = fences.isCode(line);
    const heading = isCode ? null : (headingOf(line) ?? underlinedHeading(lines, index));
    const current = pieces.at(-1);
    const isInside = current !== undefined && current.title !== null;
    if (heading !== null && (!isInside || heading.level <= level)) {
      const title = verboseHeadings.has(keyOf(heading.title)) ? heading.title : null;
      level = heading.level;
      if (title !== null || isInside || current === undefined) pieces.push({ title, text: line });
      else current.text += line;
      continue;
    }
    if (current === undefined) pieces.push({ title: null, text: line });
    else current.text += line;
    if (!isInside && heading === null && /[\p{L}\p{N}]/u.test(line)) hasBody = true;
    if (isInside && !isCode && /^ {0,3}\[[^\]\n]{1,200}\]:[ \t]/.test(line)) definitions.push(line.trimEnd());
  }
  if (!hasBody) return { pieces: text === "" ? [] : [{ title: null, text }], chat: text, sections: [], definitions: "" };
  return {
    pieces,
    chat: pieces.flatMap((piece) => (piece.title === null ? [piece.text] : [])).join(""),
    sections: pieces.flatMap(({ title, text: section }) => (title === null ? [] : [{ title, text: section }])),
    definitions: definitions.join("\n"),
  };
}

/** The lines of a text with their line endings. */
function linesOf(text: string): string[] {
  const lines: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf("\n", start) + 1;
    const next = end === 0 ? text.length : end;
    lines.push(text.slice(start, next));
    start = next;
  }
  return lines;
}

/** The column of the first character that is no blank, with tab stops of 4, and the rest of the line. */
function indentOf(line: string): { column: number; rest: string } {
  let column = 0;
  let at = 0;
  for (; line[at] === " " || line[at] === "\t"; at += 1) column += line[at] === "\t" ? 4 - (column % 4) : 1;
  return { column, rest: line.slice(at) };
}

function headingOf(line: string): Heading | null {
  const { column, rest } = indentOf(line);
  if (column > 3) return null;
  const marks = /^(#{1,6})(?=\s|$)/.exec(rest)?.[1];
  if (marks === undefined) return null;
  return { level: marks.length, title: rest.length > maxHeading ? "" : titleOf(rest.slice(marks.length)) };
}

/** A line of its own that is underlined with `===` or `---`. */
function underlinedHeading(lines: readonly string[], index: number): Heading | null {
  const { column, rest } = indentOf(lines[index] ?? "");
  if (column > 3 || rest.trim() === "" || /^[>|#=]/.test(rest) || listMarker(rest) !== null || (lines[index - 1] ?? "").trim() !== "")
    return null;
  const below = indentOf(lines[index + 1] ?? "");
  const mark = below.rest.charAt(0);
  if (below.column > 3 || (mark !== "=" && mark !== "-") || trimEnd(below.rest.trim(), mark) !== "") return null;
  return { level: mark === "=" ? 1 : 2, title: rest.length > maxHeading ? "" : titleOf(rest) };
}

/** A heading without the marks of emphasis and code, closing marks, numbering, icons, and a colon at its end. */
function titleOf(text: string): string {
  const plain = trimEnd(text.trim(), "#").replaceAll(/[*_`~]/g, "");
  const letters = Array.from(plain);
  const isLetter = (letter: string): boolean => /\p{L}/u.test(letter);
  return letters.slice(letters.findIndex(isLetter), letters.findLastIndex(isLetter) + 1).join("");
}

function keyOf(title: string): string {
  return title.toLowerCase().replaceAll(/[\s-]+/g, " ");
}

interface Fence {
  readonly mark: string;
  readonly length: number;
  /** The column of its marks. */
  readonly column: number;
  /** The column that a line needs to belong to the list item around the fence; 0 for a fence outside of lists. */
  readonly container: number;
}

/** Tells which lines belong to fenced code blocks. Feed it every line in order. */
function createFenceTracker() {
  let open: Fence | null = null;
  return {
    isCode(line: string): boolean {
      const { column, rest } = indentOf(line);
      // The end of the list item around an unclosed code block ends the block.
      if (open !== null && column < open.container && rest.trim() !== "") open = null;
      if (open === null) {
        open = openingFence(column, rest);
        return open !== null;
      }
      if (column <= open.column + 3 && isClosing(rest, open)) open = null;
      return true;
    },
  };
}

function openingFence(indent: number, line: string): Fence | null {
  let column = indent;
  let rest = line;
  let isInList = indent > 3;
  for (let depth = 0; depth < maxListDepth; depth += 1) {
    const marker = listMarker(rest);
    if (marker === null) break;
    const inner = indentOf(rest.slice(marker));
    column += marker + inner.column;
    rest = inner.rest;
    isInList = true;
  }
  const marks = /^(`{3,}|~{3,})(.*)/s.exec(rest);
  const [, run = "", info = ""] = marks ?? [];
  const mark = run.charAt(0);
  if (mark === "" || (mark === "`" && info.includes("`"))) return null;
  return { mark, length: run.length, column, container: isInList ? column : 0 };
}

/** The length of the bullet or number at the start of a list item; null without one. */
function listMarker(text: string): number | null {
  return /^(?:[-*+]|\d{1,9}[.)])(?=[ \t])/.exec(text)?.[0].length ?? null;
}

function isClosing(rest: string, { mark, length }: Fence): boolean {
  const marks = rest.trim();
  return marks.length >= length && trimEnd(marks, mark) === "";
}
