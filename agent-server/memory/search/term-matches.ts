import { abbreviations } from "./abbreviations.ts";
import type { Term } from "./search-query.ts";
import type { Vocabulary } from "./index-vocabulary.ts";
import { stem } from "./text-tokens.ts";

/** The match quality of a different word, from 0 to 1. */
const quality = { meaning: 0.85, beginning: 0.8, form: 0.75, inside: 0.65, similar: 0.6 };

/** The stems that match a term, with their quality. */
export type TermMatches = ReadonlyMap<string, number>;

/** The term itself, its spellings, synonyms and forms, and the words it may begin. */
export function matchesOf(term: Term, vocabulary: Vocabulary): TermMatches {
  const answers = new Map<string, number>([[term.stem, 1]]);
  const add = (stems: readonly string[], how: number): void => {
    for (const one of stems) if (!answers.has(one)) answers.set(one, how);
  };
  add(term.joined, 1);
  if (term.pair) return answers;
  add(abbreviations(term.stem), quality.meaning);
  if (term.open && term.word.length > 1) add(vocabulary.beginning(term.word).map(stem), quality.beginning);
  if (/^\p{L}+$/u.test(term.word)) add(vocabulary.forms(term.word).map(stem), quality.form);
  return answers;
}

/** For an unknown term: longer words with it as the beginning, words that contain it, or corrections of a typo; the first that exist. */
export function guessedMatchesOf(term: Term, vocabulary: Vocabulary): TermMatches {
  const { word } = term;
  if (term.pair || word.length < 3) return new Map();
  const ways: [() => string[], number][] = [
    [() => vocabulary.beginning(word), quality.beginning],
    [() => vocabulary.containing(word), quality.inside],
    [() => vocabulary.similar(word), quality.similar],
  ];
  for (const [find, how] of ways) {
    const words = find();
    if (words.length > 0) return new Map(words.map((other) => [stem(other), how]));
  }
  return new Map();
}
