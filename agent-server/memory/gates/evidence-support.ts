import { trimEnd } from "../../contract/trim-end.ts";
import { fold, framing, framingCjk, negators, negatorsCjk, stopWords, weighty } from "./evidence-vocabulary.ts";

/** Up to so many words all of them must match; of longer texts the fraction `enough`. */
const fewWords = 4;
const enough = 0.8;

/**
 * True when a message supports a text: it has all numbers and identifiers exactly, nearly all other words in any
 * form, the same negations, and the same widening or permitting words. Only words are compared, so a
 * paraphrase or a translation is not supported. Quoted, asked or supposed parts of the message do
 * not count.
 */
export function supports(content: string, message: string): boolean {
  const said = wordsOf(ownSentences(message));
  const claimed = wordsOf(sentences(content));
  if (claimed.exact.size === 0 && claimed.plain.size === 0) return false;
  for (const exact of claimed.exact) if (!said.exact.has(exact) && !said.all.has(exact)) return false;
  const saidText = fold(ownSentences(message).join("\n"));
  const claimedText = fold(content);
  if (weighty.some((idea) => idea.test(claimedText) && !idea.test(saidText))) return false;

  let found = 0;
  for (const [word, denied] of claimed.plain) {
    const match = find(said.plain, word);
    if (match === null) continue;
    // Negated in only one of them means the opposite was said.
    if (![...denied].some((one) => match.has(one))) return false;
    found += 1;
  }
  const count = claimed.plain.size;
  return count <= fewWords ? found === count : found >= Math.ceil(count * enough);
}

/** True when a message shares at least one content word with a text. This is enough for a removal. */
export function touches(text: string, message: string): boolean {
  const said = wordsOf(ownSentences(message));
  const about = wordsOf(sentences(text));
  return [...about.exact].some((one) => said.exact.has(one)) || [...about.plain.keys()].some((one) => find(said.plain, one) !== null);
}

interface Words {
  /** Numbers, code names, addresses and options, in lower case. */
  readonly exact: ReadonlySet<string>;
  /** Stems, with their polarity (a word may have both). */
  readonly plain: ReadonlyMap<string, ReadonlySet<boolean>>;
  /** Every word, in lower case. */
  readonly all: ReadonlySet<string>;
}

/** The message's own statements: without quoted lines and passages, code, reported speech, questions and suppositions. */
function ownSentences(message: string): string[] {
  const own: string[] = [];
  let othersParagraph = false;
  let fenced = false;
  for (const line of message.split("\n")) {
    const text = line.trim();
    if (/^(?:```|~~~)/.test(text)) fenced = !fenced;
    else if (text === "") othersParagraph = false;
    else if (!fenced && !othersParagraph && !/^(?:>|\|)/.test(text)) own.push(line);
    if (
      /(?:wrote|writes|says|said|schrieb|schreibt|sagt|ecrit|a ecrit|dice|escribio|пишет|написал|написала|说|写道|曰く|によると)[^.!?]{0,20}[:：]$/u.test(
        fold(text),
      )
    ) {
      othersParagraph = true;
      own.pop();
    }
  }
  return sentences(withoutQuotes(own.join("\n"))).filter(
    (sentence) => !/[?？]["')\]]*$/.test(sentence) && !isSupposed(sentence) && !isOthers(sentence),
  );
}

/** Quotations of four or more words are reported speech; shorter ones are names. */
function withoutQuotes(text: string): string {
  return text.replace(
    /"([^"\n]{1,2000})"|“([^”\n]{1,2000})”|„([^“”\n]{1,2000})[“”]|«([^»\n]{1,2000})»|「([^」\n]{1,2000})」|『([^』\n]{1,2000})』|《([^》\n]{1,2000})》/gu,
    (_whole, ...parts: unknown[]) => {
      const quoted = parts.find((part): part is string => typeof part === "string" && part !== "") ?? "";
      const long = quoted.trim().split(/\s+/).length >= 4 || (cjk.test(quoted) && quoted.length >= 8);
      return long ? " " : ` ${quoted} `;
    },
  );
}

const isSupposed = (sentence: string): boolean =>
  /^\s*(?:what if|suppose|supposing|imagine|assume|let's say|hypothetically|for example|e\.g\.|angenommen|stell dir vor|zum beispiel|supposons|imagine|par exemple|supongamos|imagina|por ejemplo|допустим|представь|например|假设|比如|例如|もし|例えば)/u.test(
    fold(sentence),
  );

/** Reported speech: "The README says that …", "according to the page …". */
const isOthers = (sentence: string): boolean =>
  /\b(?:the |this |that |their |its |my )?(?:readme|file|page|site|website|article|post|issue|ticket|comment|docs?|documentation|mail|email|colleague|boss|manager|customer|vendor|log|output|tool|template|example|bot|reviewer)s? (?:says?|said|tells?|told|wants?|claims?|claimed|states?|wrote|writes|suggests?|asks?|asked)\b|\baccording to\b|\b(?:laut|gemass)\b|\bselon\b|\bsegun\b|согласно|根据|によれば|によると/u.test(
    fold(sentence),
  );

function sentences(text: string): string[] {
  return text
    .split(/(?<=[.!?;])\s+|\n+|(?<=[。！？；])/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "");
}

const cjk = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
/** A comma or a conjunction ends a negation. */
const clauseEnd = /[,，、]|(?<![\p{L}\p{N}])(?:and|but|und|sondern|aber|et|mais|y|pero|sino|и|но|а)(?![\p{L}\p{N}])|而是|但/iu;
const codeLike = /\d|[_/\\@=<>|&$`#*~^+]|^--?\p{L}|\p{Ll}\p{Lu}|\p{L}\.\p{L}|::/u;

function wordsOf(parts: readonly string[]): Words {
  const exact = new Set<string>();
  const plain = new Map<string, Set<boolean>>();
  const all = new Set<string>();
  const add = (word: string, denied: boolean): void => {
    const seen = plain.get(word);
    if (seen === undefined) plain.set(word, new Set([denied]));
    else seen.add(denied);
  };
  for (const clause of parts.flatMap((part) => part.split(clauseEnd))) {
    let rest = "";
    for (const raw of clause.normalize("NFKC").split(/\s+/)) {
      const token = raw.replace(/^[^\p{L}\p{N}@$#/.~-]+/u, "").replace(/(?<![^\p{L}\p{N}/)+#*])[^\p{L}\p{N}/)+#*]+$/u, "");
      all.add(token.toLowerCase());
      if (codeLike.test(token) && !cjk.test(token)) exact.add(trimEnd(token.toLowerCase(), ".,)"));
      else rest += ` ${raw}`;
    }
    for (const { word, denied } of clauseWords(fold(rest))) {
      all.add(word);
      add(word, denied);
    }
  }
  return { exact, plain, all };
}

/** The content words of one clause, each with its polarity. */
function clauseWords(clause: string): { word: string; denied: boolean }[] {
  const tokens = [...clause.replaceAll(/[’]/g, "'").matchAll(/[\p{L}\p{M}]+(?:'[\p{L}\p{M}]+)*/gu)].map(([token]) => token);
  const found: { word: string; denied: boolean }[] = [];
  let denying = false;
  let deniedAt = -1;
  for (const token of tokens) {
    if (cjk.test(token)) {
      for (const part of cjkParts(token)) {
        if (part.denies) {
          denying = true;
          deniedAt = found.length;
        } else for (const word of part.words) found.push({ word, denied: denying });
      }
      continue;
    }
    const bare = token.replace(/^(?:l|d|j|m|t|s|n|qu|c)'/u, "").replace(/'(?:s|re|ve|ll|d|m)$/u, "");
    if (negators.has(token) || negators.has(bare)) {
      denying = true;
      deniedAt = found.length;
    } else if (!stopWords.has(bare) && !framing.has(bare) && bare.length > 1) found.push({ word: stem(bare), denied: denying });
  }
  // "Ich mag Tabs nicht", 「タブは使わない」: the negation follows.
  return deniedAt === found.length && deniedAt !== -1 ? found.map(({ word }) => ({ word, denied: true })) : found;
}

/** Pairs of characters between function words. */
function cjkParts(token: string): { denies: boolean; words: string[] }[] {
  const parts: { denies: boolean; words: string[] }[] = [];
  let from = 0;
  const add = (text: string): void => {
    for (const piece of text.split(framingCjk)) {
      const letters = Array.from(piece);
      if (letters.length === 1) parts.push({ denies: false, words: [piece] });
      else if (letters.length > 1)
        parts.push({ denies: false, words: letters.slice(1).map((letter, at) => `${letters[at] ?? ""}${letter}`) });
    }
  };
  for (const { 0: negator, index } of token.matchAll(negatorsCjk)) {
    add(token.slice(from, index));
    parts.push({ denies: true, words: [] });
    from = index + negator.length;
  }
  add(token.slice(from));
  return parts;
}

/** The entry of another form of the word; null when there is none. */
function find(words: ReadonlyMap<string, ReadonlySet<boolean>>, word: string): ReadonlySet<boolean> | null {
  const same = words.get(word);
  if (same !== undefined) return same;
  if (word.length < 5 || cjk.test(word)) return null;
  for (const [other, denied] of words) {
    if (other.length >= 5 && Math.abs(other.length - word.length) <= 2 && (other.startsWith(word) || word.startsWith(other))) return denied;
  }
  return null;
}

const endings =
  /(?:ations?|ungen|ung|ments?|ingly|ings?|ies|ied|edly|ed|ers?|est|es|en|em|ern|s|e|ando|iendo|ciones|cion|mente|amos|emos|as|os|ez|ons|ent|ait|ами|ями|ого|его|ому|ему|ыми|ими|ах|ях|ов|ев|ей|ой|ий|ый|ая|яя|ое|ее|ые|ие|ую|юю|ам|ям|ом|ем|ы|и|а|я|у|ю|о|е|ь)$/u;

/** A rough stem, the same for both texts, of at least three letters. */
function stem(word: string): string {
  const short = word.replace(endings, "");
  const bare = short.length >= 3 ? short : word;
  // "running", "stopped"
  return bare.replace(/([bdfgklmnprt])\1$/u, "$1");
}
