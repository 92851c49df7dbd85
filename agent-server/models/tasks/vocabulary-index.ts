import { type WordList, wordLists } from "./intent-vocabulary.ts";

/** Lowercase words and single symbols of a text, without spaces. */
export function tokensOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

interface Entry {
  list: WordList;
  /** The tokens after the first. */
  rest: string[];
  /** The last token matches any ending. */
  isStem: boolean;
}

interface Index {
  /** By the first token. */
  exact: Map<string, Entry[]>;
  /** Single tokens with any ending, by their prefix. */
  stems: Map<string, WordList[]>;
  longestStem: number;
  /** Of languages without spaces, found anywhere. */
  unspaced: { list: WordList; text: string }[];
}

const withoutSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
let made: Index | undefined;

/** Created on first use. A table instead of a regular expression, which would take 100 ms to compile at this size. */
function index(): Index {
  if (made !== undefined) return made;
  const exact = new Map<string, Entry[]>();
  const stems = new Map<string, WordList[]>();
  const unspaced: Index["unspaced"] = [];
  let longestStem = 0;
  for (const list of listNames)
    for (const written of wordLists[list].normalize("NFKC").split(/\s+/)) {
      const isStem = written.endsWith("*");
      const text = (isStem ? written.slice(0, -1) : written).replaceAll("+", " ");
      if (withoutSpaces.test(text)) {
        unspaced.push({ list, text });
        continue;
      }
      const [first, ...rest] = tokensOf(text);
      if (first === undefined) continue;
      if (isStem && rest.length === 0) {
        stems.set(first, [...(stems.get(first) ?? []), list]);
        longestStem = Math.max(longestStem, first.length);
      } else exact.set(first, [...(exact.get(first) ?? []), { list, rest, isStem }]);
    }
  made = { exact, stems, longestStem, unspaced };
  return made;
}

/** The lists in a stable order. */
export const listNames = Object.keys(wordLists).filter((name): name is WordList => Object.hasOwn(wordLists, name));

/** The lists with an entry at a token position, and the number of tokens of the longest one each. */
export function listsAt(tokens: readonly string[], at: number): Map<WordList, number> {
  const { exact, stems, longestStem } = index();
  const found = new Map<WordList, number>();
  const token = tokens[at];
  if (token === undefined) return found;
  for (const { list, rest, isStem } of exact.get(token) ?? []) {
    const matches = rest.every((part, offset) => {
      const there = tokens[at + 1 + offset];
      return isStem && offset === rest.length - 1 ? there?.startsWith(part) === true : there === part;
    });
    if (matches) found.set(list, Math.max(found.get(list) ?? 0, rest.length + 1));
  }
  for (let length = 1; length <= Math.min(token.length, longestStem); length++)
    for (const list of stems.get(token.slice(0, length)) ?? []) found.set(list, Math.max(found.get(list) ?? 0, 1));
  return found;
}

/** The lists of languages without spaces that occur in a text; `leading`: at its beginning. */
export function unspacedLists(text: string, leading: boolean): Set<WordList> {
  if (!withoutSpaces.test(text)) return new Set();
  return new Set(
    index().unspaced.flatMap((entry) => ((leading ? text.startsWith(entry.text) : text.includes(entry.text)) ? [entry.list] : [])),
  );
}
