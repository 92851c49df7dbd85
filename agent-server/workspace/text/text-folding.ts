/**
 * How texts are compared when they are not the same letter by letter: typographic quotes and dashes count as the plain ones,
 * runs of blanks as one, composed letters as their parts. What differs in words differs here too.
 */

/** A run of blanks, three dots, or one letter with its marks. */
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

/** The pieces of a text that stand for one another in two texts which fold alike. */
export function tokensOf(text: string): string[] {
  return text.match(token) ?? [];
}

export function foldToken(piece: string): string {
  if (blanks.test(piece)) return " ";
  if (piece === "\u2026") return "...";
  return plain.get(piece) ?? (ascii.test(piece) ? piece : piece.normalize("NFC"));
}

/** A line as it is compared; its ends do not count. Two lines that fold alike have the same number of tokens. */
export function foldLine(line: string): string {
  const bare = line.trim();
  if (ascii.test(bare)) return bare.replace(/[ \t]+/g, " ");
  return tokensOf(bare).map(foldToken).join("");
}

/** The same for a part of a line, letter by letter and as long as before: only quotes and dashes count as the plain ones. */
export function foldMarks(text: string): string {
  return ascii.test(text) ? text : text.replace(/[\u2010-\u201f\u2032\u2033\u2212]/g, (one) => plain.get(one) ?? one);
}
