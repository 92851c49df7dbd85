import type { ClaimLanguage } from "./claim-language.ts";
import type { Sentence, Token } from "./answer-sentences.ts";
import { type Claim, claimOf, joinPhrases, wordOf } from "./claim-words.ts";

/** How far the result may stand from the noun (tokens). */
const reach = 7;

/** Finds the statements of a sentence that tests passed, with their numbers: "All 42 tests pass", "✅ Tests passing", "42 passed". */
export function testClaims(sentence: Sentence, language: ClaimLanguage): Claim[] {
  const tokens = joinPhrases(sentence.tokens, language.phrases);
  if (tokens.some((token) => language.conditions.has(wordOf(token)))) return [];
  for (const [at, token] of tokens.entries()) {
    const word = wordOf(token);
    if (language.tests.has(word)) {
      const passed = passedAt(tokens, at, language);
      if (passed !== null && !isBlocked(tokens, at, passed, language))
        return [claimOf(sentence, "tests", { count: countOf(tokens, at, passed, language) })];
    }
    // "42 passed", "12 passing".
    const number = tokens[at - 1];
    if (
      language.passed.has(word) &&
      number?.kind === "number" &&
      (tokens.length <= 8 || tokens.some((one) => language.tests.has(wordOf(one)))) &&
      !isBlocked(tokens, at, at, language)
    )
      return [claimOf(sentence, "tests", { count: { passed: toNumber(number), of: null } })];
  }
  return [];
}

/** Where the sentence says that the tests passed; null when it does not. */
function passedAt(tokens: readonly Token[], at: number, language: ClaimLanguage): number | null {
  for (let index = at + 1; index <= at + reach && index < tokens.length; index += 1) {
    const word = wordOf(tokens[index]);
    if (language.failed.has(word) || language.negations.has(word) || language.testBlockers.has(word)) return null;
    if (language.but.has(word) || language.relatives.has(word)) return null;
    if (!language.passed.has(word)) continue;
    return isTransitive(tokens[index + 1], language) ? null : index;
  }
  return null;
}

/** "The tests pass a config object." */
function isTransitive(next: Token | undefined, language: ClaimLanguage): boolean {
  return next !== undefined && (next.kind === "code" || next.kind === "path" || language.articles.has(wordOf(next)));
}

function isBlocked(tokens: readonly Token[], at: number, passed: number, language: ClaimLanguage): boolean {
  let start = at;
  while (start > 0 && tokens[start - 1]?.kind !== "punctuation" && !language.but.has(wordOf(tokens[start - 1]))) start -= 1;
  return tokens.slice(start, passed + 1).some((token) => {
    const word = wordOf(token);
    return language.testBlockers.has(word) || language.blockers.has(word) || language.negations.has(word) || language.others.has(word);
  });
}

function countOf(tokens: readonly Token[], at: number, passed: number, language: ClaimLanguage): Claim["count"] {
  const numbers = tokens
    .map((token, index) => ({ token, index }))
    .filter(({ token, index }) => token.kind === "number" && index >= at - 6 && index <= passed + 3);
  const near = numbers.filter(
    ({ index }) => index < at || index < passed || tokens[index - 1]?.text === "(" || language.tests.has(wordOf(tokens[index + 1])),
  );
  const [first, second] = near;
  if (first === undefined) return { passed: null, of: null };
  const between = wordOf(tokens[first.index + 1]);
  if (
    second !== undefined &&
    (language.of.has(between) || tokens.slice(first.index, second.index).some((token) => language.of.has(wordOf(token))))
  )
    return { passed: toNumber(first.token), of: toNumber(second.token) };
  return { passed: toNumber(first.token), of: null };
}

function toNumber({ text }: Token): number {
  return Number(text.replaceAll(/\D/g, ""));
}
