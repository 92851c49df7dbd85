import { join } from "node:path";
import * as z from "zod";
import { checkOwnerValue, fileStamp, OwnerFileFault, parseOwnerYaml, readOwnerText } from "../../owner-file.ts";
import { checkCustomPattern } from "./custom-pattern.ts";
import { type PiiKind, piiKinds } from "./types.ts";

const fileName = "config/redaction.yaml";

const CustomPattern = z.string().min(1).max(1_000);
const Domain = z
  .string()
  .regex(
    /^(?:[a-zA-Z\u00a1-\uffff\d](?:[a-zA-Z\u00a1-\uffff\d-]{0,61}[a-zA-Z\u00a1-\uffff\d])?\.)+[a-zA-Z\u00a1-\uffff\d-]{2,63}$/,
    "must be a domain such as example.org",
  );
const settingKinds = piiKinds.filter((kind): kind is Exclude<PiiKind, "custom"> => kind !== "custom");

export const RedactionSettings = z.strictObject({
  version: z.literal(1).default(1),
  /** Kinds set to false are not detected. */
  kinds: z.partialRecord(z.enum(settingKinds), z.boolean()).default({}),
  /** Whether addresses in private networks count as personal data. */
  private_addresses: z.boolean().default(false),
  /** Exemptions: values, e-mail domains and patterns that are not redacted. */
  allow: z
    .strictObject({
      values: z.array(z.string().min(1).max(500)).max(2_000).default([]),
      domains: z.array(Domain).max(500).default([]),
      patterns: z.array(CustomPattern).max(100).default([]),
    })
    .prefault({}),
  /** Additional patterns for personal data. */
  patterns: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[a-z][a-z0-9_]{0,39}$/, "must be small letters, digits and underscores"),
        pattern: CustomPattern,
      }),
    )
    .max(50)
    .default([]),
});
export type RedactionSettings = z.infer<typeof RedactionSettings>;

/** The current settings with compiled patterns. */
export interface Redaction {
  readonly settings: RedactionSettings;
  readonly allowed: readonly RegExp[];
  readonly patterns: readonly { readonly name: string; readonly pattern: RegExp }[];
  /** Why the owner's file is ignored, with the line and how to correct it; null when it is valid or missing. */
  readonly problem: string | null;
}

/** Settings without exemptions and with every kind enabled. */
export const strictRedaction: Redaction = { settings: RedactionSettings.parse({}), allowed: [], patterns: [], problem: null };

/**
 * `config/redaction.yaml`: the shipped file merged with the owner's in the data folder; read again when either changes. Lists are
 * appended, other settings override. While a file is invalid, there are no exemptions and every kind is enabled.
 * @returns a getter for the current settings; it never throws
 */
export function createRedactionSettings(deps: { configDir: string; dataDir: string }): () => Redaction {
  const paths = [
    { path: join(deps.configDir, "redaction.yaml"), label: fileName },
    { path: join(deps.dataDir, "config", "redaction.yaml"), label: `${fileName} in the data folder` },
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

function load(paths: readonly { path: string; label: string }[]): Redaction {
  let settings = strictRedaction.settings;
  for (const { path, label } of paths) {
    let text: string | null;
    try {
      text = readOwnerText(path);
    } catch (error) {
      const { line, message } = error instanceof OwnerFileFault ? error : new OwnerFileFault(null, "it cannot be read");
      return {
        ...strictRedaction,
        problem: `${label}${line === null ? "" : `, line ${line}`}: ${message}. Until you correct it, nothing is exempt from redaction.`,
      };
    }
    if (text === null) continue;
    const read = parseRedaction(text);
    if ("problem" in read)
      return { ...strictRedaction, problem: `${label}, ${read.problem} Until you correct it, nothing is exempt from redaction.` };
    settings = merge(settings, read.settings);
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

/** Parses one file; returns its settings, or the problem with its line and how to correct it. */
export function parseRedaction(text: string): { settings: RedactionSettings } | { problem: string } {
  try {
    const { value, lineOf } = parseOwnerYaml(text);
    const settings = checkOwnerValue(RedactionSettings, value, lineOf);
    const patterns = [
      ...settings.allow.patterns.map((source, index) => ({ source, path: ["allow", "patterns", index] })),
      ...settings.patterns.map(({ pattern: source }, index) => ({ source, path: ["patterns", index, "pattern"] })),
    ];
    for (const { source, path } of patterns) {
      const { problem } = checkCustomPattern(source);
      if (problem !== null) throw new OwnerFileFault(lineOf(path), `the pattern ${source.slice(0, 80)} ${problem}`);
    }
    return { settings };
  } catch (error) {
    if (!(error instanceof OwnerFileFault)) throw error;
    return { problem: `line ${error.line ?? 1}: ${error.message}.` };
  }
}

function merge(base: RedactionSettings, override: RedactionSettings): RedactionSettings {
  return {
    version: 1,
    kinds: { ...base.kinds, ...override.kinds },
    private_addresses: override.private_addresses || base.private_addresses,
    allow: {
      values: [...base.allow.values, ...override.allow.values],
      domains: [...base.allow.domains, ...override.allow.domains],
      patterns: [...base.allow.patterns, ...override.allow.patterns],
    },
    patterns: [...base.patterns, ...override.patterns],
  };
}
