import { clausesOf } from "./intent-text.ts";
import { withoutSubject } from "./request-form-words.ts";
import { isInterruption } from "./request-form.ts";
import { listsAt, tokensOf } from "./vocabulary-index.ts";

/** A follow-up is short (words). */
const longest = 14;
/** So many words of its own may stand beside a reference to an earlier message: "apply that to the config file too". */
const ownWords = 4;

/**
 * Whether a text goes on with an earlier message, because its first clause with a meaning of its own refers back, or none has one.
 * @param forbidden the text only forbids something; then it has to refer back
 */
export function followUpOf(text: string, forbidden: boolean): { interrupts: boolean; followsUp: boolean } {
  const clauses = clausesOf(text).map(clauseOf);
  const own = clauses.filter(({ kind }) => kind !== "none");
  const words = clauses.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const interrupts =
    own.some(({ kind }) => kind === "interruption") && own.every(({ kind }) => kind === "interruption" || kind === "assent");
  const [first] = own;
  if (first === undefined || words > longest) return { interrupts, followsUp: false };
  if (first.kind === "interruption" || first.kind === "assent") return { interrupts, followsUp: true };
  return {
    interrupts,
    followsUp:
      (first.refersBack && first.content.length <= ownWords) ||
      (!forbidden && first.content.length === 0 && first.tokens.length <= bareWords),
  };
}

/** So many words may a clause have that has none of its own: "do the same once more". */
const bareWords = 5;

interface Clause {
  readonly tokens: readonly string[];
  /** `none`: courtesy, greetings and thanks alone. */
  readonly kind: "none" | "interruption" | "assent" | "own";
  /** Words with a meaning of their own. */
  readonly content: readonly string[];
  readonly refersBack: boolean;
}

const pronoun = new Set("it them that this those these ça cela ceci eso esto ello isso isto questo quello das dies es то это".split(" "));
/** A reference that is a word of its own. */
const reference =
  /(?<![\p{L}\p{N}])(?:the (?:other|rest|same|first|second|third|last|previous)|same (?:for|with|thing)|again|once more|another one|instead|the rest|other one|you mean|(?:da|hin)mit|nochmal|noch (?:ein)?mal|dasselbe|das gleiche|andere[nrs]?|de nouveau|encore|autre|lo mismo|de nuevo|otra vez|de novo|outra vez|mais uma vez|ancora una volta|di nuovo|\p{L}+-(?:le|la|les|moi|ça|lo)|\p{L}{3,20}[áéíó]\p{L}{0,8}(?:lo|la|los|las|melo|mela))(?![\p{L}\p{N}])/u;
const answer = /^(?:no|nope|nein|non|não|k)$/u;
const opening = /^(?:and|but|also|now|und|aber|et|y|e|и|а)\s/u;

function clauseOf(clause: string): Clause {
  const lower = clause.toLowerCase();
  const tokens = tokensOf(lower.replaceAll("'", "")).filter((token) => /[\p{L}\p{N}]/u.test(token));
  if (isInterruption(clause)) return { tokens, kind: "interruption", content: [], refersBack: true };
  const spaced = tokensOf(lower);
  const content: string[] = [];
  let isAssent = false;
  let isPolite = true;
  let pointsBack = false;
  for (let at = 0; at < spaced.length; ) {
    const token = spaced[at] ?? "";
    const found = listsAt(spaced, at);
    const assent = found.get("assent") ?? 0;
    const courtesy = Math.max(found.get("polite") ?? 0, found.get("thanks") ?? 0, found.get("chat") ?? 0);
    const isWord = /[\p{L}\p{N}]/u.test(token);
    // A pronoun after a word of its own clause may mean that.
    if (content.length === 0 && pronoun.has(token) && standsAlone(spaced[at + 1]) && !isVerb(token, spaced[at - 1])) pointsBack = true;
    if (isWord && assent > 0) isAssent = true;
    if (isWord && courtesy === 0) isPolite = false;
    const verb = ["change", "read", "write", "act", "question"].some((list) => found.get(list as "change") === 1);
    if (isWord && assent === 0 && courtesy === 0 && !verb && !withoutSubject.has(token)) content.push(token);
    at += Math.max(1, assent, courtesy);
  }
  const refersBack = pointsBack || reference.test(lower) || opening.test(lower);
  if (answer.test(lower)) return { tokens, kind: "assent", content: [], refersBack: true };
  if (isPolite) return { tokens, kind: "none", content, refersBack: false };
  return { tokens, kind: isAssent && content.length === 0 ? "assent" : "own", content, refersBack };
}

/** "es" is a verb in Spanish, and a pronoun in German. */
function isVerb(token: string, before: string | undefined): boolean {
  return token === "es" && before !== undefined && /^(?:qué|que|cuál|quién|dónde|cómo|no)$/u.test(before);
}

/** A demonstrative before a noun names a thing of its own: "this repo". */
function standsAlone(next: string | undefined): boolean {
  return next === undefined || !/[\p{L}\p{N}]/u.test(next) || withoutSubject.has(next);
}
