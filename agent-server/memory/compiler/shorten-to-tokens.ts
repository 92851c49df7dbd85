/** A line and the list below it. */
interface Section {
  readonly at: number;
  readonly rank: number;
  readonly lines: readonly string[];
}

export interface ShortenOptions {
  /** Maximum tokens. */
  readonly max: number;
  readonly estimateTokens: (text: string) => number;
  /** The last line of a shortened text. */
  readonly more: string;
  /** The importance of a section by its first line: lower ranks are kept first. Equal ranks keep their order. */
  readonly rank?: (line: string) => number;
}

/**
 * Shortens a text to `max` tokens: whole sections, then whole list lines, by importance, in the order of the
 * text. When no line fits, it cuts at the end of a word. It is deterministic.
 */
export function shorten(text: string, options: ShortenOptions): string {
  const { max, estimateTokens, more, rank = () => 0 } = options;
  const whole = text.trim();
  if (whole === "" || estimateTokens(whole) <= max) return whole;

  const sections = sectionsOf(whole, rank);
  const counts = new Map<number, number>();
  const render = (): string => [...sections.flatMap(({ at, lines }) => lines.slice(0, counts.get(at) ?? 0)), more].join("\n");
  const ordered = sections.toSorted((a, b) => a.rank - b.rank || a.at - b.at);
  for (const { at, lines } of ordered) {
    // A title without one line of its list is useless.
    const least = Math.min(2, lines.length);
    const count = longest(least, lines.length, (tried) => {
      counts.set(at, tried);
      return estimateTokens(render()) <= max;
    });
    if (count === null) counts.delete(at);
    else counts.set(at, count);
  }
  if (counts.size > 0) return render();
  return startOf(ordered[0]?.lines[0] ?? "", options);
}

function sectionsOf(text: string, rank: (line: string) => number): Section[] {
  const sections: { at: number; rank: number; lines: string[] }[] = [];
  for (const raw of text.split(/\r\n|[\r\n\u0085\u2028\u2029]/u)) {
    const line = raw.trimEnd();
    if (line === "") continue;
    const last = sections.at(-1);
    const bareTitle = last?.lines.length === 1 && heading.test(last.lines[0] ?? "");
    if (last !== undefined && !heading.test(line) && (bareTitle || listLine.test(line))) last.lines.push(line);
    else sections.push({ at: sections.length, rank: rank(line), lines: [line] });
  }
  return sections;
}

const heading = /^#{1,6}\s/u;
const listLine = /^(?:\s|[-*+•]\s|\d{1,9}[.)]\s)/u;

/** The longest prefix of a line that ends with a word, plus the note about more text; empty when no word fits. */
function startOf(line: string, { max, estimateTokens, more }: ShortenOptions): string {
  const words = line.split(/(?<=\S)(?=\s)/u);
  const cut = (count: number): string => `${words.slice(0, count).join("").trimEnd()} …\n${more}`;
  const count = longest(1, words.length, (tried) => estimateTokens(cut(tried)) <= max);
  return count === null ? "" : cut(count);
}

/** The largest number from `least` to `most` that fits, assuming every smaller one does; null when `least` does not. */
function longest(least: number, most: number, fits: (count: number) => boolean): number | null {
  if (!fits(least)) return null;
  let fitting = least;
  let tooMany = most + 1;
  while (tooMany - fitting > 1) {
    const middle = Math.floor((fitting + tooMany) / 2);
    if (fits(middle)) fitting = middle;
    else tooMany = middle;
  }
  return fitting;
}
