import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { LancelotError } from "../contract/errors.ts";
import { fold, maxInspected, type NormalText, normalizeText } from "./normalize-text.ts";
import { parseShipped } from "../shipped-yaml.ts";

/** One thing in a text that reads like an attempt to give orders past the owner. */
export interface InjectionFinding {
  readonly rule: string;
  readonly kind: "phrase" | "pattern";
  /** What was found, in the normalized copy; at most 160 characters. */
  readonly match: string;
}

export interface Inspection {
  /** False when something was found. */
  readonly allowed: boolean;
  readonly findings: readonly InjectionFinding[];
  /** The copy that was looked at. The text itself goes on unchanged. */
  readonly normalized: string;
}

/** Looks for attempts to give orders past the owner (requirement X1). It warns; it never changes or refuses a text. */
export interface Sanitizer {
  /** At most one finding a rule. Time grows with the length alone; what is past the first million characters is not looked at. Never throws. */
  inspect(text: string): Inspection;
}

const Examples = { match: z.array(z.string().min(1)).min(1), not_match: z.array(z.string().min(1)).min(1) };
const PhraseRule = z.strictObject({ id: z.string().regex(/^[a-z]+\.[a-z-]+$/), variants: z.array(z.string().min(3)).min(1), ...Examples });
const PatternRule = z.strictObject({
  id: z.string().regex(/^[a-z]+\.[a-z-]+$/),
  pattern: z.string().min(3),
  /** Over the text as it came, for what normalization takes away. */
  raw: z.boolean().default(false),
  ...Examples,
});
/** A table of rules in `config/`. */
export interface RuleTable {
  readonly file: string;
  /** How many rules it has: a table that lost one is not used. */
  readonly phrases: number;
  readonly patterns: number;
}

const sanitizerTable: RuleTable = { file: "sanitizer.yaml", phrases: 16, patterns: 10 };

const Table = z.strictObject({
  version: z.literal(1),
  /** Objects after a phrase that make it ordinary: "ignore the previous instructions in the README". */
  unless_followed_by: z.strictObject({ prepositions: z.array(z.string().min(1)).min(1), objects: z.array(z.string().min(1)).min(1) }),
  phrases: z.array(PhraseRule),
  patterns: z.array(PatternRule),
});

interface CompiledRule {
  readonly id: string;
  /** The first place in a text where the rule holds, or null. */
  readonly find: (forms: NormalText, text: string) => string | null;
}

/**
 * The rules of `sanitizer.yaml`, or of another table of its form, each tried against its own examples. A table that cannot be trusted finds something in every
 * text and says so in its rule, so that nothing passes for clean.
 */
export function createSanitizer(
  configDir: string,
  log: (message: string, error?: unknown) => void = () => undefined,
  of: RuleTable = sanitizerTable,
): Sanitizer {
  let loaded: Sanitizer | null = null;
  const load = (): Sanitizer => {
    try {
      return parseSanitizer(readFileSync(join(configDir, of.file), "utf8"), of);
    } catch (error) {
      log("the rules against injected instructions cannot be used", error);
      const findings: readonly InjectionFinding[] = [{ rule: "sanitizer.unusable", kind: "pattern", match: "" }];
      return { inspect: (text) => ({ allowed: false, findings, normalized: text.slice(0, 1000) }) };
    }
  };
  // Read when first needed: a host starts without it.
  return { inspect: (text) => (loaded ??= load()).inspect(text) };
}

/** As `createSanitizer`, from the text of the table. @throws LancelotError `internal`, naming the rule and the example. */
export function parseSanitizer(yaml: string, of: RuleTable = sanitizerTable): Sanitizer {
  const unusable = (problem: string, cause?: unknown): LancelotError =>
    new LancelotError("internal", `The rules against injected instructions (config/${of.file}) cannot be used: ${problem}`, { cause });
  const { value, shipped } = parseShipped(yaml, 100);
  const table = Table.extend({
    phrases: z.array(PhraseRule).length(of.phrases),
    patterns: z.array(PatternRule).length(of.patterns),
  }).safeParse(value);
  if (!table.success) throw unusable(z.prettifyError(table.error), table.error);
  const ordinary = ordinaryObject(table.data.unless_followed_by);
  const rules = new Map<string, CompiledRule & { kind: InjectionFinding["kind"] }>();
  for (const { id, variants } of table.data.phrases) rules.set(id, { id, kind: "phrase", find: phraseFinder(variants, ordinary) });
  for (const { id, pattern, raw } of table.data.patterns) rules.set(id, { id, kind: "pattern", find: patternFinder(pattern, raw) });
  if (rules.size !== table.data.phrases.length + table.data.patterns.length) throw unusable("two rules have the same id");

  for (const { id, match, not_match } of shipped ? [] : [...table.data.phrases, ...table.data.patterns]) {
    const finds = (example: string): boolean => rules.get(id)?.find(normalizeText(example), example) !== null;
    for (const example of match) if (!finds(example)) throw unusable(`${id} does not find its own example: ${example}`);
    for (const example of not_match) if (finds(example)) throw unusable(`${id} finds what it must not: ${example}`);
  }

  return {
    inspect(text) {
      try {
        const forms = normalizeText(text);
        const findings: InjectionFinding[] = [];
        for (const { id, kind, find } of rules.values()) {
          const match = find(forms, text);
          if (match !== null) findings.push({ rule: id, kind, match: match.slice(0, 160) });
        }
        return { allowed: findings.length === 0, findings, normalized: forms.shown };
      } catch {
        // Nothing here is known to throw; should it, the text is not clean.
        return { allowed: false, findings: [{ rule: "sanitizer.failed", kind: "pattern", match: "" }], normalized: text.slice(0, 1000) };
      }
    },
  };
}

function patternFinder(source: string, raw: boolean): CompiledRule["find"] {
  const pattern = once(() => new RegExp(source, "iu"));
  return ({ matched }, text) => pattern().exec(raw ? text.slice(0, maxInspected) : matched)?.[0] ?? null;
}

const cjk = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
const letterOrDigit = /[\p{L}\p{N}]/u;
/** Between the words of a phrase: white space and what people and attackers put in its place. */
const gap = String.raw`[\s_+*~|/\\"'\x60,.-]+`;
/** A phrase does not go on into the next sentence. */
const sentenceEnd = /\.\s/;
const cjkGap = String.raw`[\s、，]{0,2}`;
/** Places of one phrase in one text that are looked at, at most. */
const maxPlaces = 1_000;

/** A word of a phrase: what it may be, folded, longest first. */
interface PhraseWord {
  readonly alternatives: readonly string[];
  readonly optional: boolean;
}

/**
 * A variant is words with alternatives (`ignore|disregard`), each optional with a `?` at its end; `do_not` is two words that
 * are one alternative. The first must not be optional. Without gaps it is looked for where gaps cannot be trusted.
 */
function phraseFinder(variants: readonly string[], ordinary: RegExp): CompiledRule["find"] {
  const phrases = variants.map((variant) => ({ words: wordsOf(variant), between: cjk.test(variant) ? cjkGap : gap }));
  const spaced = once(() => new RegExp(phrases.map(({ words, between }) => spacedSource(words, between)).join("|"), "g"));
  const withoutGaps = once(() => new RegExp(phrases.map(({ words }) => gaplessSource(words)).join("|")));

  return ({ matched, compact, spelled }) => {
    // Compiling a rule takes a millisecond, and most texts lack a word that each of its variants needs.
    if (phrases.some(({ words }) => hasWords(matched, words))) {
      const pattern = spaced();
      pattern.lastIndex = 0;
      for (let place = 0; place < maxPlaces; place += 1) {
        const found = pattern.exec(matched);
        if (found === null) break;
        const end = found.index + found[0].length;
        if (isWhole(matched, found.index, end) && !sentenceEnd.test(found[0]) && !ordinary.test(matched.slice(end, end + 80)))
          return found[0];
        pattern.lastIndex = found.index + 1;
      }
    }
    for (const text of [...compact, ...spelled]) {
      const found = withoutGaps().exec(text);
      if (found !== null) return found[0];
    }
    return null;
  };
}

function wordsOf(variant: string): PhraseWord[] {
  return variant
    .trim()
    .split(/\s+/)
    .map((word) => {
      const optional = word.endsWith("?");
      const alternatives = (optional ? word.slice(0, -1) : word).split("|").map((one) => fold(one));
      return { alternatives: alternatives.sort(longestFirst), optional };
    });
}

/** Whether every word that is not optional stands somewhere in a folded text. */
function hasWords(matched: string, words: readonly PhraseWord[]): boolean {
  return words.every(
    ({ alternatives, optional }) => optional || alternatives.some((one) => one.split("_").every((part) => matched.includes(part))),
  );
}

function spacedSource(words: readonly PhraseWord[], between: string): string {
  return words
    .map(({ alternatives, optional }, index) => {
      const any = `(?:${alternatives.map((one) => one.split("_").map(escape).join(between)).join("|")})`;
      return index === 0 ? any : optional ? `(?:${between}${any})?` : `${between}${any}`;
    })
    .join("");
}

function gaplessSource(words: readonly PhraseWord[]): string {
  return words
    .map(({ alternatives, optional }) => {
      const bare = `(?:${alternatives.map((one) => one.replace(/[^\p{L}\p{N}]+/gu, "")).join("|")})`;
      return optional ? `${bare}?` : bare;
    })
    .join("");
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** Begins and ends where a word does; scripts without spaces have no such places. */
function isWhole(text: string, start: number, end: number): boolean {
  const whole = (outside: string, inside: string): boolean => !letterOrDigit.test(outside) || cjk.test(inside);
  return whole(text.charAt(start - 1), text.charAt(start)) && whole(text.charAt(end), text.charAt(end - 1));
}

function ordinaryObject({ prepositions, objects }: { prepositions: readonly string[]; objects: readonly string[] }): RegExp {
  const any = (words: readonly string[]): string => words.map((word) => escape(fold(word))).join("|");
  return new RegExp(String.raw`^${gap}(?:${any(prepositions)})\s[^.!?\n]{0,40}?(?:${any(objects)})`);
}

/** So that `restriction` does not end the search where `restrictions` stands. */
function longestFirst(a: string, b: string): number {
  return b.length - a.length;
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
}
