import { clausesOf } from "./intent-text.ts";
import {
  asksAboutWord,
  asksAboutWork,
  asksAnyway,
  forbiddenTail,
  forbids,
  forbidsBehind,
  interrupts,
  lead,
  reported,
} from "./request-form-words.ts";
import { listsAt, tokensOf } from "./vocabulary-index.ts";

/** What a request asks for, apart from what it forbids and from what it only talks about. In six languages. */
export interface RequestForm {
  /** Without forbidden clauses; empty when all are. */
  readonly asked: string;
  /** The same, and without the words that are only mentioned: they say nothing about the kind of request. */
  readonly plain: string;
  /** True when an action is forbidden or limited. */
  readonly forbids: boolean;
}

const mentioned = "…";

/** @param words the user's own words, without pasted parts */
export function formOf(words: string): RequestForm {
  const straight = withStraightApostrophes(words);
  const asked = clausesOf(withoutQuotations(straight)).map(askedPart);
  const kept = asked.flatMap(({ text }) => (text === "" ? [] : [text])).join(", ");
  const forbidden = asked.some(({ isForbidden }) => isForbidden);
  return { asked: forbidden ? kept : straight, plain: askedOfWords(forbidden ? kept : withoutQuotations(straight)), forbids: forbidden };
}

/** A text without the words that it only asks about: "what does delete cascade mean?". */
export function withoutMentions(text: string): string {
  return askedOfWords(withStraightApostrophes(text));
}

/** True for a clause that takes back or interrupts what was asked before. */
export function isInterruption(clause: string): boolean {
  return interrupts.test(clause.toLowerCase());
}

/** Keyboards and editors differ. */
function withStraightApostrophes(text: string): string {
  return text.replaceAll(/[’‘ʼ´]/g, "'");
}

const quotation =
  /(?<![\p{L}\p{N}])(?:"[^"\n]{1,200}"|“[^”\n]{1,200}”|„[^“”\n]{1,200}[“”]|«[^»\n]{1,200}»|'[^'\n]{1,200}'(?![\p{L}\p{N}]))/gu;

/** A quotation names a text: a label, a word, a line of a log. */
function withoutQuotations(text: string): string {
  return text.replaceAll(quotation, `"${mentioned}"`);
}

const leading = new RegExp(`^[^\\p{L}\\p{N}]*${lead}`, "u");

/** The part of a clause that asks for something. */
function askedPart(clause: string): { text: string; isForbidden: boolean } {
  const lower = clause.toLowerCase();
  // A character may change its length with its case; then the clause is read as it is.
  const start = lower.length === clause.length ? (leading.exec(lower)?.[0].length ?? 0) : 0;
  const rest = lower.slice(start);
  if (isInterruption(clause)) return { text: clause, isForbidden: false };
  for (const pattern of asksAnyway) {
    const found = pattern.exec(rest);
    if (found !== null) return { text: clause.slice(start + found[0].length), isForbidden: false };
  }
  if (forbids.some((pattern) => pattern.test(rest)) || (forbidsBehind.test(rest) && isOrder(rest))) return { text: "", isForbidden: true };
  const question = reported.exec(rest);
  const from = question === null ? 0 : start + question[0].length;
  const tail = forbiddenTail.exec(lower.slice(from));
  if (tail !== null) return { text: clause.slice(from, from + tail.index), isForbidden: true };
  return { text: clause.slice(from), isForbidden: false };
}

/** Whether a clause begins with the verb of a request. */
function isOrder(clause: string): boolean {
  const found = listsAt(tokensOf(clause), 0);
  return found.has("change") || found.has("write") || found.has("read");
}

/** Masks the words that a sentence only asks about. */
function askedOfWords(text: string): string {
  return text
    .split(/(?<=[.?!;。？！]\s|\n)/u)
    .map((sentence) => {
      const lower = sentence.toLowerCase();
      if (lower.length !== sentence.length) return sentence;
      const start = /^\s*/u.exec(lower)?.[0].length ?? 0;
      const head = asksAboutWord.map((pattern) => pattern.exec(lower.slice(start))).find((found) => found !== null);
      if (head === undefined) return sentence;
      const from = start + head[0].length;
      const until = requestAfter(lower, from);
      const subject = lower.slice(from, until).replace(/(?<![\s.?!;:])[\s.?!;:]+$/u, "");
      const isOwn = tokensOf(subject).some((_, at, tokens) => listsAt(tokens, at).has("here"));
      if (subject === "" || isOwn || asksAboutWork.test(subject)) return sentence;
      const question =
        head[0] === "" || /^(?:define|definition|meaning|difference|unterschied|différence|diferen|differenza)/u.test(head[0])
          ? "what is"
          : head[0];
      return `${question} ${mentioned}?${until < lower.length ? ` ${sentence.slice(until)}` : ""}`;
    })
    .join("");
}

const joint =
  /(?:,\s*|(?<![\s,])\s+)(?:and then|then|and|&|und dann|und|dann|et puis|et|puis|y luego|y|luego|e poi|e|poi|depois|e depois)\s+(?=(\p{L}[\p{L}'-]*)\s+(\p{L}[\p{L}'-]*))/gu;
const determiner =
  /^(?:the|it|them|all|this|that|these|those|my|our|any|every|everything|das|den|die|es|sie|alle\p{L}*|le|la|les|l|ça|tout\p{L}*|lo|los|las|el|todo\p{L}*|il|gli|tutt\p{L}*|o|os|as|isso|tudo)$/u;

/** Where a request follows a question in one sentence: "what is in /tmp and delete it". */
function requestAfter(sentence: string, from: number): number {
  joint.lastIndex = from;
  for (let found = joint.exec(sentence); found !== null; found = joint.exec(sentence)) {
    const [whole, verb = "", object = ""] = found;
    if (isOrder(verb) && determiner.test(object)) return found.index + (whole.startsWith(",") ? 1 : 0);
  }
  return sentence.length;
}
