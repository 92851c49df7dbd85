import type { ActionKind, ClaimLanguage } from "./claim-language.ts";
import type { Sentence, Token } from "./answer-sentences.ts";
import { type Claim, claimOf, joinPhrases, noCount, objectPaths, wordOf } from "./claim-words.ts";

/** Past forms that are imperatives too, in English: "Run the tests", "Create a branch". */
const imperatives: ReadonlySet<string> = new Set(["read", "run", "put", "set", "split", "create"]);

/** What a present passive tells of every day, not of now: "The file is created." */
const habits: ReadonlySet<string> = new Set(
  "created generated configured tested run read créé créée généré exécuté creato creata generato eseguito".split(" "),
);

/** What makes "run" a perfect. */
const perfect: ReadonlySet<string> = new Set(["have", "i've", "we've", "has"]);

/** What is known when the reading of a sentence has come to a word. */
interface Reading {
  subject: "self" | "other" | null;
  subjectAt: number;
  isBlocked: boolean;
  isRelative: boolean;
  /** The last verb that was a claim. */
  claimAt: number;
  hasFinalAuxiliary: boolean;
}

/** Finds the statements of a sentence about work that its writer did: edits, commands, commits, deployments, sources. */
export function workClaims(sentence: Sentence, language: ClaimLanguage): Claim[] {
  const tokens = joinPhrases(sentence.tokens, language.phrases);
  if (language.conditions.has(wordOf(tokens[0]))) return [];
  const state: Reading = { subject: null, subjectAt: -1, isBlocked: false, isRelative: false, claimAt: -1, hasFinalAuxiliary: false };
  const claims: Claim[] = [];
  for (const [at, token] of tokens.entries()) {
    const word = wordOf(token);
    const isVerb = language.verbs.has(word) || language.firstPerson.has(word) || language.light.has(word);
    if (isVerb && !isExcluded(tokens, at, language)) {
      const claim = claimAt(sentence, tokens, at, language, state);
      if (claim !== null) {
        claims.push(claim);
        state.claimAt = at;
        continue;
      }
    }
    follow(state, tokens, at, language);
  }
  return claims;
}

/** Follows subject, negation and clause from one token to the next. */
function follow(state: Reading, tokens: readonly Token[], at: number, language: ClaimLanguage): void {
  const token = tokens[at];
  const word = wordOf(token);
  if (token?.kind === "punctuation") {
    state.isBlocked = false;
    state.isRelative = false;
    return;
  }
  if (language.finalAuxiliaries.has(word) && (at === 0 || state.subject === "self" || language.self.has(wordOf(tokens[at + 1])))) {
    state.hasFinalAuxiliary = true;
    if (at === 0) state.subject = "self";
  }
  if (language.self.has(word)) {
    state.subject = "self";
    state.subjectAt = at;
    state.isRelative = false;
  } else if (language.others.has(word)) {
    state.subject = "other";
    state.subjectAt = at;
  } else if (language.relatives.has(word)) {
    state.isRelative = true;
    state.subject = null;
  }
  if (language.but.has(word) || (language.and.has(word) && state.claimAt >= 0)) state.isBlocked = false;
  if (language.blockers.has(word) || language.negations.has(word) || language.conditions.has(word)) state.isBlocked = true;
}

/** Whether a verb is no report: an adjective, an idiom, or negated right after it. */
function isExcluded(tokens: readonly Token[], at: number, language: ClaimLanguage): boolean {
  const before = wordOf(tokens[at - 1]);
  if (language.articles.has(before) && !language.self.has(before)) return true;
  if (language.idioms.has(`${wordOf(tokens[at])} ${wordOf(tokens[at + 1])}`)) return true;
  return language.negations.has(wordOf(tokens[at + 1])) || language.negations.has(wordOf(tokens[at + 2]));
}

function claimAt(sentence: Sentence, tokens: readonly Token[], at: number, language: ClaimLanguage, state: Reading): Claim | null {
  const word = wordOf(tokens[at]);
  const start = state.claimAt + 1;
  // "I verified that the tests pass": the clause is the object.
  const looks = language.verbs.get(word) === "read" && language.relatives.has(wordOf(tokens[at + 1]));
  const after = { from: at + 1, to: looks ? tokens.length : endOfObject(tokens, at, language), verb: at };
  const before = { from: start, to: at, verb: -1 };
  const ending = language.finalAuxiliaries.size > 0;
  if (!state.isBlocked && !state.isRelative) {
    if (language.firstPerson.has(word) && state.subject !== "other") return build(sentence, tokens, at, language, after);
    if (state.subject === "self" && ending && state.hasFinalAuxiliary)
      return build(sentence, tokens, at, language, { ...before, from: Math.max(start, state.subjectAt + 1) });
    if (state.subject === "self" && !ending && follows(tokens, at, language, state)) return build(sentence, tokens, at, language, after);
    const isHistory = tokens.some((token) => language.history.has(wordOf(token)) || isYear(token));
    if (!isHistory && isPassive(tokens, at, language)) {
      if (hasWork(tokens, start, at, language)) return build(sentence, tokens, at, language, before);
      // The subject of a reflexive passive follows it: "Se actualizó README.md".
      if (wordOf(tokens[at - 1]) === "se" && hasWork(tokens, after.from, after.to, language))
        return build(sentence, tokens, at, language, after);
    }
    if (!isHistory && !imperatives.has(word)) {
      // "Successfully refactored the module", "Fixed."
      const names = sentence.item || at > 0 || tokens.length === 1;
      if (isLed(tokens, at, language) && !isAdjective(tokens, at, language, names))
        return build(sentence, tokens, at, language, after, !names);
      if (isTrailing(tokens, at, language, state)) return build(sentence, tokens, at, language, before);
    }
  }
  return null;
}

/** A verb belongs to the writer when only auxiliaries stand between the two, or when it continues a list of the writer's verbs. */
function follows(tokens: readonly Token[], at: number, language: ClaimLanguage, { subjectAt, claimAt: last }: Reading): boolean {
  let index = at - 1;
  while (index > subjectAt && language.between.has(wordOf(tokens[index]))) index -= 1;
  // "I run the tests" is no perfect; "I read" may be one.
  if (wordOf(tokens[at]) === "run" && !tokens.slice(Math.max(0, subjectAt), at).some((token) => perfect.has(wordOf(token)))) return false;
  if (index === subjectAt) return true;
  return last > subjectAt && (language.and.has(wordOf(tokens[index])) || tokens[index]?.text === ",");
}

function isPassive(tokens: readonly Token[], at: number, language: ClaimLanguage): boolean {
  if (language.finalAuxiliaries.size > 0) {
    const auxiliary = tokens.findLastIndex((token, index) => index <= at + 1 && language.passive.has(wordOf(token)));
    return auxiliary !== -1 && auxiliary > at - 12 && (auxiliary > at || isLast(tokens, at, language) || auxiliary >= at - 3);
  }
  let index = at - 1;
  while (index > at - 4 && language.between.has(wordOf(tokens[index]))) index -= 1;
  const auxiliary = wordOf(tokens[index]);
  if (language.passive.has(auxiliary)) return true;
  const isEdit = language.verbs.get(wordOf(tokens[at])) === "edit";
  const isResult =
    index < at - 1 || (isEdit && isLast(tokens, at, language) && !language.weak.has(wordOf(tokens[at])) && !habits.has(wordOf(tokens[at])));
  return language.stative.has(auxiliary) && isResult;
}

/** The first word of a sentence, but for marks and adverbs: "✅ Successfully updated …". */
function isLed(tokens: readonly Token[], at: number, language: ClaimLanguage): boolean {
  return tokens.slice(0, at).every((token) => token.kind === "mark" || language.between.has(wordOf(token)));
}

/** "Updated files are listed below." @param named a list or a mark shows that something was done */
function isAdjective(tokens: readonly Token[], at: number, language: ClaimLanguage, named: boolean): boolean {
  const next = tokens[at + 1];
  if (next?.kind !== "word" || language.articles.has(next.text)) return false;
  if (!named && next.text.endsWith("s") && !language.all.has(next.text)) return true;
  return tokens.slice(at + 1, at + 6).some((token) => {
    const word = wordOf(token);
    return language.stative.has(word) || language.passive.has(word) || language.blockers.has(word);
  });
}

/** "README.md updated", "All changes committed", "README.md: added a section". */
function isTrailing(tokens: readonly Token[], at: number, language: ClaimLanguage, state: Reading): boolean {
  if (at === 0 || state.claimAt >= 0) return false;
  const isSubject = (token: Token): boolean => {
    const word = wordOf(token);
    if (token.kind !== "word") return token.kind !== "quote" && token.kind !== "url";
    return [language.work, language.articles, language.all, language.and, language.between, language.tests].some((set) => set.has(word));
  };
  const before = tokens.slice(0, at);
  const names = before.some((token) => token.kind === "path" || language.work.has(wordOf(token)) || language.tests.has(wordOf(token)));
  const labelled = before[0]?.kind === "path" && before.at(-1)?.kind === "punctuation";
  return names && before.every(isSubject) && (labelled || isLast(tokens, at, language));
}

function isLast(tokens: readonly Token[], at: number, language: ClaimLanguage): boolean {
  const rest = tokens.slice(at + 1);
  const end = rest.findIndex((token) => token.kind === "punctuation" || language.and.has(wordOf(token)) || language.but.has(wordOf(token)));
  return (end === -1 ? rest : rest.slice(0, end)).every(
    (token) => token.kind === "mark" || language.between.has(wordOf(token)) || language.passive.has(wordOf(token)),
  );
}

function isYear(token: Token): boolean {
  return token.kind === "number" && /^(?:19|20)\d\d$/.test(token.text);
}

function hasWork(tokens: readonly Token[], from: number, to: number, language: ClaimLanguage): boolean {
  return tokens
    .slice(from, to)
    .some((token) => token.kind === "path" || language.work.has(wordOf(token)) || language.tests.has(wordOf(token)));
}

function endOfObject(tokens: readonly Token[], at: number, language: ClaimLanguage): number {
  const end = tokens.findIndex((token, index) => {
    if (index <= at) return false;
    const word = wordOf(token);
    if (language.relatives.has(word) || language.but.has(word)) return true;
    const joins = language.and.has(wordOf(tokens[index - 1])) || tokens[index - 1]?.text === ",";
    return joins && (language.verbs.has(word) || language.firstPerson.has(word) || language.self.has(word) || language.light.has(word));
  });
  return end === -1 ? tokens.length : end;
}

/** The claim of a verb and its object; null when the object shows that it is none. @param strict the verb stands alone, so that only a named object makes it a claim */
function build(
  sentence: Sentence,
  tokens: readonly Token[],
  at: number,
  language: ClaimLanguage,
  range: { from: number; to: number; verb: number },
  strict = false,
): Claim | null {
  const verb = wordOf(tokens[at]);
  const object = tokens.slice(range.from, Math.min(range.to, range.from + 14));
  const words = object.map((token) => wordOf(token));
  const isWork = hasWork(tokens, range.from, Math.min(range.to, range.from + 10), language);
  const ofTests = words.some((word) => language.tests.has(word));
  const near = words.slice(0, 6);
  const isLight = language.light.has(verb);
  const weak = language.weak.has(verb) || isLight || strict;
  const own = language.verbs.get(verb) ?? language.firstPerson.get(verb) ?? "edit";
  const kind: ActionKind = own === "edit" ? nounKind(near, { isLight, ofTests }) : own;
  const { paths, direct } = objectPaths(tokens, language, range);
  const command = object.find((token) => token.kind === "command")?.text ?? (kind === "run" ? plainCommand(sentence, object) : null);
  const url = object.find((token) => token.kind === "url")?.text ?? null;
  const artefact = paths.length === 0 && near.some((word) => language.artefacts.has(word));
  if (artefact && kind !== "commit") return null;
  const hasObject = isWork || command !== null || url !== null || object.some((token) => token.kind === "path" || token.kind === "code");
  if (kind === "read") {
    const seen = object.flatMap((token) => (token.kind === "path" ? [token.text] : []));
    return hasObject ? claimOf(sentence, "read", { paths: seen, url, named: true }) : null;
  }
  if (weak && !hasObject && kind === own && !ofTests) return null;
  const number = kind === "run" && ofTests ? numberBefore(object, language) : null;
  const count = number === null ? noCount : { passed: null, of: number };
  return claimOf(sentence, kind, { paths: kind === "edit" || kind === "delete" ? paths : [], command, url, ofTests, count, direct });
}

/** "made a commit", "hat einen Commit erstellt". */
function nounKind(words: readonly string[], { isLight, ofTests }: { isLight: boolean; ofTests: boolean }): ActionKind {
  const at = words.indexOf("commit");
  if (at !== -1 && !["message", "messages", "hook", "hooks"].includes(words[at + 1] ?? "")) return "commit";
  if (words.includes("push")) return "push";
  if (words.some((word) => word === "deploy" || word === "deployment")) return "deploy";
  return isLight && ofTests ? "run" : "edit";
}

/** A command without backticks: "I ran npm test". */
function plainCommand(sentence: Sentence, object: readonly Token[]): string | null {
  const first = object.find((token) => token.kind === "word");
  if (
    first === undefined ||
    !/^(?:npm|npx|pnpm|yarn|pytest|cargo|make|mvn|gradle|tsc|eslint|vitest|jest|mocha|phpunit|rspec)$/.test(first.text)
  )
    return null;
  const next = object[object.indexOf(first) + 1];
  return next?.kind === "word" ? `${first.text} ${next.text}` : sentence.text.length > 0 ? first.text : null;
}

function numberBefore(object: readonly Token[], language: ClaimLanguage): number | null {
  const at = object.findIndex((token) => language.tests.has(wordOf(token)));
  const token = object.slice(Math.max(0, at - 2), at).findLast(({ kind }) => kind === "number");
  return token === undefined ? null : Number(token.text.replaceAll(/\D/g, ""));
}
