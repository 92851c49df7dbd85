import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { LancelotError } from "../contract/errors.ts";
import { createHintIndex } from "./hint-index.ts";
import { fold, maxInspected, type NormalText, normalizeText } from "./normalize-text.ts";
import { parseShipped } from "../shipped-yaml.ts";

/** A match of an injected-instruction rule. */
export interface InjectionFinding {
  readonly rule: string;
  readonly kind: "phrase" | "pattern";
  /** The matched part of the normalized text; at most 160 characters. */
  readonly match: string;
}

export interface Inspection {
  /** False when a rule matched. */
  readonly allowed: boolean;
  readonly findings: readonly InjectionFinding[];
  /** The normalized text that was inspected. The original text is not changed. */
  readonly normalized: string;
}

/** Detects injected instructions (requirement X1). It only reports; it never changes or rejects a text. */
export interface Sanitizer {
  /** Returns at most one finding per rule, in linear time. Inspects the first million characters. Never throws. */
  inspect(text: string): Inspection;
}

const Examples = { match: z.array(z.string().min(1)).min(1), not_match: z.array(z.string().min(1)).min(1) };
const PhraseRule = z.strictObject({ id: z.string().regex(/^[a-z]+\.[a-z-]+$/), variants: z.array(z.string().min(3)).min(1), ...Examples });
const PatternRule = z.strictObject({
  id: z.string().regex(/^[a-z]+\.[a-z-]+$/),
  pattern: z.string().min(3),
  /** Matches the original text, for patterns that normalization removes. */
  raw: z.boolean().default(false),
  ...Examples,
});
/** A rule table in `config/`. */
export interface RuleTable {
  readonly file: string;
  /** Expected number of rules; a table with fewer is rejected. */
  readonly phrases: number;
  readonly patterns: number;
}

const sanitizerTable: RuleTable = { file: "sanitizer.yaml", phrases: 16, patterns: 10 };

const Table = z.strictObject({
  version: z.literal(1),
  /** Objects after a phrase that make it harmless: "ignore the previous instructions in the README". */
  unless_followed_by: z.strictObject({ prepositions: z.array(z.string().min(1)).min(1), objects: z.array(z.string().min(1)).min(1) }),
  phrases: z.array(PhraseRule),
  patterns: z.array(PatternRule),
});

/** A text to search for phrases, and which of their words it contains. */
interface PhraseText {
  readonly text: string;
  readonly present: ReadonlySet<string>;
}

interface Forms extends NormalText {
  readonly spaced: readonly PhraseText[];
}

interface CompiledRule {
  readonly id: string;
  /** Returns the first match of the rule in a text, or null. */
  readonly find: (forms: Forms, text: string) => string | null;
}

/**
 * Creates a sanitizer with the rules of `sanitizer.yaml` or another table of the same format. Rules are tested with their own examples;
 * with an invalid table, the sanitizer reports a finding for every text, so that no text counts as clean.
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
      log("the injected-instruction rules are invalid", error);
      const findings: readonly InjectionFinding[] = [{ rule: "sanitizer.unusable", kind: "pattern", match: "" }];
      return { inspect: (text) => ({ allowed: false, findings, normalized: text.slice(0, 1000) }) };
    }
  };
  // Loaded on first use, to keep the host's start fast.
  return { inspect: (text) => (loaded ??= load()).inspect(text) };
}

/** Parses a rule table. @throws LancelotError `internal`, naming the rule and the example that failed */
export function parseSanitizer(yaml: string, of: RuleTable = sanitizerTable): Sanitizer {
  const unusable = (problem: string, cause?: unknown): LancelotError =>
    new LancelotError("internal", `The injected-instruction rules (config/${of.file}) are invalid: ${problem}`, { cause });
  const { value, shipped } = parseShipped(yaml, 100);
  const table = Table.extend({
    phrases: z.array(PhraseRule).length(of.phrases),
    patterns: z.array(PatternRule).length(of.patterns),
  }).safeParse(value);
  if (!table.success) throw unusable(z.prettifyError(table.error), table.error);
  const harmless = harmlessObject(table.data.unless_followed_by);
  const rules = new Map<string, CompiledRule & { kind: InjectionFinding["kind"] }>();
  for (const { id, variants } of table.data.phrases) rules.set(id, { id, kind: "phrase", find: phraseFinder(variants, harmless) });
  for (const { id, pattern, raw } of table.data.patterns) rules.set(id, { id, kind: "pattern", find: patternFinder(pattern, raw) });
  if (rules.size !== table.data.phrases.length + table.data.patterns.length) throw unusable("two rules have the same id");

  const words = createHintIndex(table.data.phrases.flatMap(({ variants }) => variants.flatMap(wordsOf).flatMap(partsOf)));
  const formsOf = (text: string): Forms => {
    const forms = normalizeText(text);
    return { ...forms, spaced: [forms.matched, ...forms.respelled].map((one) => ({ text: one, present: words.in(one) })) };
  };
  for (const { id, match, not_match } of shipped ? [] : [...table.data.phrases, ...table.data.patterns]) {
    const finds = (example: string): boolean => rules.get(id)?.find(formsOf(example), example) !== null;
    for (const example of match) if (!finds(example)) throw unusable(`${id} does not match its example: ${example}`);
    for (const example of not_match) if (finds(example)) throw unusable(`${id} matches its negative example: ${example}`);
  }

  return {
    inspect(text) {
      try {
        const forms = formsOf(text);
        const findings: InjectionFinding[] = [];
        for (const { id, kind, find } of rules.values()) {
          const match = find(forms, text);
          if (match !== null) findings.push({ rule: id, kind, match: match.slice(0, 160) });
        }
        return { allowed: findings.length === 0, findings, normalized: forms.shown };
      } catch {
        // Not expected to throw; if it does, the text does not count as clean.
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
/** Separators between the words of a phrase: white space and characters used in its place. */
const gap = String.raw`[\s_+*~|/\\"'\x60,.-]+`;
/** A phrase does not go on into the next sentence. */
const sentenceEnd = /\.\s/;
const cjkGap = String.raw`[\s、，]{0,2}`;
/** Maximum candidate matches of one phrase in one text. */
const maxPlaces = 1_000;

/** A word of a phrase: what it may be, folded, longest first. */
interface PhraseWord {
  readonly alternatives: readonly string[];
  readonly optional: boolean;
}

/**
 * A variant is a sequence of words with alternatives (`ignore|disregard`); a `?` suffix makes a word optional, except the first;
 * `do_not` is one alternative of two words. Texts whose gaps are unreliable are matched without gaps.
 */
function phraseFinder(variants: readonly string[], harmless: RegExp): CompiledRule["find"] {
  const phrases = variants.map((variant) => ({ words: wordsOf(variant), between: cjk.test(variant) ? cjkGap : gap }));
  const spaced = once(() => new RegExp(phrases.map(({ words, between }) => spacedSource(words, between)).join("|"), "g"));
  const withoutGaps = once(() => new RegExp(phrases.map(({ words }) => gaplessSource(words)).join("|")));

  const findSpaced = ({ text, present }: PhraseText): string | null => {
    // Compiling a rule takes a millisecond, and most texts lack a required word of each variant.
    if (!phrases.some(({ words }) => hasWords(present, words))) return null;
    const pattern = spaced();
    pattern.lastIndex = 0;
    for (let place = 0; place < maxPlaces; place += 1) {
      const found = pattern.exec(text);
      if (found === null) return null;
      const end = found.index + found[0].length;
      if (isWhole(text, found.index, end) && !sentenceEnd.test(found[0]) && !harmless.test(text.slice(end, end + 80))) return found[0];
      pattern.lastIndex = found.index + 1;
    }
    return null;
  };

  return ({ spaced: texts, compact, despaced }) => {
    for (const text of texts) {
      const found = findSpaced(text);
      if (found !== null) return found;
    }
    for (const text of [...compact, ...despaced]) {
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

/** The words that a word of a phrase may be, each on its own. */
const partsOf = ({ alternatives }: PhraseWord): string[] => alternatives.flatMap((one) => one.split("_"));

/** True when a text contains every required word of a phrase, in any order. */
function hasWords(present: ReadonlySet<string>, words: readonly PhraseWord[]): boolean {
  return words.every(
    ({ alternatives, optional }) => optional || alternatives.some((one) => one.split("_").every((part) => present.has(part))),
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

/** True when a match starts and ends at word boundaries, which scripts without spaces do not have. */
function isWhole(text: string, start: number, end: number): boolean {
  const whole = (outside: string, inside: string): boolean => !letterOrDigit.test(outside) || cjk.test(inside);
  return whole(text.charAt(start - 1), text.charAt(start)) && whole(text.charAt(end), text.charAt(end - 1));
}

function harmlessObject({ prepositions, objects }: { prepositions: readonly string[]; objects: readonly string[] }): RegExp {
  const any = (words: readonly string[]): string => words.map((word) => escape(fold(word))).join("|");
  return new RegExp(String.raw`^${gap}(?:${any(prepositions)})\s[^.!?\n]{0,40}?(?:${any(objects)})`);
}

/** Longer alternatives first, so that `restriction` does not match a part of `restrictions`. */
function longestFirst(a: string, b: string): number {
  return b.length - a.length;
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
}
