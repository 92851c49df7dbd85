import { clausesOf, requestPart } from "./intent-text.ts";
import { type WordList, wordLists } from "./intent-words.ts";

/** What can be seen of a request without understanding it: the input of the rules, and beside the embedding of the classifier. */
export interface Cues {
  words: string;
  /** Whether a word of the list is in it, and whether a clause begins with one (after please, can you …). */
  has: Record<WordList, boolean>;
  leads: Record<WordList, boolean>;
  /** The first clause begins with one; the last of several does. */
  opens: Record<WordList, boolean>;
  closes: Record<WordList, boolean>;
  isQuestion: boolean;
  /** Paths, identifiers, code. */
  namesCode: boolean;
  /** Code or a log was pasted beside the words. */
  pasted: boolean;
  /** Number of words; Chinese and Japanese characters count half. */
  length: number;
}

const lists = Object.keys(wordLists).filter((name): name is WordList => Object.hasOwn(wordLists, name));
const withoutSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

interface Patterns {
  anywhere: RegExp;
  leading: RegExp;
}
let compiled: Map<WordList, Patterns> | undefined;

/** Made on first use: the lists are long. */
function patterns(): Map<WordList, Patterns> {
  compiled ??= new Map(
    lists.map((name) => {
      const entries = wordLists[name].split(/\s+/).filter((entry) => entry !== "");
      const spaced = entries.filter((entry) => !withoutSpaces.test(entry)).map(toPattern);
      const unspaced = entries.filter((entry) => withoutSpaces.test(entry));
      const words = String.raw`(?:${spaced.join("|")})(?![\p{L}\p{N}_])`;
      const either = unspaced.length === 0 ? words : `(?:${words}|${unspaced.join("|")})`;
      return [
        name,
        {
          anywhere: new RegExp(
            unspaced.length === 0
              ? String.raw`(?<![\p{L}\p{N}_])${words}`
              : String.raw`(?:(?<![\p{L}\p{N}_])${words}|${unspaced.join("|")})`,
            "iu",
          ),
          leading: new RegExp(`^${either}`, "iu"),
        },
      ];
    }),
  );
  return compiled;
}

function toPattern(entry: string): string {
  const escaped = entry.replaceAll(/[.?()[\]{}|^$\\]/g, String.raw`\$&`).replaceAll("+", String.raw`\s+`);
  return escaped.endsWith("*") ? String.raw`${escaped.slice(0, -1)}\p{L}*` : escaped.replace(/\\s\+$/, "");
}

function record<T>(value: (name: WordList) => T): Record<WordList, T> {
  // Every list is in it, made from the very keys of the type.
  return Object.fromEntries(lists.map((name) => [name, value(name)])) as Record<WordList, T>;
}

/** What can be seen of a text, long ones among them: bounded work. */
export function cuesOf(text: string): Cues {
  const { words, pasted } = requestPart(text);
  const clauses = clausesOf(words).map(withoutPoliteness);
  const all = patterns();
  const test = (name: WordList, where: keyof Patterns, value: string) => all.get(name)?.[where].test(value) === true;
  return {
    words,
    has: record((name) => test(name, "anywhere", words)),
    leads: record((name) => clauses.some((clause) => test(name, "leading", clause))),
    opens: record((name) => test(name, "leading", clauses[0] ?? "")),
    closes: record((name) => clauses.length > 1 && test(name, "leading", clauses.at(-1) ?? "")),
    isQuestion: /[?？¿؟]/.test(words),
    namesCode:
      /`[^`]+`|[\w-]+\/[\w./-]+|\b\w+\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|c|h|cpp|cs|php|json|ya?ml|toml|md|sql|sh|css|html)\b|\b[a-z]+[A-Z]\w*|\b\w+_\w+|\w+\(\)/.test(
        words,
      ),
    pasted,
    length: wordCount(words),
  };
}

/** The clause from its first word that says something. */
function withoutPoliteness(clause: string): string {
  const { leading } = patterns().get("polite") ?? { leading: /^$/ };
  let rest = clause;
  for (let count = 0; count < 6; count++) {
    const next = rest.replace(leading, "").replace(/^[\s,.!:;¿¡"'(*-]+/u, "");
    if (next === rest || next === "") break;
    rest = next;
  }
  return rest;
}

function wordCount(words: string): number {
  const unspaced = (words.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu) ?? []).length;
  return (words.match(/[\p{L}\p{N}'’_./-]+/gu) ?? []).length + Math.floor(unspaced / 2);
}

/** The cues as numbers for the classifier, always in the same order. */
export function cueVector(cues: Cues): number[] {
  const flag = (value: boolean) => (value ? 1 : 0);
  return [
    ...lists.map((name) => flag(cues.has[name])),
    ...lists.map((name) => flag(cues.leads[name])),
    ...lists.map((name) => flag(cues.opens[name])),
    ...lists.map((name) => flag(cues.closes[name])),
    flag(cues.isQuestion),
    flag(cues.namesCode),
    flag(cues.pasted),
    flag(cues.length <= 2),
    flag(cues.length <= 5),
    flag(cues.length > 25),
    flag(cues.has.plan && cues.has.act),
    flag(cues.has.plan && (cues.leads.change || cues.leads.write)),
    flag(cues.has.whole && (cues.opens.change || cues.opens.write)),
    flag(cues.isQuestion && cues.has.question),
    flag(cues.opens.question && !cues.leads.change && !cues.leads.write),
  ];
}

/** Names of the numbers of `cueVector`. */
export const cueNames: readonly string[] = [
  ...lists.map((name) => `has ${name}`),
  ...lists.map((name) => `leads ${name}`),
  ...lists.map((name) => `opens ${name}`),
  ...lists.map((name) => `closes ${name}`),
  ...["question", "code", "pasted", "two words", "five words", "long", "plan and act", "plan and change", "whole", "asks", "asks only"],
];
