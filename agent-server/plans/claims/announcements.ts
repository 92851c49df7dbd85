import { type Sentence, sentencesOf } from "./answer-sentences.ts";
import type { ClaimLanguage } from "./claim-language.ts";
import { joinPhrases, wordOf } from "./claim-words.ts";
import { languages } from "./languages/languages.ts";

/** The user as the subject after a word of time, in the languages of the tables. */
const user = new Set(
  "you you've you're you'd your du ihr sie vous tu usted ustedes voi lei você vocês quieras quieres vuoi vuole quiser".split(" "),
);

/** How far from its beginning a sentence may announce (words): "Okay, now I'll …". */
const leadWords = 3;
/** How far behind the beginning of the announcement the work may stand (words). */
const workWords = 9;

/**
 * The announcement of work that an answer ends with: "I'm working on it and will report back", "I'll now edit the file". Offers, questions
 * and what depends on the user announce nothing. Null without one.
 */
export function announcementOf(answer: string): string | null {
  const sentences = sentencesOf(answer).filter(({ tokens }) => tokens.some(({ kind }) => kind !== "mark"));
  const last = sentences.at(-1);
  if (last === undefined || last.isQuestion) return null;
  // "I'm working on it. This may take some minutes."
  const read = sentences.length <= 3 ? sentences.slice(-3) : [last];
  const offer = read.some((sentence) => sentence.isQuestion || languages.some((language) => isOffer(sentence, language)));
  if (offer) return null;
  return read.find((sentence) => languages.some((language) => announces(sentence, language)))?.text ?? null;
}

function isOffer({ tokens }: Sentence, language: ClaimLanguage): boolean {
  if (!announces({ tokens }, language)) return false;
  return tokens.some((token, at) => {
    const word = wordOf(token);
    return language.offers.has(word) && (!language.times.has(word) || user.has(wordOf(tokens[at + 1])));
  });
}

function announces({ tokens }: Pick<Sentence, "tokens">, language: ClaimLanguage): boolean {
  const words = joinPhrases(tokens, language.phrases)
    .filter(({ kind }) => kind !== "punctuation" && kind !== "mark")
    .map((token) => wordOf(token));
  const begins = (at: number, phrase: readonly string[]): boolean => phrase.every((word, index) => words[at + index] === word);
  const starts = words.slice(0, leadWords + 1);
  if (language.waiting.some((phrase) => starts.some((_, at) => begins(at, phrase)))) return true;
  return starts.some((_, at) =>
    language.announcements.some((phrase) => {
      if (!begins(at, phrase)) return false;
      const from = at + phrase.length - 1;
      return words.slice(from, from + workWords + 1).some((word) => language.announcedWork.has(word));
    }),
  );
}
