import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isMap, parseDocument, type Document } from "yaml";
import * as z from "zod";
import { LancelotError } from "../contract/errors.ts";
import { ProviderKind } from "../contract/models.ts";
import type { ConfigIssue } from "./config-issue.ts";
import { readUserFile, writeUserFile } from "../storage/storage.ts";
import {
  checkOwnerValue,
  createOwnerFile,
  isRecord,
  OwnerFileFault,
  type OwnerFileState,
  parseOwnerYaml,
  toRecord,
} from "../owner-file.ts";
import { parseShipped } from "../shipped-yaml.ts";

const Thinking = z.looseObject({
  enabled: z.boolean(),
  budget_tokens: z.int().min(1).max(1_000_000).default(10_000).describe("Tokens. Providers with effort levels get the nearest one."),
});
const Profile = z.looseObject({
  model: z.string().min(1).max(300).describe("The name that the provider uses."),
  max_tokens: z.int().min(1).max(1_000_000).default(8192).describe("Of one answer."),
  temperature: z.number().min(0).max(2).optional().describe("0 to 2. Not sent to models that do not support it."),
  thinking: Thinking.optional().describe("Thinking before the answer, if the model supports it."),
  context_window: z.int().min(512).max(100_000_000).optional().describe("Tokens. The provider's own figure, or an estimate, by default."),
});
export type Profile = z.infer<typeof Profile>;

const BaseUrl = z
  .url({ protocol: /^https?$/, error: "must be an http or https address" })
  .refine((value) => !URL.canParse(value) || new URL(value).username === "", "must not contain a user name or key; use api_key_name");

const ProviderConfig = z
  .looseObject({
    kind: ProviderKind.describe("Which kind of provider. openai_compatible: your own or a hosted server."),
    display_name: z.string().min(1).max(100).optional().describe("Display name."),
    mode: z.enum(["sdk", "api"]).default("sdk").describe("sdk: the provider's own library. api: plain requests, without loading it."),
    base_url: BaseUrl.optional().describe("Address of the server; the provider's own by default."),
    api_key_name: z
      .string()
      .regex(/^[A-Z][A-Z0-9_]{1,99}$/, "must be capital letters, digits and underscores")
      .optional()
      .describe("Name of the stored key. Never the key itself."),
    small: z.boolean().optional().describe("A small model behind the address: short prompts, few tools."),
    fast: Profile.optional().describe("The fast model (lane flagship_fast)."),
    deep: Profile.optional().describe(
      "The deep model (lane flagship_deep): plans, reviews, risky and large requests, and retries after the fast model failed.",
    ),
    cache: Profile.optional().describe("A cheap model for small steps."),
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
  model: z.string().min(1).max(4096).default("auto").describe("auto, the path of a .gguf file, or the model's name at url."),
  url: BaseUrl.optional().describe("Address of a local OpenAI-compatible server to use instead of the embedded model."),
  small: z.boolean().default(true).describe("Short prompts, few tools."),
  context_window: z.int().min(512).max(100_000_000).optional(),
  context: z.int().min(512).max(1_000_000).optional().describe("Context size of the embedded model (tokens)."),
  threads: z.int().min(1).max(1_024).optional().describe("Threads of the embedded model; one fewer than the number of cores by default."),
  gpu_layers: z.int().min(0).max(10_000).optional().describe("Layers of the embedded model on the GPU."),
});

const ProviderName = z.string().regex(/^[A-Za-z0-9_.-]{1,100}$/, "must be letters, digits, dots, dashes and underscores");
export const ModelsConfig = z.looseObject({
  version: z.union([z.string(), z.number()]).optional(),
  active: z.string().min(1).max(100).optional().describe("The active provider: a name under providers, or local."),
  local: LocalConfig.prefault({}).describe("The model on this machine."),
  providers: z.record(ProviderName, ProviderConfig).default({}).describe("By a name of your choice."),
});
export type ModelsConfig = z.infer<typeof ModelsConfig>;

export interface LoadedConfig {
  readonly config: ModelsConfig;
  /** Why the user's file is not used, with file and line; null when it is used or absent. */
  readonly problem: string | null;
  /** True when the user's file is invalid and has no last valid version: what it was meant to limit is unknown. */
  readonly isUnknown: boolean;
  /** Settings of the user's file that have no effect. */
  readonly notices: readonly string[];
  /** Problem and notices, each with its line. */
  readonly issues: readonly ConfigIssue[];
}

/** `config/models.yaml`: the user's file over the shipped one, read again when either changed. */
export interface ConfigFile {
  read(): LoadedConfig;
  /** The result of a user's text. */
  check(text: string): LoadedConfig;
  /**
   * Writes the active provider, and the model of its fast and deep profiles, into the user's file. Comments stay.
   * @throws LancelotError `conflict` while the user's file is invalid
   */
  choose(provider: string, model: { name: string; contextWindow: number | null } | undefined): void;
  /** Adds an OpenAI-compatible server to the user's file and makes it the active provider. @throws LancelotError as `choose` */
  addServer(provider: string, server: { displayName: string; url: string; model: string; contextWindow: number | null }): void;
}

const fileName = "config/models.yaml";

export function createConfigFile(deps: { configDir: string; dataDir: string }): ConfigFile {
  const shippedPath = join(deps.configDir, "models.yaml");
  const ownerPath = join(deps.dataDir, "config", "models.yaml");
  const shippedText = (): string => readFileSync(shippedPath, "utf8");
  const file = createOwnerFile({
    dataDir: deps.dataDir,
    name: "models.yaml",
    also: [shippedPath],
    parse: (text) => parseConfig(shippedText(), text),
  });
  let state: ReturnType<typeof file.read> | undefined;
  let loaded: LoadedConfig | undefined;

  function read(): LoadedConfig {
    const now = file.read();
    if (loaded === undefined || now !== state) {
      loaded = withProblem(now, () => parseConfig(shippedText(), ""));
      state = now;
    }
    return loaded;
  }

  const choose: ConfigFile["choose"] = (provider, model) => rewrite((document) => writeChoice(document, provider, model));

  function rewrite(change: (document: Document) => void): void {
    const { problem } = read();
    if (problem !== null) throw new LancelotError("conflict", `${problem} Then try again.`);
    const document = parseDocument(readUserFile(ownerPath, fileName) ?? 'version: "1.0"\n');
    if (!isMap(document.contents)) document.setIn([], document.createNode({ version: "1.0" }));
    change(document);
    writeUserFile(ownerPath, fileName, document.toString({ lineWidth: 0 }));
  }

  function writeChoice(document: Document, provider: string, model: Parameters<ConfigFile["choose"]>[1]): void {
    document.set("active", provider);
    if (model !== undefined && provider !== "local")
      for (const lane of ["fast", "deep"]) {
        const path = ["providers", provider, lane];
        setIn(document, [...path, "model"], model.name);
        if (model.contextWindow === null) document.deleteIn([...path, "context_window"]);
        else setIn(document, [...path, "context_window"], model.contextWindow);
      }
    else if (model !== undefined) setIn(document, ["local", "model"], model.name);
  }

  const addServer: ConfigFile["addServer"] = (provider, { displayName, url, model, contextWindow }) =>
    rewrite((document) => {
      setIn(
        document,
        ["providers", provider],
        document.createNode({ kind: "openai_compatible", display_name: displayName, base_url: url }),
      );
      writeChoice(document, provider, { name: model, contextWindow });
    });

  return { read, choose, addServer, check: (text) => loadConfig(readFileSync(shippedPath, "utf8"), text) };
}

/** The user's text over the shipped one. With an invalid user's text, the shipped one applies and `problem` says why. */
export function loadConfig(shippedText: string, ownerText: string | null): LoadedConfig {
  try {
    return parseConfig(shippedText, ownerText ?? "");
  } catch (fault) {
    if (!(fault instanceof OwnerFileFault)) throw fault;
    const problem = `${fileName} in the data folder, line ${fault.line ?? 1}: ${fault.message}.`;
    return withProblem({ value: null, problem, line: fault.line }, () => parseConfig(shippedText, ""));
  }
}

/** The last valid version of a broken file, or the shipped file, with the problem. */
export function withProblem<T extends Omit<LoadedConfig, "config">>({ value, problem, line }: OwnerFileState<T>, shipped: () => T): T {
  if (problem === null) return value ?? shipped();
  const until = "The file has no effect until you correct it.";
  return {
    ...(value ?? shipped()),
    problem: value === null ? `${problem} ${until}` : `${problem} ${until} Its last valid version applies.`,
    isUnknown: value === null,
    notices: [],
    issues: [{ severity: "critical", line: line ?? 1, message: `${problem} ${until}` }],
  };
}

/** @throws OwnerFileFault */
function parseConfig(shippedText: string, ownerText: string): LoadedConfig {
  const shipped = toRecord(parseShipped(shippedText, 100).value);
  if (ownerText.trim() === "") return { config: ModelsConfig.parse(shipped), problem: null, isUnknown: false, notices: [], issues: [] };
  const owner = parseOwnerYaml(ownerText, { maxAliases: 100 });
  const config = checkOwnerValue(ModelsConfig, mergeConfig(shipped, owner.value), owner.lineOf);
  if (config.active !== undefined && config.active !== "local" && !Object.hasOwn(config.providers, config.active))
    throw new OwnerFileFault(
      owner.lineOf(["active"]),
      `active names "${config.active}", which is not under providers (${Object.keys(config.providers).join(", ")}, local)`,
    );
  const issues = unknownKeys(config).map((path): ConfigIssue => {
    const message = `${path.join(".")} is not a setting and has no effect.`;
    return { severity: "warning", line: owner.lineOf(path), message };
  });
  const notices = issues.map(({ line, message }) => `${fileName}, line ${line}: ${message}`);
  return { config, problem: null, isUnknown: false, notices, issues };
}

const topKeys = Object.keys(ModelsConfig.shape);
const profileKeys = Object.keys(Profile.shape);
function unknownKeys(config: ModelsConfig): string[][] {
  const found: string[][] = [];
  const check = (value: Record<string, unknown> | undefined, known: readonly string[], path: string[]): void => {
    for (const key of Object.keys(value ?? {})) if (!known.includes(key)) found.push([...path, key]);
  };
  check(config, topKeys, []);
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

function mergeConfig(shipped: Record<string, unknown>, owner: Record<string, unknown>): Record<string, unknown> {
  const providers = { ...toRecord(shipped["providers"]) };
  if (owner["providers"] !== undefined && !isRecord(owner["providers"])) return { ...shipped, ...owner };
  for (const [name, mine] of Object.entries(toRecord(owner["providers"]))) {
    const theirs = Object.hasOwn(providers, name) ? providers[name] : undefined;
    // A different kind under a shipped name is a different provider and inherits nothing.
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
    // The context window of the shipped model does not apply to another model.
    if (mine["model"] !== undefined && mine["model"] !== theirs["model"] && mine["context_window"] === undefined)
      merged[lane] = { ...theirs, ...mine, context_window: undefined };
  }
  return merged;
}

/** Sets a value and creates missing or empty maps above it. */
function setIn(document: Document, path: string[], value: unknown): void {
  for (let length = 1; length < path.length; length++) {
    const above = path.slice(0, length);
    if (!isMap(document.getIn(above, true))) document.setIn(above, document.createNode({}));
  }
  document.setIn(path, value);
}
