import type { ActionKind, ClaimLanguage } from "./claim-language.ts";
import type { Sentence, Token } from "./answer-sentences.ts";

/** A statement about work of the writer. */
export interface Claim {
  readonly kind: ActionKind | "tests";
  /** The sentence as written, bounded. */
  readonly text: string;
  /** The files that the statement is about; empty when it names none. */
  readonly paths: readonly string[];
  readonly command: string | null;
  readonly url: string | null;
  /** True when the work was to run tests. */
  readonly ofTests: boolean;
  /** Numbers of tests. `of` is the total that is named. */
  readonly count: { readonly passed: number | null; readonly of: number | null };
  /** True when the file itself is the object: "deleted a.ts", not "deleted the import in a.ts". */
  readonly direct: boolean;
  /** True when the statement says that there was something to look at, such as code or pages. */
  readonly named: boolean;
}

/** So much of a sentence is kept with a claim (characters). */
const keptCharacters = 300;

export const noCount: Claim["count"] = { passed: null, of: null };

/** A claim with defaults, about one sentence. */
export function claimOf(sentence: Sentence, kind: Claim["kind"], more: Partial<Claim> = {}): Claim {
  const text = sentence.text.length > keptCharacters ? `${sentence.text.slice(0, keptCharacters)}…` : sentence.text;
  return { kind, text, paths: [], command: null, url: null, ofTests: false, count: noCount, direct: false, named: false, ...more };
}

/** The word of a token; empty for what is none. */
export function wordOf(token: Token | undefined): string {
  return token?.kind === "word" ? token.text : "";
}

/** Joins words that count as one. */
export function joinPhrases(tokens: readonly Token[], phrases: ClaimLanguage["phrases"]): Token[] {
  const joined: Token[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const phrase = phrases.find((words) => words.every((word, index) => wordOf(tokens[at + index]) === word));
    const first = tokens[at];
    const last = tokens[at + (phrase?.length ?? 1) - 1];
    if (first === undefined || last === undefined) continue;
    joined.push(phrase === undefined ? first : { kind: "word", text: phrase.join("-"), from: first.from, to: last.to });
    at += (phrase?.length ?? 1) - 1;
  }
  return joined;
}

/** The files that stand together first in a range, when they are the object or the place of the work. */
export function objectPaths(
  tokens: readonly Token[],
  language: ClaimLanguage,
  { from, to, verb }: { from: number; to: number; verb: number },
): { paths: string[]; direct: boolean } {
  const start = tokens.findIndex((token, index) => index >= from && index < to && token.kind === "path");
  if (start === -1) return { paths: [], direct: false };
  let before = start - 1;
  while (before >= from && (language.articles.has(wordOf(tokens[before])) || tokens[before]?.kind === "mark")) before -= 1;
  const preceding = wordOf(tokens[before]);
  const direct =
    before < from || before === verb || language.between.has(preceding) || isFileNoun(preceding) || language.all.has(preceding);
  if (!direct && !language.locations.has(preceding) && tokens[before]?.kind !== "punctuation") return { paths: [], direct: false };
  const paths: string[] = [];
  for (let at = start; at < to; at += 1) {
    const token = tokens[at];
    if (token?.kind === "path") paths.push(token.text);
    else if (!isJoint(token, language)) break;
  }
  return { paths, direct };
}

function isJoint(token: Token | undefined, language: ClaimLanguage): boolean {
  const word = wordOf(token);
  return token?.text === "," || language.and.has(word) || language.articles.has(word) || isFileNoun(word);
}

const fileNouns: ReadonlySet<string> = new Set(
  "file files datei dateien fichier fichiers archivo archivos fichero ficheros arquivo arquivos ficheiro both".split(" "),
);
function isFileNoun(word: string): boolean {
  return fileNouns.has(word);
}
