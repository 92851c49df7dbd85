import type { Check } from "./criteria.ts";
import { type Sentence, sentencesOf } from "./claims/answer-sentences.ts";
import { joinPhrases, wordOf } from "./claims/claim-words.ts";
import type { ClaimLanguage } from "./claims/claim-language.ts";
import { languages } from "./claims/languages/languages.ts";
import { testClaims } from "./claims/test-claims.ts";

/** Longer criteria say more than one thing (tokens). */
const maxTokens = 12;

/**
 * Reads a criterion in the words by which claims are recognized in six languages: "`npm test` läuft erfolgreich durch", "toutes les tests
 * passent", "`a.ts` è stato eliminato". Null for one that is longer, denies something, or speaks of more than one file or command.
 */
export function readByWords(criterion: string): Check | null {
  const [sentence, ...more] = sentencesOf(criterion);
  if (sentence === undefined || more.length > 0 || sentence.isQuestion || sentence.tokens.length > maxTokens) return null;
  for (const language of languages) {
    const check = readIn(sentence, language);
    if (check !== null) return check;
  }
  return null;
}

function readIn(sentence: Sentence, language: ClaimLanguage): Check | null {
  const tokens = joinPhrases(sentence.tokens, language.phrases);
  const words = tokens.map(wordOf).filter((word) => word !== "");
  const unread = [
    language.negations,
    language.conditions,
    language.blockers,
    language.history,
    language.and,
    language.but,
    language.relatives,
  ];
  if (words.some((word) => !language.passed.has(word) && unread.some((set) => set.has(word)))) return null;
  const named = tokens.filter(({ kind }) => kind === "command" || kind === "code" || kind === "path");
  const [object] = named;
  if (object === undefined) {
    const [claim] = testClaims(sentence, language);
    return claim === undefined ? null : { kind: "tests", atLeast: claim.count.passed ?? 1 };
  }
  if (named.length > 1) return null;
  if (object.kind === "path") {
    // The file itself is what something was done to: "a.ts was changed", not "a.ts holds a function that was changed".
    const next = tokens.slice(tokens.indexOf(object) + 1, tokens.indexOf(object) + 3).map(wordOf);
    if (!next.some((word) => language.passive.has(word) || language.stative.has(word))) return null;
    const kind = words.map((word) => language.verbs.get(word)).find((verb) => verb !== undefined);
    if (kind === "delete") return { kind: "exists", path: object.text, exists: false };
    return kind === "edit" ? { kind: "changed", path: object.text } : null;
  }
  const isPassed = words.some((word) => language.passed.has(word)) && !words.some((word) => language.failed.has(word));
  return isPassed && object.kind === "command" ? { kind: "command", command: object.text, exitCode: 0 } : null;
}
