import { lineEdits } from "./hunks.ts";
import { bareLine, endsOf, type Eol, splitLines, withEol } from "./lines.ts";

/**
 * Applies the line endings of `from` to a new text: unchanged lines keep their ending, replaced lines take over the old one, and
 * additional
 * lines get `eol`.
 */
export function mergeEnds(from: string, made: string, eol: Eol): string {
  const { crlf, all } = endsOf(from);
  if (all === 0 || crlf === (eol === "\n" ? 0 : all)) return withEol(made, eol);
  const old = splitLines(from);
  const next = splitLines(withEol(made, "\n"));
  const endOf = (index: number): string => old[index]?.slice(bareLine(old[index] ?? "").length) ?? "";
  const result: string[] = [];
  let at = 0;
  const put = (line: string, partner: number | null): void => {
    const end = partner === null ? "" : endOf(partner);
    result.push(bareLine(line) + (line.endsWith("\n") ? end || eol : ""));
  };
  for (const edit of lineEdits(old.map(bareLine), next.map(bareLine))) {
    for (; at < edit.from; at++) put(next[result.length] ?? "", at);
    for (let index = 0; index < edit.lines.length; index++) {
      const partner = edit.from + index;
      put(next[result.length] ?? "", partner < edit.to ? partner : null);
    }
    at = edit.to;
  }
  for (; at < old.length; at++) put(next[result.length] ?? "", at);
  return result.join("");
}
