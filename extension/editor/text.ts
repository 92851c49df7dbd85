/** Text without a byte order mark and with `\n` line endings, for comparison only. */
export function normalized(text: string): string {
  return withoutMark(text).replaceAll(/\r\n?/g, "\n");
}

export function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** Converts line endings to those of the target document. */
export function withLineEnds(text: string, eol: "\n" | "\r\n"): string {
  return normalized(text).replaceAll("\n", eol);
}

/**
 * The smallest single replacement that turns `before` into `after`, as offsets into `before`. It keeps the user's cursors,
 * folds and markers elsewhere. It never splits a surrogate pair or a line ending.
 */
export function replacement(before: string, after: string): { start: number; end: number; text: string } {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before.charCodeAt(start) === after.charCodeAt(start)) start += 1;
  while (start > 0 && splits(before, start)) start -= 1;
  let tail = 0;
  while (tail < shorter - start && before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail)) tail += 1;
  while (tail > 0 && (splits(before, before.length - tail) || splits(after, after.length - tail))) tail -= 1;
  return { start, end: before.length - tail, text: after.slice(start, after.length - tail) };
}

/** True when `offset` is inside `\r\n` or a surrogate pair. */
function splits(text: string, offset: number): boolean {
  const left = text.charCodeAt(offset - 1);
  const right = text.charCodeAt(offset);
  return (left === 0x0d && right === 0x0a) || (left >= 0xd800 && left <= 0xdbff && right >= 0xdc00 && right <= 0xdfff);
}
