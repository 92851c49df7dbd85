export type Eol = "\n" | "\r\n";

/** Lines with their terminators (`\n` or `\r\n`); joining them restores the text. A text without a final newline ends in a bare line. */
export function splitLines(text: string): string[] {
  const lines: string[] = [];
  let start = 0;
  for (;;) {
    const end = text.indexOf("\n", start);
    if (end === -1) break;
    lines.push(text.slice(start, end + 1));
    start = end + 1;
  }
  if (start < text.length) lines.push(text.slice(start));
  return lines;
}

/** A line without its terminator. */
export function bareLine(line: string): string {
  if (line.endsWith("\r\n")) return line.slice(0, -2);
  return line.endsWith("\n") ? line.slice(0, -1) : line;
}

/** The most frequent line ending of a text; `\n` when it has none. */
export function mainEol(text: string): Eol {
  const { crlf, all } = endsOf(text);
  return crlf > all - crlf ? "\r\n" : "\n";
}

/** Converts every line ending. */
export function withEol(text: string, eol: Eol): string {
  const unix = text.replaceAll("\r\n", "\n");
  return eol === "\n" ? unix : unix.replaceAll("\n", "\r\n");
}

/** Number of line endings `\r\n`, and of all line endings. */
export function endsOf(text: string): { crlf: number; all: number } {
  let crlf = 0;
  let all = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
    all++;
    if (at > 0 && text.charCodeAt(at - 1) === 13) crlf++;
  }
  return { crlf, all };
}
