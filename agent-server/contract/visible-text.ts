import { trimEnd } from "./trim-end.ts";

/**
 * Characters that hide, reorder or imitate text: control characters except newline and tab, zero-width and direction marks, unusual spaces,
 * unpaired surrogates, and marks stacked on other marks. Escapes in a text match too, so that they are recognized as such.
 */
const hidden =
  /[^\P{Cc}\n\t]|[^\P{Zs} ]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?<=\p{M}{6})\p{M}|⟨U\+[0-9A-F]{4,6}(?: ×\d+)?⟩/gu;

export interface VisiblePart {
  readonly text: string;
  /** True for the escaped form of an invisible character. */
  readonly marked: boolean;
}

function escapeOf(found: string): string {
  return `⟨U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** The states of a line that overwrote itself by carriage returns, such as a progress bar; those at its end overwrite nothing. */
export function statesOfLine(line: string): readonly string[] {
  return trimEnd(line, "\r").split("\r");
}

/** Splits a text so that each invisible character appears as its code point. */
export function visibleParts(text: string): readonly VisiblePart[] {
  const parts: VisiblePart[] = [];
  let at = 0;
  for (const match of text.matchAll(hidden)) {
    if (match.index > at) parts.push({ text: text.slice(at, match.index), marked: false });
    const [found] = match;
    parts.push({ text: found.startsWith("⟨") ? found : escapeOf(found), marked: true });
    at = match.index + found.length;
  }
  if (at < text.length) parts.push({ text: text.slice(at), marked: false });
  return parts;
}

/** A text in which each invisible character appears as its code point, as in ⟨U+001B⟩. Newlines and tabs stay. */
export function visibleText(text: string): string {
  return text.replace(hidden, (found) => (found.startsWith("⟨") ? found : escapeOf(found)));
}

/** Emoji, with the invisible characters that join and style them, or a hidden character. */
const emojiOrHidden = new RegExp(
  `(?<emoji>\\p{Extended_Pictographic}[\\ufe0f\\u{1f3fb}-\\u{1f3ff}]?(?:\\u200d\\p{Extended_Pictographic}[\\ufe0f\\u{1f3fb}-\\u{1f3ff}]?)*)|${hidden.source}`,
  "gu",
);

/** `visibleText` for prose, where spaces that typography requires and emoji hide nothing. */
export function visibleProse(text: string): string {
  return text
    .replace(/\p{Zs}/gu, " ")
    .replace(emojiOrHidden, (found, emoji: string | undefined) => (emoji !== undefined || found.startsWith("⟨") ? found : escapeOf(found)));
}

/** JSON in which invisible characters are escaped; it has the same value. */
export function visibleJson(json: string): string {
  return json.replace(hidden, (found) =>
    found.startsWith("⟨")
      ? found
      : Array.from({ length: found.length }, (_, index) => `\\u${found.charCodeAt(index).toString(16).padStart(4, "0")}`).join(""),
  );
}

/** Lines and characters of each end that remain of a long text. */
const endLines = 20;
const endCharacters = 2_000;

/** The start and the end of a long text, with the size of what is hidden between them; a shorter text unchanged. */
export function shortenMiddle(text: string, describe: (lines: number, characters: number) => string): string {
  const lines = text.split("\n");
  if (lines.length <= 2 * endLines + 2 && text.length <= 2.1 * endCharacters) return text;
  const head = lines.slice(0, endLines).join("\n").slice(0, endCharacters);
  const tail = lines.slice(-endLines).join("\n").slice(-endCharacters);
  if (head.length + tail.length >= text.length) return text;
  const between = text.slice(head.length, -tail.length);
  return `${head.toWellFormed()}\n${describe(between.split("\n").length, between.length)}\n${tail.toWellFormed()}`;
}
