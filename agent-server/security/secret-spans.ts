/** A secret in a text; positions in UTF-16 units. */
export interface SecretSpan {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}

/** Joins spans that overlap, and sorts them. A joined span has the kind of the one that was found first. */
export function joinSpans(found: readonly SecretSpan[]): SecretSpan[] {
  const order = new Map(found.map((span, index) => [span, index]));
  const result: { start: number; end: number; kind: string; first: number }[] = [];
  for (const span of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const first = order.get(span) ?? 0;
    const last = result.at(-1);
    if (last === undefined || span.start >= last.end) {
      result.push({ ...span, first });
      continue;
    }
    last.end = Math.max(last.end, span.end);
    if (first < last.first) {
      last.first = first;
      last.kind = span.kind;
    }
  }
  return result.map(({ start, end, kind }) => ({ start, end, kind }));
}

/** The line up to a position: no rule needs more than 400 characters of it. */
export function lineBefore(text: string, at: number): string {
  const window = text.slice(Math.max(0, at - 400), at);
  return window.slice(window.lastIndexOf("\n") + 1);
}
