import type { QueryTerm } from "./search-candidates.ts";
import { type Token, written } from "./text-tokens.ts";

/**
 * Whether query and text share a rare word that is a name in the query or in the text: a fact about Heron belongs to "add retry to the
 * Heron client", and one that only shares ordinary words with it does not.
 */
export function namesOf(query: string, text: string, asked: readonly QueryTerm[]): boolean {
  const rare = new Set(asked.flatMap(({ term, rare: isRare }) => (isRare && !term.pair ? [term.stem] : [])));
  if (rare.size === 0) return false;
  const inText = namedIn(text, rare);
  if (inText.all.size === 0) return false;
  const inQuery = isTitle(query) ? inText : namedIn(query, rare);
  return [...inText.all].some((stem) => inText.names.has(stem) || inQuery.names.has(stem));
}

/** In a title every word has a capital letter, so it shows no name. */
function isTitle(text: string): boolean {
  const words = text.match(/(?<=\s)\p{L}{3,}/gu) ?? [];
  return words.length >= 3 && words.filter((word) => /^\p{Lu}/u.test(word)).length > words.length / 2;
}

/** Which of the words occur in a text, and which of them are written as names. */
function namedIn(text: string, words: ReadonlySet<string>): { all: Set<string>; names: Set<string> } {
  const all = new Set<string>();
  const names = new Set<string>();
  for (const word of written(text.slice(0, readCharacters)))
    for (const token of [...word.parts, ...word.joined]) {
      if (!words.has(token.stem)) continue;
      all.add(token.stem);
      if (isName(text, token)) names.add(token.stem);
    }
  return { all, names };
}

const readCharacters = 6_000;

/** A capital letter within a sentence, capitals inside a word, or letters with digits. */
function isName(text: string, { start, end }: Token): boolean {
  const word = text.slice(start, end);
  if (/\p{L}\p{N}|\p{N}\p{L}|\p{Ll}\p{Lu}|_/u.test(word)) return true;
  return (
    /^\p{Lu}/u.test(word) && word.length >= 3 && !/(?:^|[.!?:;]\s+|\n[^\S\n]*)["“„«(]?$/u.test(text.slice(Math.max(0, start - 8), start))
  );
}
