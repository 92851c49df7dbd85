/**
 * Folds texts for tolerant comparison: typographic quotes and dashes equal the plain ones, runs of whitespace equal one space, and
 * composed
 * characters equal their parts. Different words stay different.
 */

/** A run of whitespace, three dots, or one character with its combining marks. */
const token = /[ \t\u00a0\u2000-\u200a\u202f\u3000]+|\.\.\.|\P{M}\p{M}*|\p{M}+/gsu;
const blanks = /^[ \t\u00a0\u2000-\u200a\u202f\u3000]/u;
const ascii = /^\p{ASCII}*$/u;

const plain = new Map<string, string>(
  Object.entries({
    "'": "\u2018\u2019\u201a\u201b\u2032",
    '"': "\u201c\u201d\u201e\u201f\u2033",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
  }).flatMap(([to, from]) => Array.from(from, (one) => [one, to] as const)),
);

/** Tokens of a text. Two texts that fold alike have tokens that correspond one to one. */
export function tokensOf(text: string): string[] {
  return text.match(token) ?? [];
}

export function foldToken(piece: string): string {
  if (blanks.test(piece)) return " ";
  if (piece === "\u2026") return "...";
  return plain.get(piece) ?? (ascii.test(piece) ? piece : piece.normalize("NFC"));
}

/** Folds a line without its leading and trailing whitespace. Lines that fold alike have the same number of tokens. */
export function foldLine(line: string): string {
  const bare = line.trim();
  if (ascii.test(bare)) return bare.replace(/[ \t]+/g, " ");
  return tokensOf(bare).map(foldToken).join("");
}

/** Folds only quotes and dashes, character by character, so the length stays the same. */
export function foldMarks(text: string): string {
  return ascii.test(text) ? text : text.replace(/[\u2010-\u201f\u2032\u2033\u2212]/g, (one) => plain.get(one) ?? one);
}
