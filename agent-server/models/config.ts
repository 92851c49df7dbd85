import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isMap, isNode, LineCounter, parseDocument, type Document } from "yaml";
import * as z from "zod";
import { LancelotError } from "../contract/errors.ts";
import { ProviderKind } from "../contract/models.ts";

const Thinking = z.looseObject({
  enabled: z.boolean(),
  /** Tokens. */
  budget_tokens: z.int().min(1).max(1_000_000).default(10_000),
});
const Profile = z.looseObject({
  model: z.string().min(1).max(300),
  max_tokens: z.int().min(1).max(1_000_000).default(8192),
  temperature: z.number().min(0).max(2).optional(),
  thinking: Thinking.optional(),
  /** Tokens. */
  context_window: z.int().min(512).max(100_000_000).optional(),
});
export type Profile = z.infer<typeof Profile>;

const BaseUrl = z
  .url({ protocol: /^https?$/, error: "must be an http or https address" })
  .refine((value) => !URL.canParse(value) || new URL(value).username === "", "must not carry a user name or key; use api_key_name");

const ProviderConfig = z
  .looseObject({
    kind: ProviderKind,
    display_name: z.string().min(1).max(100).optional(),
    mode: z.enum(["sdk", "api"]).default("sdk"),
    base_url: BaseUrl.optional(),
    api_key_name: z
      .string()
      .regex(/^[A-Z][A-Z0-9_]{1,99}$/, "must be capital letters, digits and underscores")
      .optional(),
    /** A small model behind the address: short prompts, few tools. */
    small: z.boolean().optional(),
    fast: Profile.optional(),
    deep: Profile.optional(),
    cache: Profile.optional(),
  })
  .superRefine((provider, context) => {
    if (provider.kind === "openai_compatible" && provider.base_url === undefined)
      context.addIssue({
        code: "custom",
        path: ["base_url"],
        message: 'is missing; add the server\'s address, such as "http://127.0.0.1:11434/v1"',
      });
    if (provider.fast === undefined && provider.kind !== "local" && provider.kind !== "vscode")
      context.addIssue({ code: "custom", path: ["fast"], message: "is missing; add fast: { model: … }" });
  });
export type ProviderConfig = z.infer<typeof ProviderConfig>;

const LocalConfig = z.looseObject({
  enabled: z.boolean().default(true),
  /** `auto`, the path of a .gguf file, or the model's name at `url`. */
  model: z.string().min(1).max(4096).default("auto"),
  url: BaseUrl.optional(),
  small: z.boolean().default(true),
  context_window: z.int().min(512).max(100_000_000).optional(),
});

const ProviderName = z.string().regex(/^[A-Za-z0-9_.-]{1,100}$/, "must be letters, digits, dots, dashes and underscores");
export const ModelsConfig = z.looseObject({
  version: z.union([z.string(), z.number()]).optional(),
  active: z.string().min(1).max(100).optional(),
  local: LocalConfig.prefault({}),
  providers: z.record(ProviderName, ProviderConfig).default({}),
});
export type ModelsConfig = z.infer<typeof ModelsConfig>;

export interface LoadedConfig {
  readonly config: ModelsConfig;
  /** Why the owner's file is not in use, with file and line; null when it is (or there is none). */
  readonly problem: string | null;
  /** What in the owner's file has no effect. */
  readonly notices: readonly string[];
}

/** `config/models.yaml`: the owner's, in the data folder, laid over the shipped one; read again when either file changed. */
export interface ConfigFile {
  read(): LoadedConfig;
  /**
   * Writes the active provider, and the model of its fast and deep profiles, into the owner's file; comments stay.
   * @throws LancelotError `conflict` while the owner's file cannot be read as it is.
   */
  choose(provider: string, model: { name: string; contextWindow: number | null } | undefined): void;
}

const fileName = "config/models.yaml";
const maxBytes = 1_000_000;

export function createConfigFile(deps: { configDir: string; dataDir: string }): ConfigFile {
  const shippedPath = join(deps.configDir, "models.yaml");
  const ownerPath = join(deps.dataDir, "config", "models.yaml");
  let stamp = "";
  let loaded: LoadedConfig | undefined;

  function read(): LoadedConfig {
    const now = `${fileStamp(shippedPath)} ${fileStamp(ownerPath)}`;
    if (loaded === undefined || now !== stamp) {
      loaded = loadConfig(readFileSync(shippedPath, "utf8"), readText(ownerPath));
      stamp = now;
    }
    return loaded;
  }

  function choose(provider: string, model: { name: string; contextWindow: number | null } | undefined): void {
    const { problem } = read();
    if (problem !== null) throw new LancelotError("conflict", `${problem} Then choose again.`);
    const document = parseDocument(readText(ownerPath) ?? 'version: "1.0"\n');
    if (!isMap(document.contents)) document.setIn([], document.createNode({ version: "1.0" }));
    document.set("active", provider);
    if (model !== undefined && provider !== "local")
      for (const lane of ["fast", "deep"]) {
        const path = ["providers", provider, lane];
        setIn(document, [...path, "model"], model.name);
        if (model.contextWindow === null) document.deleteIn([...path, "context_window"]);
        else setIn(document, [...path, "context_window"], model.contextWindow);
      }
    else if (model !== undefined) setIn(document, ["local", "model"], model.name);
    writeWhole(ownerPath, document.toString({ lineWidth: 0 }));
  }

  return { read, choose };
}

/** The shipped text with the owner's laid over it. A broken owner's text leaves the shipped one, and says why. */
export function loadConfig(shippedText: string, ownerText: string | null): LoadedConfig {
  const shipped = toRecord(parseDocument(shippedText).toJS());
  const shippedOnly = (problem: string | null): LoadedConfig => ({ config: ModelsConfig.parse(shipped), problem, notices: [] });
  if (ownerText === null || ownerText.trim() === "") return shippedOnly(null);
  const broken = (line: number, what: string): LoadedConfig =>
    shippedOnly(`${fileName} in the data folder, line ${line}: ${what}. The file has no effect until you correct it.`);

  if (ownerText.length > maxBytes) return broken(1, "the file is larger than 1 MB");
  const lines = new LineCounter();
  const document = parseDocument(ownerText, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) return broken(lines.linePos(error.pos[0]).line, `not YAML: ${error.message}`);
  let owner: unknown;
  try {
    owner = document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    return broken(1, cause instanceof Error ? cause.message : "cannot be read");
  }
  if (owner === null || owner === undefined) return shippedOnly(null);
  if (!isRecord(owner)) return broken(1, "must be a list of keys such as active: and providers:");

  const merged = ModelsConfig.safeParse(mergeConfig(shipped, withoutEmpty(owner)), { reportInput: true });
  if (!merged.success) {
    const [issue] = merged.error.issues;
    const path = issue?.path.map(String) ?? [];
    const message = issue === undefined ? "is not as it should be" : wordIssue(issue);
    return broken(lineOf(document, lines, path), `${path.join(".") || "the file"} ${message}`);
  }
  const config = merged.data;
  if (config.active !== undefined && config.active !== "local" && !Object.hasOwn(config.providers, config.active))
    return broken(
      lineOf(document, lines, ["active"]),
      `active names "${config.active}", which is not under providers (${Object.keys(config.providers).join(", ")}, local)`,
    );
  const at = (path: string[]): string => `${fileName}, line ${lineOf(document, lines, path)}: ${path.join(".")}`;
  const viaApi = Object.entries(config.providers).filter(([, { mode }]) => mode === "api");
  const notices = [
    ...unknownKeys(config).map((path) => `${at(path)} is not a setting and has no effect.`),
    ...viaApi.map(([name]) => `${at(["providers", name, "mode"])} is api, which this version does not have: the official SDK is used.`),
  ];
  return { config, problem: null, notices };
}

function wordIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_value") return `must be one of ${issue.values.map(String).join(", ")}`;
  if (issue.code === "invalid_type") return issue.input === undefined ? `is missing (${issue.expected})` : `must be ${issue.expected}`;
  if (issue.code === "too_small") return `must be at least ${String(issue.minimum)}`;
  if (issue.code === "too_big") return `must be at most ${String(issue.maximum)}`;
  if (issue.code === "invalid_key") return `has a name that ${issue.issues[0]?.message ?? "is not allowed"}`;
  return issue.message;
}

/** The line of the node at a path, or of the nearest one above it that exists. */
function lineOf(document: Document, lines: LineCounter, path: readonly string[]): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

const profileKeys = Object.keys(Profile.shape);
function unknownKeys(config: ModelsConfig): string[][] {
  const found: string[][] = [];
  const check = (value: Record<string, unknown> | undefined, known: readonly string[], path: string[]): void => {
    for (const key of Object.keys(value ?? {})) if (!known.includes(key)) found.push([...path, key]);
  };
  check(config.local, Object.keys(LocalConfig.shape), ["local"]);
  for (const [name, provider] of Object.entries(config.providers)) {
    check(provider, Object.keys(ProviderConfig.shape), ["providers", name]);
    for (const lane of ["fast", "deep", "cache"] as const) {
      check(provider[lane], profileKeys, ["providers", name, lane]);
      check(provider[lane]?.thinking, Object.keys(Thinking.shape), ["providers", name, lane, "thinking"]);
    }
  }
  return found;
}

/** A key without a value says nothing. */
function withoutEmpty(value: Record<string, unknown>): Record<string, unknown> {
  const filled = Object.entries(value).filter(([key, inner]) => inner !== null && key !== "__proto__");
  return Object.fromEntries(filled.map(([key, inner]) => [key, isRecord(inner) ? withoutEmpty(inner) : inner]));
}

function mergeConfig(shipped: Record<string, unknown>, owner: Record<string, unknown>): Record<string, unknown> {
  const providers = { ...toRecord(shipped["providers"]) };
  if (owner["providers"] !== undefined && !isRecord(owner["providers"])) return { ...shipped, ...owner };
  for (const [name, mine] of Object.entries(toRecord(owner["providers"]))) {
    const theirs = Object.hasOwn(providers, name) ? providers[name] : undefined;
    // Another kind under a shipped name is another provider: nothing of the shipped one holds for it.
    const sameKind = isRecord(theirs) && isRecord(mine) && (mine["kind"] === undefined || mine["kind"] === theirs["kind"]);
    providers[name] = sameKind ? mergeProvider(theirs, mine) : mine;
  }
  const local = isRecord(owner["local"]) ? { ...toRecord(shipped["local"]), ...owner["local"] } : (owner["local"] ?? shipped["local"]);
  return { ...shipped, ...owner, local, providers };
}

function mergeProvider(shipped: Record<string, unknown>, owner: Record<string, unknown>): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...shipped, ...owner };
  for (const lane of ["fast", "deep", "cache"]) {
    const [theirs, mine] = [shipped[lane], owner[lane]];
    if (!isRecord(theirs) || !isRecord(mine)) continue;
    merged[lane] = { ...theirs, ...mine };
    // The window of the shipped model says nothing about another one.
    if (mine["model"] !== undefined && mine["model"] !== theirs["model"] && mine["context_window"] === undefined)
      merged[lane] = { ...theirs, ...mine, context_window: undefined };
  }
  return merged;
}

/** Sets a value, making the maps above it where they are missing or empty. */
function setIn(document: Document, path: string[], value: unknown): void {
  for (let length = 1; length < path.length; length++) {
    const above = path.slice(0, length);
    if (!isMap(document.getIn(above, true))) document.setIn(above, document.createNode({}));
  }
  document.setIn(path, value);
}

function writeWhole(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    writeFileSync(draft, text, { mode: 0o600, flush: true });
    renameSync(draft, path);
  } catch (cause) {
    rmSync(draft, { force: true });
    throw new LancelotError("unavailable", `${fileName} in the data folder cannot be written. Check its permissions and the free space.`, {
      cause,
    });
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (isRecord(cause) && cause["code"] === "ENOENT") return null;
    throw new LancelotError("unavailable", `${fileName} in the data folder cannot be read. Check its permissions.`, { cause });
  }
}

function fileStamp(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? "none" : `${stat.mtimeMs}:${stat.size}:${stat.ino}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toRecord(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
