const snippetCharacters = 200;

/** The part of a text around most of the positions, in whole words, on one line. */
export function snippetOf(text: string, places: readonly (readonly [start: number, end: number])[]): string {
  const line = (part: string): string => part.replaceAll(/\s+/g, " ").trim();
  if (text.length <= snippetCharacters) return line(text);
  const sorted = places.toSorted((a, b) => a[0] - b[0]);
  let best = { from: 0, count: 0 };
  for (const [index, [start]] of sorted.entries()) {
    let count = 0;
    while (index + count < sorted.length && (sorted[index + count]?.[1] ?? 0) <= start + snippetCharacters - 40) count += 1;
    if (count > best.count) best = { from: start, count };
  }
  const target = Math.max(0, Math.min(best.from - 40, text.length - snippetCharacters));
  const from = target === 0 ? 0 : wordStart(text, target);
  const to = Math.min(text.length, from + snippetCharacters);
  const cut = to === text.length ? to : wordEnd(text, to);
  return `${from > 0 ? "… " : ""}${line(text.slice(from, cut).toWellFormed())}${cut < text.length ? " …" : ""}`;
}

function wordStart(text: string, at: number): number {
  const space = text.slice(at, at + 30).search(/\s/);
  return space < 0 ? at : at + space + 1;
}

function wordEnd(text: string, at: number): number {
  const space = text.slice(Math.max(0, at - 30), at).search(/\s\S*$/);
  return space < 0 ? at : Math.max(0, at - 30) + space;
}
