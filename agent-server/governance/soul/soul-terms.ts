import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { capabilities } from "../../contract/governance.ts";
import type { SoulSubject } from "../decision-facts.ts";
import { type Kind, kinds, type Tag, tags } from "../action-vocabulary.ts";
import { parseShipped } from "../../shipped-yaml.ts";

/** What a term covers: everything, or each subject with one of these. */
export interface Coverage {
  readonly everything: boolean;
  readonly kinds: ReadonlySet<string>;
  readonly tags: ReadonlySet<string>;
  readonly capabilities: ReadonlySet<string>;
  /** As `capability.action`. */
  readonly actions: ReadonlySet<string>;
}

/** The meaning of a soul's terms (`soul_terms` of config/governance.yaml). */
export interface SoulTerms {
  /** What a term of `requires_approval` or of a risk rule covers, matched broadly. Null when no word of it is known. */
  approvalCoverage(term: string): Coverage | null;
  /** What a term of `allowed_autonomous` permits, matched exactly. Null for an unknown name. */
  autonomousCoverage(term: string): Coverage | null;
}

const KindName = z.enum(kinds);
const Word = z.string().regex(/^[a-z0-9_]+\*?$/);
const TermTable = z.strictObject({
  names: z.array(z.strictObject({ kinds: z.array(KindName.exclude(["other"])).min(1), terms: z.array(z.string().min(1)).min(1) })),
  words: z
    .array(
      z.strictObject({
        words: z.array(Word).min(1),
        kinds: z.array(KindName).default([]),
        tags: z.array(z.enum(tags)).default([]),
        everything: z.boolean().default(false),
        ordinary: z.boolean().default(false),
        match: z.array(z.string().min(1)).min(1),
        not_match: z.array(z.string().min(1)).min(1),
      }),
    )
    .min(1),
});
type WordRow = z.output<typeof TermTable>["words"][number];

/**
 * Loads and validates the table, including the examples of each row.
 * @throws LancelotError `internal`, naming the row and the example, when the table is invalid.
 */
export function loadSoulTerms(configDir: string): SoulTerms {
  let text: string;
  try {
    text = readFileSync(join(configDir, "governance.yaml"), "utf8");
  } catch (error) {
    throw broken("cannot be read", error);
  }
  return parseSoulTerms(text);
}

/** Same as `loadSoulTerms`, from the table's text. */
export function parseSoulTerms(text: string): SoulTerms {
  let table: z.output<typeof TermTable>;
  let shipped: boolean;
  try {
    const parsed = parseShipped(text);
    shipped = parsed.shipped;
    table = z.object({ soul_terms: TermTable }).parse(parsed.value).soul_terms;
  } catch (error) {
    throw broken("are malformed", error);
  }
  const names = namesOf(table.names);
  const rowsOf = indexWords(table.words);
  const terms: SoulTerms = {
    approvalCoverage(term) {
      const exact = names.get(nameForm(term)) ?? tagNames.get(nameForm(term));
      // `file_ops.write` covers exactly that action; `edit_files` also covers other ways to edit.
      const found = exact !== undefined && exact.actions.size > 0 ? [] : rowsIn(term, rowsOf).map(coverageOf);
      if (exact !== undefined) found.push(exact);
      return found.length === 0 ? null : found.reduce(union);
    },
    autonomousCoverage: (term) => names.get(nameForm(term)) ?? null,
  };
  for (const row of shipped ? [] : table.words) {
    const missed = row.match.find((example) => !rowsIn(example, rowsOf).includes(row));
    if (missed !== undefined) throw broken(`have the example "${missed}" for ${row.words[0]}, which the row does not match`);
    const hit = row.not_match.find((example) => rowsIn(example, rowsOf).includes(row));
    if (hit !== undefined) throw broken(`have the counterexample "${hit}" for ${row.words[0]}, which the row matches`);
  }
  return terms;
}

/** Terms for an unusable table: every term requires approval for everything, and nothing is allowed. */
export const failClosedTerms: SoulTerms = { approvalCoverage: () => coverage({ everything: true }), autonomousCoverage: () => null };

/** True when the coverage includes the subject. */
export function covers(what: Coverage, subject: SoulSubject): boolean {
  return (
    what.everything ||
    what.kinds.has(subject.kind) ||
    what.capabilities.has(subject.capability) ||
    what.actions.has(`${subject.capability}.${subject.action}`) ||
    subject.tags.some((tag) => what.tags.has(tag))
  );
}

/** The words of a term in lower case: `deleteProduction_data` gives delete, production, data. */
export function wordsOf(term: string): string[] {
  return term
    .normalize("NFKC")
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

function nameForm(term: string): string {
  return term
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, "_");
}

function coverage(of: {
  everything?: boolean;
  kinds?: readonly string[];
  tags?: readonly string[];
  capabilities?: readonly string[];
  actions?: readonly string[];
}): Coverage {
  return {
    everything: of.everything ?? false,
    kinds: new Set(of.kinds),
    tags: new Set(of.tags),
    capabilities: new Set(of.capabilities),
    actions: new Set(of.actions),
  };
}

function union(one: Coverage, other: Coverage): Coverage {
  return {
    everything: one.everything || other.everything,
    kinds: new Set([...one.kinds, ...other.kinds]),
    tags: new Set([...one.tags, ...other.tags]),
    capabilities: new Set([...one.capabilities, ...other.capabilities]),
    actions: new Set([...one.actions, ...other.actions]),
  };
}

const coverageOf = (row: WordRow): Coverage => coverage(row);

const tagNames = new Map<string, Coverage>(tags.map((tag: Tag) => [tag, coverage({ tags: [tag] })]));

/** Exact names: kinds, capabilities, `capability.action` and the table's synonyms. `other` is for unknown actions and permits nothing. */
function namesOf(rows: z.output<typeof TermTable>["names"]): { get(name: string): Coverage | undefined } {
  const known = new Map<string, Coverage>();
  for (const row of rows) {
    for (const term of row.terms) {
      if (known.has(nameForm(term))) throw broken(`define "${term}" twice`);
      known.set(nameForm(term), coverage({ kinds: row.kinds }));
    }
  }
  for (const capability of capabilities) known.set(capability, coverage({ capabilities: [capability] }));
  for (const kind of kinds as readonly Kind[]) if (kind !== "other") known.set(kind, coverage({ kinds: [kind] }));
  return {
    get(name) {
      const found = known.get(name);
      if (found !== undefined) return found;
      const dot = name.indexOf(".");
      const isAction = dot > 0 && /^[a-z_]+$/.test(name.slice(dot + 1)) && capabilities.some((one) => one === name.slice(0, dot));
      return isAction ? coverage({ actions: [name] }) : undefined;
    },
  };
}

interface WordIndex {
  readonly whole: ReadonlyMap<string, readonly WordRow[]>;
  readonly starts: readonly (readonly [string, WordRow])[];
}

function indexWords(rows: readonly WordRow[]): WordIndex {
  const whole = new Map<string, WordRow[]>();
  const starts: [string, WordRow][] = [];
  for (const row of rows) {
    for (const word of row.words) {
      if (word.endsWith("*")) starts.push([word.slice(0, -1), row]);
      else whole.set(word, [...(whole.get(word) ?? []), row]);
    }
  }
  return { whole, starts };
}

/** The rows that match a term. Parts joined by "and" or "or" are matched separately, because generic words count only in a part without specific ones. */
function rowsIn(term: string, index: WordIndex): WordRow[] {
  const parts: string[][] = [[]];
  for (const word of wordsOf(term.replaceAll(/[,;/|+&]/g, " and "))) {
    if (word === "and" || word === "or") parts.push([]);
    else parts.at(-1)?.push(word);
  }
  const found = new Set<WordRow>();
  for (const part of parts) {
    const rows = part.flatMap((word) => [
      ...(index.whole.get(word) ?? []),
      ...index.starts.filter(([start]) => word.startsWith(start)).map(([, row]) => row),
    ]);
    const specific = rows.filter((row) => !row.ordinary);
    for (const row of specific.length > 0 ? specific : rows) found.add(row);
  }
  return [...found];
}

function broken(what: string, cause?: unknown): LancelotError {
  return new LancelotError(
    "internal",
    `The soul terms (soul_terms in config/governance.yaml) ${what}. Restore the file, or reinstall Lancelot.`,
    {
      cause,
    },
  );
}
