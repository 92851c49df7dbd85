import { followUpOf } from "./follow-up.ts";
import { clausesOf, requestPart } from "./intent-text.ts";
import type { WordList } from "./intent-vocabulary.ts";
import { formOf } from "./request-form.ts";
import { listNames, listsAt, tokensOf, unspacedLists } from "./vocabulary-index.ts";

/** Formal features of a request: the input of the rules, and of the classifier besides the embedding. */
export interface Cues {
  /** What is asked, without forbidden clauses; the lists are looked for in it. */
  words: string;
  /** Whether a word of the list occurs, and whether a clause begins with one (after please, can you …). */
  has: Record<WordList, boolean>;
  leads: Record<WordList, boolean>;
  /** The first clause begins with one; the last of several does. */
  opens: Record<WordList, boolean>;
  closes: Record<WordList, boolean>;
  isQuestion: boolean;
  /** Paths, identifiers, code. */
  namesCode: boolean;
  /** Code or a log was pasted. */
  pasted: boolean;
  /** Number of words; Chinese and Japanese characters count half. */
  length: number;
  /** A write verb occurs anywhere, also where it is forbidden or only mentioned. */
  namesWriting: boolean;
  /** Something is forbidden or limited. */
  forbids: boolean;
  /** It takes back or interrupts what was asked before, and asks for nothing else. */
  interrupts: boolean;
  /** It has no subject of its own: it goes on with what was said before. */
  followsUp: boolean;
}

const lists = listNames;

function record<T>(value: (name: WordList) => T): Record<WordList, T> {
  // It has every list, since it is made from the keys of the type.
  return Object.fromEntries(lists.map((name) => [name, value(name)])) as Record<WordList, T>;
}

/** The cues of a text, in bounded time for long ones. */
export function cuesOf(text: string): Cues {
  const { words: whole, pasted } = requestPart(text);
  const { asked: words, plain, forbids } = formOf(whole);
  const present = listsIn(plain);
  const beginnings = clausesOf(plain).map(listsAtBeginning);
  const leading = new Set(beginnings.flatMap((found) => [...found]));
  const first = beginnings[0];
  const last = beginnings.length > 1 ? beginnings.at(-1) : undefined;
  return {
    words,
    has: record((name) => present.has(name)),
    leads: record((name) => leading.has(name)),
    opens: record((name) => first?.has(name) === true),
    closes: record((name) => last?.has(name) === true),
    isQuestion: /[?？¿؟]/.test(words),
    namesCode:
      /`[^`]+`|[\w-]\/[\w./-]|\w\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|c|h|cpp|cs|php|json|ya?ml|toml|md|sql|sh|css|html)\b|\b[a-z]+[A-Z]|\w_\w|\w\(\)/.test(
        words,
      ),
    pasted,
    length: wordCount(words),
    namesWriting: listsIn(whole).has("write"),
    forbids,
    ...followUpOf(whole, forbids),
  };
}

function listsIn(text: string): Set<WordList> {
  const tokens = tokensOf(text);
  return new Set([...tokens.flatMap((_, at) => [...listsAt(tokens, at).keys()]), ...unspacedLists(text, false)]);
}

/** The lists whose words begin a clause, after please, can you and the like. */
function listsAtBeginning(clause: string): Set<WordList> {
  const tokens = tokensOf(clause);
  let at = 0;
  while (at < tokens.length) {
    const found = listsAt(tokens, at);
    const courtesy = found.get("polite") ?? (/[\p{L}\p{N}]/u.test(tokens[at] ?? "") ? 0 : 1);
    // "Can I …" asks, "can you …" requests.
    const isQuestion = (found.get("question") ?? 0) > courtesy;
    if (courtesy === 0 || isQuestion || at + courtesy >= tokens.length) break;
    at += courtesy;
  }
  const spaced = listsAt(tokens, at);
  return new Set([...spaced.keys(), ...unspacedLists(clause.replace(/^请/u, ""), true)]);
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
