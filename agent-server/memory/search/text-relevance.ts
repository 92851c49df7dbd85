import type { QueryTerm } from "./search-candidates.ts";
import { type Token, written } from "./text-tokens.ts";

/** Characters of a text that are read for ranking. */
const readCharacters = 6_000;
/** Maximum distance of words that count as adjacent. */
const near = 3;

/** A text prepared for ranking. */
export interface Read {
  readonly tokens: ReadonlyMap<string, readonly (Token & { readonly place: number })[]>;
  readonly length: number;
}

export function read(text: string, tags: readonly string[]): Read {
  const tokens = new Map<string, (Token & { place: number })[]>();
  let length = 0;
  const add = (token: Token, place: number): void => {
    const known = tokens.get(token.stem);
    if (known === undefined) tokens.set(token.stem, [{ ...token, place }]);
    else known.push({ ...token, place });
  };
  for (const word of written(text.slice(0, readCharacters))) {
    for (const part of word.parts) {
      add(part, length);
      length += 1;
    }
    for (const whole of word.joined) add(whole, length - 1);
  }
  let place = length + near;
  for (const tag of tags) {
    for (const word of written(tag)) {
      // A tag has no position in the text.
      for (const part of [...word.parts, ...word.joined]) add({ ...part, start: -1, end: -1 }, (place += near));
    }
  }
  return { tokens, length };
}

export interface Relevance {
  /** From 0 to 1. */
  readonly value: number;
  /** Positions of the matched words. */
  readonly places: readonly (readonly [start: number, end: number])[];
}

/** A sentence counts at least as much as two rare words, so that one frequent word does not answer a long sentence. */
const leastSentence = 8;
const inTag = 0.85;
const otherForm = 0.96;
/** For an identifier of which only parts match. */
const partOnly = 0.88;

/**
 * The share of the query that a text contains; see search-ranking.ts. Of a query with several sentences, the best matching one counts.
 */
export function relevanceOf(asked: readonly QueryTerm[], text: Read): Relevance {
  const has = new Map<number, number>();
  const total = new Map<number, number>();
  let pairs = 0;
  let together = 0;
  const places: [number, number][] = [];
  let before: readonly number[] | null = null;
  for (const { term, answers, counts } of asked) {
    let best = 0;
    let at: number[] = [];
    for (const [answer, quality] of answers) {
      const tokens = text.tokens.get(answer);
      if (tokens === undefined) continue;
      const same = quality < 1 || tokens.some((token) => token.word === term.word) || term.joined.includes(answer);
      const said = tokens.some(({ start }) => start >= 0);
      best = Math.max(best, quality * (same ? 1 : otherForm) * (said ? 1 : inTag));
      at = [...at, ...tokens.map((token) => token.place)];
      for (const { start, end } of tokens) if (start >= 0) places.push([start, end]);
    }
    const previous = before;
    const beside = previous !== null && at.some((place) => previous.some((other) => Math.abs(place - other) <= (term.follows ? 1 : near)));
    if (previous !== null) pairs += 1;
    if (beside) together += 1;
    if (term.joined.length > 0 && !beside && !term.joined.some((whole) => text.tokens.has(whole))) best *= partOnly;
    for (const sentence of term.sentences) {
      total.set(sentence, (total.get(sentence) ?? 0) + counts);
      has.set(sentence, (has.get(sentence) ?? 0) + counts * best);
    }
    before = at;
  }
  if (asked.length === 0) return { value: 1, places };
  const all = asked.reduce((sum, { counts }) => sum + counts, 0);
  const shares = [...total].map(([sentence, counts]) => (has.get(sentence) ?? 0) / Math.max(counts, Math.min(all, leastSentence)));
  const nearness = pairs === 0 ? 1 : 0.9 + 0.1 * (together / pairs);
  const brevity = 1 / (1 + 0.03 * Math.log2(1 + text.length / 12));
  return { value: Math.max(...shares) * nearness * brevity, places };
}
