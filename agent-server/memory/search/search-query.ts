import { isStopWord, isWeakWord } from "./stop-words.ts";
import { type Token, type Written, written } from "./text-tokens.ts";

/** One term of a query. */
export interface Term {
  readonly stem: string;
  readonly word: string;
  /** Stems of other spellings: as one word, where it is split. */
  readonly joined: readonly string[];
  /** True when it may be the beginning of a longer word. */
  readonly open: boolean;
  /** True for a pair of characters in a script without spaces. */
  readonly pair: boolean;
  /** True when it directly follows the previous term. */
  readonly follows: boolean;
  /** From 0 to 1; lower for words that questions have and answers rarely do. */
  readonly importance: number;
  /** The sentences of the query that contain it, from 0. */
  readonly sentences: readonly number[];
}

export interface Query {
  readonly terms: readonly Term[];
  /** Stems that all have to match, in this order. */
  readonly phrases: readonly (readonly string[])[];
  /** Stems that must not match. */
  readonly excluded: readonly (readonly string[])[];
}

/** Characters of a query that are read. */
const queryCharacters = 4_000;
const maxTerms = 40;
const maxClauses = 8;
/** Longer texts are prose rather than typed queries, so a dash does not exclude. */
const typedWords = 10;

/** Shorter texts are one sentence, regardless of punctuation. */
const sentenceWords = 7;
const sentenceEnd = /(?<=[.!?;:,])\s+|(?<=[。！？；，、])|\n+/u;
const weak = 0.4;

const quoted = /(?<=^|\s)(-?)(?:"([^"]*)"|“([^”]*)”|„([^“”]*)[“”]|«([^»]*)»|「([^」]*)」)/gu;
const exclusion = /(?<=^|\s)-([\p{L}\p{N}][^\s"]{2,}|[^\p{ASCII}][^\s"]+)/gu;
const negation = /(?<=^|\s)NOT\s+([\p{L}\p{N}][^\s"]*)/gu;
const operators = /(?<=^|\s)(?:AND|OR|NOT)(?=\s|$)/g;

/**
 * Parses a typed query: words, prefixes (`kube*`, and the last word while it is typed), "phrases", -exclusions, or a
 * question. Any string is valid; characters that belong to no word are ignored.
 */
export function parseQuery(text: string): Query {
  const phrases: string[][] = [];
  const excluded: string[][] = [];
  let rest = text.slice(0, queryCharacters);
  rest = rest.replaceAll(quoted, (_, dash: string, ...found: unknown[]) => {
    const inside = found.slice(0, 5).find((group): group is string => typeof group === "string") ?? "";
    const stems = stemsOf(inside);
    if (stems.length > 0) (dash === "-" ? excluded : phrases).push(stems);
    return dash === "-" ? " " : ` ${inside} `;
  });
  if (rest.split(/\s+/, typedWords + 2).length <= typedWords) {
    const withoutExclusions = rest.replaceAll(negation, (_, word: string) => ` -${word}`).replaceAll(exclusion, " ");
    // A query of exclusions alone has nothing to exclude from, so they are read as words.
    if (phrases.length > 0 || /[\p{L}\p{N}]/u.test(withoutExclusions)) {
      for (const [, word] of rest.replaceAll(negation, (_, named: string) => ` -${named}`).matchAll(exclusion))
        excluded.push(stemsOf(word ?? ""));
      rest = withoutExclusions;
    }
  }
  rest = rest.replaceAll(operators, " ");
  return {
    terms: termsOf(rest),
    phrases: phrases.slice(0, maxClauses),
    excluded: excluded.filter((stems) => stems.length > 0).slice(0, maxClauses),
  };
}

function stemsOf(text: string): string[] {
  return written(text).flatMap((word) => word.parts.map((part) => part.stem));
}

function termsOf(text: string): Term[] {
  const words = written(text);
  const wanted = words.some((word) => !isEmpty(word)) ? words.filter((word) => !isEmpty(word)) : words;
  // A last word may still be incomplete.
  const typing = wanted.length <= 4 && /[\p{L}\p{N}\p{M}]$/u.test(text);
  const ends = wanted.length < sentenceWords ? [] : endsOf(text);
  const terms = new Map<string, Term>();
  let end = Number.NaN;
  for (const word of wanted) {
    const kept = word.parts.filter((part) => word.parts.length === 1 || !isStopWord(part.word));
    for (const [index, part] of (kept.length > 0 ? kept : word.parts).entries()) {
      const follows = part.start <= end + 1;
      end = part.end;
      const sentence = ends.filter((at) => at <= part.start).length;
      const known = terms.get(part.stem);
      if (known !== undefined) {
        terms.set(part.stem, { ...known, sentences: [...new Set([...known.sentences, sentence])] });
        continue;
      }
      if (terms.size >= maxTerms) continue;
      const last = part === words.at(-1)?.parts.at(-1);
      terms.set(part.stem, {
        stem: part.stem,
        word: part.word,
        joined: word.pairs ? [] : word.joined.map((whole: Token) => whole.stem),
        open: text[part.end] === "*" || (typing && last),
        pair: word.pairs && part.word.length > 1,
        follows: follows && (index > 0 || terms.size > 0),
        importance: isWeakWord(part.word) ? weak : 1,
        sentences: [sentence],
      });
    }
  }
  return [...terms.values()];
}

/** The start of each sentence except the first. */
function endsOf(text: string): number[] {
  let at = 0;
  return text
    .split(sentenceEnd)
    .slice(0, -1)
    .map((sentence) => {
      at = text.indexOf(sentence, at) + sentence.length;
      return at;
    });
}

function isEmpty(word: Written): boolean {
  return word.parts.every((part) => isStopWord(part.word));
}
