import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { LancelotError } from "../../../contract/errors.ts";
import { tags } from "../../action-vocabulary.ts";
import type { Finding } from "./command-findings.ts";
import { parseShipped } from "../../../shipped-yaml.ts";

/**
 * How a program uses an argument: a path it reads (`list`: names only, `search`: everything below), writes, creates, deletes or
 * changes (`output`: compiler output); plain text; a working folder; shell text or code it runs; a program it starts.
 */
export const uses = [
  "text",
  "read",
  "list",
  "search",
  "write",
  "output",
  "create",
  "delete",
  "delete-tree",
  "change",
  "change-tree",
  "maybe",
  "cwd",
  "shell",
  "code",
  "program",
] as const;
export type Use = (typeof uses)[number];

const Flag = z.string().regex(/^[-+]\S+$/);
const Values = z.record(Flag, z.enum(uses));
const Uses = z.union([z.enum(uses), z.array(z.enum(uses)).min(1)]);
const words = z.array(z.string().min(1)).min(1);

const RuleRow = z.strictObject({
  id: z.string().regex(/^[a-z0-9]+(?:[.-][a-z0-9]+)*$/),
  /** Subcommands, such as `stash list`; `*` matches every text. When absent, the row matches with every subcommand and without one. */
  sub: words.optional(),
  /** At least one of these flags is present. */
  any: z.array(Flag).min(1).optional(),
  none: z.array(Flag).min(1).optional(),
  /** Every present flag is one of these. */
  only: z.array(Flag).optional(),
  /** An operand or flag value matches one of these; `*` matches any text. */
  operand: words.optional(),
  /** Every operand matches one of these. */
  operands_only: words.optional(),
  /** True: no operands; false: at least one. */
  bare: z.boolean().optional(),
  /** Also applies beside the first matching rule, and can only be stricter. */
  raises: z.literal(true).optional(),
  verdict: z.enum(["allow", "ask", "deny"]),
  tier: z.enum(["T2", "T3"]).optional(),
  risk: z.enum(["low", "medium", "high", "critical"]).optional(),
  message: z.string().regex(/^[A-Z].*\.$/s),
  instead: z.array(z.string().regex(/^[A-Z].*\.$/s)).default([]),
  tags: z.array(z.enum(tags)).default([]),
  operands: Uses.optional(),
  values: Values.optional(),
  match: words,
  not_match: words,
});

const ProgramRow = z.strictObject({
  program: words,
  /** `single`: flags have one dash and a long name, as in `find -name`. */
  style: z.enum(["gnu", "single"]).default("gnu"),
  subcommands: z.boolean().default(false),
  /** Flags end at the first operand; the rest belongs to another program. */
  stop: z.boolean().default(false),
  /** A project tool, which `npx`, `python -m` and similar runners may start. */
  tool: z.boolean().default(false),
  values: Values.default({}),
  operands: Uses.default("maybe"),
  /** Operands from this index on are a command, as words or as shell text. */
  runs: z.strictObject({ after: z.int().min(0), as: z.enum(["words", "shell"]) }).optional(),
  /** The entry in `special-programs.ts` that handles the program's syntax. */
  special: z.string().optional(),
  rules: z.array(RuleRow).min(1),
});

const Table = z.strictObject({ version: z.literal(1), programs: z.array(ProgramRow).min(1) });

export interface ProgramRule {
  readonly finding: Finding;
  /** Each is a list of words; empty when any subcommand matches. */
  readonly sub: readonly (readonly RegExp[])[];
  readonly any: readonly string[] | null;
  readonly none: readonly string[] | null;
  readonly only: readonly string[] | null;
  readonly operand: readonly RegExp[] | null;
  readonly operandsOnly: readonly RegExp[] | null;
  readonly bare: boolean | null;
  readonly raises: boolean;
  readonly operands: readonly Use[] | null;
  readonly values: ReadonlyMap<string, Use>;
  readonly match: readonly string[];
  readonly notMatch: readonly string[];
}

export interface Program {
  readonly style: "gnu" | "single";
  readonly subcommands: boolean;
  readonly stop: boolean;
  readonly values: ReadonlyMap<string, Use>;
  readonly operands: readonly Use[];
  readonly runs: { readonly after: number; readonly as: "words" | "shell" } | null;
  readonly special: string | null;
  readonly tool: boolean;
  /** True when the row describes several programs, so that a flag with a value may have none for this one. */
  readonly shared: boolean;
  readonly rules: readonly ProgramRule[];
}

/** A file of the table. */
export interface TableFile {
  readonly name: string;
  readonly text: string;
}

export interface CommandTable {
  readonly programs: ReadonlyMap<string, Program>;
  /** SHA-256 of the files. */
  readonly version: string;
}

/** Reads the table's files. @throws LancelotError `internal` when they cannot be read. */
export function readCommandTable(configDir: string): readonly TableFile[] {
  const folder = join(configDir, "commands");
  let files: TableFile[];
  try {
    files = readdirSync(folder)
      .filter((name) => name.endsWith(".yaml"))
      .toSorted()
      .map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));
  } catch (error) {
    throw new LancelotError("internal", "The command rules (config/commands) cannot be read. Reinstall Lancelot.", { cause: error });
  }
  if (files.length === 0) throw new LancelotError("internal", "There are no command rules (config/commands). Reinstall Lancelot.");
  return files;
}

/**
 * Parses the table. `commandTableFaults` checks its examples.
 * @throws LancelotError `internal` when a file is malformed.
 */
export function parseCommandTable(files: readonly TableFile[]): CommandTable {
  const hash = createHash("sha256");
  const programs = new Map<string, Program>();
  const ids = new Set<string>();
  for (const { name, text } of files) {
    hash.update(`${name}\0${text}\0`);
    let table: z.output<typeof Table>;
    try {
      table = Table.parse(parseShipped(text).value);
    } catch (error) {
      throw new LancelotError(
        "internal",
        `The command rules in config/commands/${name} are malformed. Restore the file, or reinstall Lancelot.`,
        {
          cause: error,
        },
      );
    }
    for (const row of table.programs) {
      for (const rule of row.rules) {
        if (ids.has(rule.id)) throw brokenCommandRule(rule.id, "stands twice in the table");
        ids.add(rule.id);
      }
      const program = compileProgram(row);
      for (const word of row.program) {
        if (programs.has(word)) throw brokenCommandRule(word, "is described twice");
        programs.set(word, program);
      }
    }
  }
  return { programs, version: hash.digest("hex") };
}

function brokenCommandRule(id: string, what: string): LancelotError {
  return new LancelotError("internal", `The command rule ${id} in config/commands ${what}. Restore the file, or reinstall Lancelot.`);
}

function compileProgram(row: z.output<typeof ProgramRow>): Program {
  return {
    style: row.style,
    subcommands: row.subcommands,
    stop: row.stop,
    values: new Map(Object.entries(row.values)),
    operands: usesOf(row.operands),
    runs: row.runs ?? null,
    special: row.special ?? null,
    tool: row.tool,
    shared: row.program.length > 1,
    rules: row.rules.map((rule) => compileRule(rule, row.program)),
  };
}

function compileRule(row: z.output<typeof RuleRow>, programs: readonly string[]): ProgramRule {
  if (row.verdict === "allow" && row.tier === "T3") throw brokenCommandRule(row.id, "allows at T3");
  const tier = row.tier ?? (row.verdict === "deny" ? "T3" : "T2");
  const usual = row.verdict === "deny" ? "critical" : row.verdict === "allow" ? "low" : tier === "T3" ? "high" : "medium";
  for (const example of row.match) {
    if (!programs.some((program) => example.includes(program)))
      throw brokenCommandRule(row.id, `has an example without its program: "${example}"`);
  }
  return {
    finding: {
      id: row.id,
      verdict: row.verdict,
      tier,
      risk: row.risk ?? usual,
      message: row.message,
      instead: row.instead,
      tags: row.tags,
    },
    sub: (row.sub ?? []).map((one) => one.split(" ").map((word) => wildcard(word))),
    any: row.any ?? null,
    none: row.none ?? null,
    only: row.only ?? null,
    operand: row.operand?.map((word) => wildcard(word)) ?? null,
    operandsOnly: row.operands_only?.map((word) => wildcard(word)) ?? null,
    bare: row.bare ?? null,
    raises: row.raises ?? false,
    operands: row.operands === undefined ? null : usesOf(row.operands),
    values: new Map(Object.entries(row.values ?? {})),
    match: row.match,
    notMatch: row.not_match,
  };
}

function usesOf(row: Use | readonly Use[]): readonly Use[] {
  return typeof row === "string" ? [row] : row;
}

/** `*` matches any text including slashes, `?` one character. */
function wildcard(word: string): RegExp {
  const source = word
    .replaceAll(/[.+^${}()|[\]\\/]/g, "\\$&")
    .replaceAll("?", ".")
    .replaceAll("*", ".*");
  return new RegExp(`^${source}$`, "s");
}
