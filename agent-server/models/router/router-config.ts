import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { Lane } from "../../contract/router.ts";
import { checkOwnerValue, createOwnerFile, isRecord, OwnerFileFault, parseOwnerYaml, toRecord } from "../../owner-file.ts";
import type { ConfigIssue } from "../config-issue.ts";
import { withProblem } from "../models-config.ts";
import { parseShipped } from "../../shipped-yaml.ts";

const Seconds = z.number().min(0.01).max(86_400);
const Characters = z.int().min(1000).max(10_000_000);
const Names = z.array(z.string().min(1).max(200)).max(1000);

const Trigger = z.looseObject({
  type: z.enum(["risk", "complexity", "failure"]).describe("risk: words of the request. complexity: its size. failure: of the fast lane."),
  words: Names.optional().describe("For risk: whole words, case-insensitive; * matches the rest of a word, .. up to four words."),
  words_at_least: z.int().min(1).optional().describe("For complexity: a request of this many words goes to the deep lane."),
  steps_at_least: z.int().min(1).optional().describe("For complexity: a request that lists this many steps goes to the deep lane."),
  files_at_least: z.int().min(1).optional().describe("For complexity: a request that names this many files goes to the deep lane."),
});

const LaneChoice = z.looseObject({
  provider: z.string().min(1).max(100).optional().describe("A name under providers in models.yaml, or local."),
  model: z.string().min(1).max(300).optional().describe("Instead of the one in the provider's profile."),
});

/** `config/router.yaml`: the published schema with Lancelot's additions. */
export const RouterConfig = z.looseObject({
  version: z.union([z.string(), z.number()]).optional(),
  routing_order: z
    .array(z.looseObject({ lane: Lane, priority: z.int().describe("The lowest number comes first.") }))
    .describe("The lanes in use. Omitted lanes are not used; without the flagship lanes nothing leaves this machine."),
  local_utility_tasks: Names.describe("Task types for this machine."),
  deep_task_types: Names.describe("Task types that go to the deep lane."),
  escalation: z.looseObject({
    triggers: z.array(Trigger).describe("Conditions that send a call to the deep lane. Omitted ones do not apply."),
  }),
  lanes: z
    .looseObject({ flagship_fast: LaneChoice.optional(), flagship_deep: LaneChoice.optional(), local_utility: LaneChoice.optional() })
    .describe("Another provider or model for a lane."),
  failover: Names.describe("Providers to use when the selected one fails, in this order. Empty: nothing is sent to another provider."),
  offline: z.enum(["local", "wait"]).describe("Without a network: local uses the local model, wait pauses."),
  timeouts: z.looseObject({
    first_token_seconds: Seconds.describe("Timeout for the first token."),
    idle_seconds: Seconds.describe("Timeout between tokens."),
    total_seconds: Seconds.describe("Timeout for a whole attempt."),
    local_first_token_seconds: Seconds.describe("first_token_seconds for models on this machine."),
    local_total_seconds: Seconds.describe("total_seconds for models on this machine."),
  }),
  retries: z.looseObject({
    tries: z.int().min(1).max(20).describe("Maximum attempts of a call."),
    base_seconds: z
      .number()
      .min(0)
      .max(60)
      .describe("Maximum delay before the first retry; doubles with each, and a random part of it is used."),
    max_wait_seconds: z.number().min(0).max(3600).describe("Longest delay that a provider may request; otherwise the call fails."),
    max_characters: Characters.describe("An answer of which so much has arrived is not begun again: it is kept, and the call fails."),
  }),
  answer: z
    .looseObject({
      max_characters: Characters.describe("Text of an answer."),
      max_thinking_characters: Characters.describe("Reasoning of an answer."),
      max_argument_characters: Characters.describe("Arguments of all tool calls of an answer together."),
      max_calls: z.int().min(1).max(10_000).describe("Tool calls of an answer."),
    })
    .describe("Limits of one answer. An answer that exceeds one is stopped; its text up to there is kept."),
  breaker: z.looseObject({
    failures: z.int().min(1).max(1000).describe("Failures in a row that pause a provider."),
    open_seconds: Seconds.describe("Duration of the pause; then one call tests the provider."),
  }),
  receipts: z.looseObject({
    enabled: z.boolean().describe("A receipt for every decision. Calls have theirs in any case."),
    include_rationale: z.boolean(),
    include_timing: z.boolean(),
  }),
});
export type RouterConfig = z.infer<typeof RouterConfig>;

export interface LoadedRouter {
  readonly config: RouterConfig;
  /** Why the user's file is not used, with file and line; null when it is used or absent. */
  readonly problem: string | null;
  /** True when the user's file is invalid and has no last valid version: what it was meant to limit is unknown. */
  readonly isUnknown: boolean;
  /** Settings of the user's file that have no effect. */
  readonly notices: readonly string[];
  /** Problem and notices, each with its line. */
  readonly issues: readonly ConfigIssue[];
}

const fileName = "config/router.yaml";

/** The user's `router.yaml` over the shipped one, read again when either file, or the names of models.yaml, changed. */
export function createRouterFile(deps: { configDir: string; dataDir: string; providers: () => readonly string[] }): {
  read(): LoadedRouter;
  /** The result of a user's text. */
  check(text: string): LoadedRouter;
} {
  const shippedPath = join(deps.configDir, "router.yaml");
  const shippedText = (): string => readFileSync(shippedPath, "utf8");
  const file = createOwnerFile({
    dataDir: deps.dataDir,
    name: "router.yaml",
    also: [shippedPath],
    parse: (text) => ({ text, loaded: parseRouter(shippedText(), text, deps.providers()) }),
  });
  let state: ReturnType<typeof file.read> | undefined;
  let known = "";
  let loaded: LoadedRouter | undefined;
  return {
    check: (text) => loadRouter(shippedText(), text, deps.providers()),
    read() {
      const providers = deps.providers();
      const now = file.read();
      if (loaded === undefined || now !== state || known !== providers.join()) {
        const { value } = now;
        // The notices name providers that models.yaml does not have.
        const current = value === null ? null : parseRouter(shippedText(), value.text, providers);
        loaded = withProblem({ ...now, value: current }, () => parseRouter(shippedText(), "", providers));
        state = now;
        known = providers.join();
      }
      return loaded;
    },
  };
}

/**
 * The user's text over the shipped one. With an invalid user's text, the shipped one applies and `problem` says why.
 * @param providers the names of models.yaml
 */
export function loadRouter(shippedText: string, ownerText: string | null, providers: readonly string[]): LoadedRouter {
  try {
    return parseRouter(shippedText, ownerText ?? "", providers);
  } catch (fault) {
    if (!(fault instanceof OwnerFileFault)) throw fault;
    const problem = `${fileName} in the data folder, line ${fault.line ?? 1}: ${fault.message}.`;
    return withProblem({ value: null, problem, line: fault.line }, () => parseRouter(shippedText, "", providers));
  }
}

/** @throws OwnerFileFault */
function parseRouter(shippedText: string, ownerText: string, providers: readonly string[]): LoadedRouter {
  const shipped = toRecord(parseShipped(shippedText, 100).value);
  if (ownerText.trim() === "") return { config: RouterConfig.parse(shipped), problem: null, isUnknown: false, notices: [], issues: [] };
  const owner = parseOwnerYaml(ownerText, { maxAliases: 100 });
  const config = checkOwnerValue(RouterConfig, merge(shipped, owner.value), owner.lineOf);
  const issues = unknownKeys(owner.value).map((path): ConfigIssue => {
    const message = `${path.join(".")} is not a setting and has no effect.`;
    return { severity: "warning", line: owner.lineOf(path), message };
  });
  for (const { path, name } of namedProviders(config))
    if (!providers.includes(name))
      issues.push({
        severity: "warning",
        line: owner.lineOf(path),
        message: `${path.join(".")} names "${name}", which config/models.yaml does not have (${providers.join(", ")}).`,
      });
  const notices = issues.map(({ line, message }) => `${fileName}, line ${line}: ${message}`);
  return { config, problem: null, isUnknown: false, notices, issues };
}

function namedProviders({ lanes, failover }: RouterConfig): { path: string[]; name: string }[] {
  const chosen = (["flagship_fast", "flagship_deep", "local_utility"] as const).flatMap((lane) => {
    const name = lanes[lane]?.provider;
    return name === undefined ? [] : [{ path: ["lanes", lane, "provider"], name }];
  });
  return [...chosen, ...failover.map((name, index) => ({ path: ["failover", String(index)], name }))];
}

function merge(shipped: Record<string, unknown>, owner: Record<string, unknown>): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...shipped };
  for (const [key, mine] of Object.entries(owner)) {
    const theirs = shipped[key];
    merged[key] = isRecord(theirs) && isRecord(mine) ? merge(theirs, mine) : mine;
  }
  const [theirs, mine] = [shipped["triggers"], owner["triggers"]];
  // A trigger without settings keeps those of the shipped trigger of its type.
  if (Array.isArray(theirs) && Array.isArray(mine))
    merged["triggers"] = mine.map((one: unknown) =>
      isRecord(one) ? { ...toRecord(theirs.find((other: unknown) => isRecord(other) && other["type"] === one["type"])), ...one } : one,
    );
  return merged;
}

/** Paths of the user's keys that are not in the schema. List items are checked one by one. */
function unknownKeys(value: unknown, schema: unknown = RouterConfig, path: string[] = []): string[][] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodArray)
    return Array.isArray(value) ? value.flatMap((one, index) => unknownKeys(one, inner.element, [...path, String(index)])) : [];
  if (!(inner instanceof z.ZodObject) || !isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, child]) =>
    Object.hasOwn(inner.shape, key) ? unknownKeys(child, inner.shape[key], [...path, key]) : [[...path, key]],
  );
}

function unwrap(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? unwrap(schema.unwrap()) : schema;
}
