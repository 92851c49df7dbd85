/** A line and the list below it. */
interface Section {
  readonly at: number;
  readonly rank: number;
  readonly lines: readonly string[];
}

export interface ShortenWish {
  /** Tokens, at most. */
  readonly max: number;
  readonly estimateTokens: (text: string) => number;
  /** The last line of a text that was shortened. */
  readonly more: string;
  /** How important the section that begins with this line is: the lower, the earlier it is kept. Equal ones in their order. */
  readonly rank?: (line: string) => number;
}

/**
 * A text within `max` tokens: whole sections, then whole lines of lists, in the order of their importance, standing in the order of the
 * text. Where not even one line fits, its start up to the end of a word. The same text gives the same result.
 */
export function shorten(text: string, wish: ShortenWish): string {
  const { max, estimateTokens, more, rank = () => 0 } = wish;
  const whole = text.trim();
  if (whole === "" || estimateTokens(whole) <= max) return whole;

  const sections = sectionsOf(whole, rank);
  const counts = new Map<number, number>();
  const render = (): string => [...sections.flatMap(({ at, lines }) => lines.slice(0, counts.get(at) ?? 0)), more].join("\n");
  const ordered = sections.toSorted((a, b) => a.rank - b.rank || a.at - b.at);
  for (const { at, lines } of ordered) {
    // A title without a line of its list says nothing.
    const least = Math.min(2, lines.length);
    const count = longest(least, lines.length, (tried) => {
      counts.set(at, tried);
      return estimateTokens(render()) <= max;
    });
    if (count === null) counts.delete(at);
    else counts.set(at, count);
  }
  if (counts.size > 0) return render();
  return startOf(ordered[0]?.lines[0] ?? "", wish);
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

/** The longest start of a line that ends where a word does, with the note that there is more; empty when not even one word fits. */
function startOf(line: string, { max, estimateTokens, more }: ShortenWish): string {
  const words = line.split(/(?<=\S)(?=\s)/u);
  const cut = (count: number): string => `${words.slice(0, count).join("").trimEnd()} …\n${more}`;
  const count = longest(1, words.length, (tried) => estimateTokens(cut(tried)) <= max);
  return count === null ? "" : cut(count);
}

/** The largest number from `least` to `most` that fits, when every smaller one does too; null when `least` does not. */
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
