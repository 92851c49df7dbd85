import { trimEnd } from "../../../agent-server/contract/trim-end.ts";
import { type Line, lineText } from "./screen.ts";
import type { Style } from "./style.ts";

/** The target of a link in the output: a page, or a position in a file as the command printed it. */
export type Target =
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "file"; readonly path: string; readonly line: number; readonly column: number | null };

export interface Piece {
  readonly text: string;
  readonly style: Style;
}

/** A run of text that is entirely a link or contains none. */
export interface Span {
  readonly target: Target | null;
  readonly pieces: readonly Piece[];
}

interface LinkMatch {
  readonly start: number;
  readonly end: number;
  readonly target: Target;
}

/** Longest line, in characters, that is scanned for links. */
const maxLineLength = 2000;
const webUrl = /https?:\/\/[^\s<>"'`]+/g;
const pythonLocation = /File "([^"\n]{1,500})", line (\d{1,7})/g;
/** Matches `src/a.ts:12:5`, `./a.go:3` and `C:\a\b.cs(12,5)`. Each step consumes a whole word, so that scanning stays linear. */
const fileLocation = /((?:[A-Za-z]:(?=[\\/]))?[^\s"'`<>()[\]{}:,;|]+)(?::(\d{1,7})(?::(\d{1,5}))?|\((\d{1,7}),(\d{1,5})\))?/g;
const pathLike = /[\\/].|[^.\\/]\.[A-Za-z]\w{0,9}$|^\.\w/;

const brackets = [
  ["(", ")"],
  ["[", "]"],
  ["{", "}"],
] as const;

/** Removes trailing punctuation from a URL. */
function trimUrl(url: string): string {
  let end = trimEnd(url, ".,;:!?");
  // A closing bracket belongs to the URL only if the URL also contains the opening one.
  for (;;) {
    const [open, close] = brackets.find((pair) => end.endsWith(pair[1])) ?? ["", ""];
    if (close === "" || end.split(open).length >= end.split(close).length) return end;
    end = trimEnd(end.slice(0, -1), ".,;:!?");
  }
}

function isAddress(url: string): boolean {
  try {
    return new URL(url).hostname !== "";
  } catch {
    return false;
  }
}

export function findLinks(text: string): readonly LinkMatch[] {
  if (text.length > maxLineLength) return [];
  const found: LinkMatch[] = [];
  for (const match of text.matchAll(webUrl)) {
    const url = trimUrl(match[0]);
    if (isAddress(url)) found.push({ start: match.index, end: match.index + url.length, target: { kind: "url", url } });
  }
  const add = (start: number, length: number, path: string, line: string, column: string | undefined): void => {
    const end = start + length;
    if (found.some((other) => start < other.end && other.start < end)) return;
    found.push({ start, end, target: { kind: "file", path, line: Number(line), column: column === undefined ? null : Number(column) } });
  };
  for (const match of text.matchAll(pythonLocation)) add(match.index, match[0].length, match[1] ?? "", match[2] ?? "1", undefined);
  for (const match of text.matchAll(fileLocation)) {
    const [whole, path = "", line = match[4], column = match[5]] = match;
    if (line !== undefined && pathLike.test(path)) add(match.index, whole.length, path, line, column);
  }
  return found.sort((a, b) => a.start - b.start);
}

/** Splits a line where links begin and end. A link may span several styles. */
export function spansOf(line: Line): readonly Span[] {
  const links = findLinks(lineText(line));
  const spans: Span[] = [];
  let at = 0;
  const between = (start: number, end: number): Piece[] => {
    const pieces: Piece[] = [];
    let position = 0;
    for (const { text, style } of line) {
      const from = Math.max(start, position);
      const to = Math.min(end, position + text.length);
      if (from < to) pieces.push({ text: text.slice(from - position, to - position), style });
      position += text.length;
    }
    return pieces;
  };
  const push = (start: number, end: number, target: Target | null): void => {
    if (end > start) spans.push({ target, pieces: between(start, end) });
  };
  for (const { start, end, target } of links) {
    push(at, start, null);
    push(start, end, target);
    at = end;
  }
  push(at, lineText(line).length, null);
  return spans;
}
