import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isNode, LineCounter, parseDocument } from "yaml";
import * as z from "zod";
import { checkCustomPattern } from "./custom-pattern.ts";
import { type PiiKind, piiKinds } from "./types.ts";

const fileName = "config/redaction.yaml";
const maxBytes = 200_000;

const OwnerPattern = z.string().min(1).max(1_000);
const Domain = z
  .string()
  .regex(
    /^(?:[a-zA-Z\u00a1-\uffff\d](?:[a-zA-Z\u00a1-\uffff\d-]{0,61}[a-zA-Z\u00a1-\uffff\d])?\.)+[a-zA-Z\u00a1-\uffff\d-]{2,63}$/,
    "must be a domain such as example.org",
  );
const settingKinds = piiKinds.filter((kind): kind is Exclude<PiiKind, "custom"> => kind !== "custom");

export const RedactionSettings = z.strictObject({
  version: z.literal(1).default(1),
  /** Kinds that are not looked for are false. */
  kinds: z.partialRecord(z.enum(settingKinds), z.boolean()).default({}),
  /** Addresses of private networks count as personal data too. */
  private_addresses: z.boolean().default(false),
  /** What stays as it is although it looks like personal data. */
  allow: z
    .strictObject({
      values: z.array(z.string().min(1).max(500)).max(2_000).default([]),
      domains: z.array(Domain).max(500).default([]),
      patterns: z.array(OwnerPattern).max(100).default([]),
    })
    .prefault({}),
  /** What else is personal here, by a name. */
  patterns: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[a-z][a-z0-9_]{0,39}$/, "must be small letters, digits and underscores"),
        pattern: OwnerPattern,
      }),
    )
    .max(50)
    .default([]),
});
export type RedactionSettings = z.infer<typeof RedactionSettings>;

/** The settings in use, their patterns ready to run. */
export interface Redaction {
  readonly settings: RedactionSettings;
  readonly allowed: readonly RegExp[];
  readonly patterns: readonly { readonly name: string; readonly pattern: RegExp }[];
  /** Why the owner's file is not in use, with its line and what to do; null when it is, or there is none. */
  readonly problem: string | null;
}

/** The settings with nothing allowed and every kind looked for. */
export const strictRedaction: Redaction = { settings: RedactionSettings.parse({}), allowed: [], patterns: [], problem: null };

/**
 * `config/redaction.yaml`: the owner's, in the data folder, laid over the shipped one, read again when either changed. Lists are added to
 * the shipped ones, switches replace them. With a file that cannot be used nothing is allowed and everything is looked for.
 * @returns what answers the settings in use; never throws.
 */
export function createRedactionSettings(deps: { configDir: string; dataDir: string }): () => Redaction {
  const paths = [
    { path: join(deps.configDir, "redaction.yaml"), whose: fileName },
    { path: join(deps.dataDir, "config", "redaction.yaml"), whose: `${fileName} in the data folder` },
  ];
  let stamp = "";
  let loaded: Redaction | null = null;
  return () => {
    const now = paths.map(({ path }) => fileStamp(path)).join(" ");
    if (loaded === null || now !== stamp) {
      loaded = load(paths);
      stamp = now;
    }
    return loaded;
  };
}

function load(paths: readonly { path: string; whose: string }[]): Redaction {
  let settings = strictRedaction.settings;
  for (const { path, whose } of paths) {
    let text: string;
    try {
      text = readFileSync(path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") continue;
      return {
        ...strictRedaction,
        problem: `${whose} cannot be read; check its permissions. Until then nothing is exempt from redaction.`,
      };
    }
    const read = parseRedaction(text);
    if ("problem" in read)
      return { ...strictRedaction, problem: `${whose}, ${read.problem} Until you correct it nothing is exempt from redaction.` };
    settings = lay(settings, read.settings);
  }
  const compile = (source: string): RegExp[] => {
    const { pattern } = checkCustomPattern(source);
    return pattern === null ? [] : [pattern];
  };
  return {
    settings,
    allowed: settings.allow.patterns.flatMap(compile),
    patterns: settings.patterns.flatMap(({ name, pattern }) => compile(pattern).map((ready) => ({ name, pattern: ready }))),
    problem: null,
  };
}

/** One file's settings, or what is wrong in which line and what to write instead. */
export function parseRedaction(text: string): { settings: RedactionSettings } | { problem: string } {
  if (text.length > maxBytes) return { problem: "line 1: the file is larger than 200 KB; keep what you need." };
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) return { problem: `line ${lines.linePos(error.pos[0]).line}: this is not YAML (${error.message}).` };
  const lineOf = (path: readonly PropertyKey[]): number => {
    for (let length = path.length; length > 0; length -= 1) {
      const node: unknown = document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
    }
    return 1;
  };
  let value: unknown;
  try {
    value = withoutEmpty(document.toJS({ maxAliasCount: 0 }) ?? {});
  } catch (cause) {
    return { problem: `line 1: ${cause instanceof Error ? cause.message : "it cannot be read"}.` };
  }
  const parsed = RedactionSettings.safeParse(value, { reportInput: true });
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const path = issue?.path ?? [];
    return {
      problem: `line ${lineOf(path)}: ${path.map(String).join(".") || "the file"} ${issue === undefined ? "is not as it should be" : word(issue)}.`,
    };
  }
  const patterns = [
    ...parsed.data.allow.patterns.map((source, index) => ({ source, path: ["allow", "patterns", index] })),
    ...parsed.data.patterns.map(({ pattern: source }, index) => ({ source, path: ["patterns", index, "pattern"] })),
  ];
  for (const { source, path } of patterns) {
    const { problem } = checkCustomPattern(source);
    if (problem !== null) return { problem: `line ${lineOf(path)}: the pattern ${source.slice(0, 80)} ${problem}.` };
  }
  return { settings: parsed.data };
}

function word(issue: z.core.$ZodIssue): string {
  if (issue.code === "unrecognized_keys") return `has no setting ${issue.keys.join(", ")}; remove it or correct its name`;
  if (issue.code === "invalid_key") return `must be one of ${settingKinds.join(", ")}`;
  if (issue.code === "invalid_value") return `must be ${issue.values.map(String).join(" or ")}`;
  if (issue.code === "invalid_type")
    return issue.input === undefined
      ? `is missing (${issue.expected})`
      : `must be ${issue.expected === "array" ? "a list" : issue.expected}`;
  if (issue.code === "too_big" || issue.code === "too_small") return `is too ${issue.code === "too_big" ? "long" : "short"}`;
  return issue.message;
}

/** A key without a value says nothing. */
function withoutEmpty(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).flatMap(([key, inner]) => (inner === null ? [] : [[key, withoutEmpty(inner)]])));
}

function lay(below: RedactionSettings, above: RedactionSettings): RedactionSettings {
  return {
    version: 1,
    kinds: { ...below.kinds, ...above.kinds },
    private_addresses: above.private_addresses || below.private_addresses,
    allow: {
      values: [...below.allow.values, ...above.allow.values],
      domains: [...below.allow.domains, ...above.allow.domains],
      patterns: [...below.allow.patterns, ...above.allow.patterns],
    },
    patterns: [...below.patterns, ...above.patterns],
  };
}

function fileStamp(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? "none" : `${stat.mtimeMs}:${stat.size}:${stat.ino}`;
}
