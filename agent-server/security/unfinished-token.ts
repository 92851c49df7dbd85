const tokenCharacter = /[A-Za-z0-9_+/=-]/;
/** Shorter words, and those of letters alone, are no beginning of a token. */
const shortestToken = 4;

/**
 * Where the last word of a text that may go on begins, if it may be the beginning of a token; the text's length if not.
 * @param longest so many characters are looked at
 */
export function unfinishedTokenFrom(text: string, longest: number): number {
  let from = text.length;
  while (from > 0 && text.length - from < longest && tokenCharacter.test(text.charAt(from - 1))) from--;
  return text.length - from < shortestToken || /^[A-Za-z-]*$/.test(text.slice(from)) ? text.length : from;
}
