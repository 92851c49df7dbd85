import type { AskEditor } from "../contract/editor.ts";
import { LancelotError } from "../contract/errors.ts";
import type { LocalModel, ModelInfo, ProviderState } from "../contract/models.ts";
import type { ModelOverride, RouterDecision } from "../contract/router.ts";
import { type Ledger, withReceipt } from "../receipts/receipts.ts";
import { createPiiDetector, type GatedFetch, type OAuth, type Redactor, type Secrets } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import type { AttemptDeps } from "./attempts.ts";
import { type CallContext, createCalls } from "./call.ts";
import { createConfigFiles } from "./config-files.ts";
import { createListing } from "./listing.ts";
import { createLocal } from "./local/local.ts";
import { createOnThisMachine, type OnThisMachine } from "./on-this-machine.ts";
import { startLocal } from "./local-start.ts";
import type { ConfigIssue } from "./owners-yaml.ts";
import { leavesMachine, type OutboundDeps, prepareOutbound } from "./outbound.ts";
import type { ActiveModel, ModelEvent, ModelRequest } from "./request.ts";
import { createBreakers } from "./resilience/breakers.ts";
import { createConnectivity } from "./resilience/connectivity.ts";
import type { Limits } from "./resilience/patience.ts";
import { createDecisions } from "./router/decisions.ts";
import { createRouterView, type RouterView } from "./router/handlers.ts";
import { type CallTask, chooseLane } from "./router/lanes.ts";
import { checkOverride } from "./router/override.ts";
import { createRouter, type Route } from "./router/router.ts";
import { createTargets, isOnThisMachine, profileOf } from "./router/targets.ts";
import { geminiCaches } from "./providers/gemini-caches.ts";
import { createServerMemory } from "./providers/server-memory.ts";
import { createProvider, createSelection } from "./selection.ts";
import { createTasks, type LocalTasks } from "./tasks/tasks.ts";
import type { UsageBook } from "./usage/usage.ts";

export { ModelsConfig } from "./config.ts";
export type {
  ActiveModel,
  AssistantContent,
  ModelEvent,
  ModelMessage,
  ModelRequest,
  StopReason,
  ToolResult,
  ToolSchema,
  UserContent,
} from "./request.ts";
export { RouterConfig } from "./router/config.ts";
export { modelsHandlers } from "./handlers.ts";
export { keysHandlers } from "./keys.ts";
export { routerHandlers } from "./router/handlers.ts";
export type { CallTask } from "./router/lanes.ts";
export type { Route } from "./router/router.ts";
export { routerMigrations } from "./router/schema.ts";
export { type TaskType, taskTypeOf } from "./router/task-type.ts";
export { localDoctorLine, onThisMachineHandlers } from "./on-this-machine.ts";
export { oauthHandlers } from "./sign-in.ts";
export { type LocalTasks, type TaskContext, tasksHandlers } from "./tasks/tasks.ts";
export { createUsage, PriceTable, type UsageBook, usageHandlers, usageMigrations, UsageSettings } from "./usage/usage.ts";

/** What changed: told to the world by the composition root. */
export type ModelsChange = { localModel: LocalModel } | { routed: RouterDecision } | { models: true };

export interface Models {
  /** What answers when nothing asks for more. @throws LancelotError `unavailable` with the next step when nothing can answer. */
  active(): Promise<ActiveModel>;
  /**
   * Decides where a call goes; nothing is sent. `keep` is the route of the step before: a tool loop that goes on keeps its lane.
   * @throws LancelotError `unavailable` with the next step when nothing can answer
   */
  route(task: CallTask, keep?: Route | null): Promise<Route>;
  /**
   * Where a call that failed goes on: to the strong model, along the owner's chain, or with no network to the local model. Null: nowhere.
   * @throws LancelotError `unavailable` when there is no network and nothing here can answer
   */
  reroute(failed: Route, error: unknown): Promise<Route | null>;
  /** @throws LancelotError `invalid_params` or `not_found` when the choice is none that models.yaml knows. */
  checkOverride(override: ModelOverride): Promise<void>;
  /**
   * Streams one answer; each try is a receipt (`llm_call`). Retries by its own rules, and takes back by a `retry` event what a failed try
   * streamed. With `context.route` it goes there and nowhere else; without one it decides itself, and goes on elsewhere where it may.
   * Aborting closes the connection. @throws LancelotError worded for the owner.
   */
  stream(request: ModelRequest, context: CallContext): AsyncIterable<ModelEvent>;
  /** Decisions, their counts, and the breakers. */
  readonly router: RouterView;
  /** The tasks of the local lanes: by a model on this machine, else by rules. */
  readonly tasks: LocalTasks;
  /** What is wrong with a text for models.yaml or router.yaml, as it would be read. */
  lint(file: "models" | "router", text: string): ConfigIssue[];
  /** What each provider offers (kept for five minutes), with the configured names; `problem` is what is wrong with the owner's models.yaml. */
  list(
    provider: string | undefined,
    signal: AbortSignal,
  ): Promise<{ items: ModelInfo[]; providers: ProviderState[]; problem: string | null }>;
  /**
   * Writes the provider, and the model of its fast and deep profiles, into the owner's models.yaml.
   * @throws LancelotError `not_found`, or `conflict` when LANCELOT_PROVIDER decides or the file cannot be read as it is.
   */
  choose(provider: string, model?: string): Promise<{ provider: string; model: string }>;
  local(): LocalModel;
  /** `intent`: the small model of the intent lane and the runtime alone. */
  downloadLocal(only?: "intent"): Promise<LocalModel>;
  cancelDownload(): LocalModel;
  readonly machine: OnThisMachine;
  onChange(listener: (change: ModelsChange) => void): () => void;
  /** A task has ended its turn: what providers keep for it alone under its cache key is taken away. */
  release(cacheKey: string): Promise<void>;
  /** Ends the local process and open streams. */
  close(): Promise<void>;
}

export interface ModelsDeps {
  storage: Storage;
  /** Off (PROVIDER_SDK): every provider by plain REST. */
  sdkEnabled?: () => boolean;
  /** The shipped `config/` folder. */
  configDir: string;
  dataDir: string;
  /** The built `dist/` folder; null when running from source. */
  distDir: string | null;
  secrets: Secrets;
  gatedFetch: GatedFetch;
  ledger: Ledger;
  redactor: Redactor;
  /** What stands for secrets and personal data in requests; without them secrets are taken out for good, and nothing else is. */
  placeholders?: OutboundDeps["placeholders"];
  personal?: OutboundDeps["personal"];
  more?: OutboundDeps["more"];
  /** Counts what calls cost and holds the caps; without one nothing is counted. */
  usage?: Pick<UsageBook, "admit" | "count"> | undefined;
  /** Signing in instead of a key. */
  oauth?: Pick<OAuth, "token"> | undefined;
  /** The editor that offers language models of its own. */
  askEditor?: AskEditor | null | undefined;
  env: Readonly<Record<string, string | undefined>>;
  /** What a test holds still. */
  local?: typeof createLocal;
  limits?: Partial<Limits>;
  sleep?: NonNullable<AttemptDeps["sleep"]>;
  random?: () => number;
  now?: () => number;
}

/** The room of models: which one answers, its providers, retries and receipts. */
export function createModels(deps: ModelsDeps): Models {
  const now = deps.now ?? Date.now;
  const listeners = new Set<(change: ModelsChange) => void>();
  const notify = (change: ModelsChange): void => listeners.forEach((listener) => listener(change));
  const closing = new AbortController();
  const chosen = deps.env["LANCELOT_PROVIDER"];
  const {
    models: readConfig,
    rules: readRules,
    file: configFile,
    lint,
  } = createConfigFiles({ ...deps, onChange: () => notify({ models: true }) });
  let wasReady = false;

  const { configDir, dataDir, distDir, env } = deps;
  const local = startLocal(deps.local ?? createLocal, {
    configDir,
    dataDir,
    distDir,
    env,
    onState(localModel) {
      notify({ localModel });
      const isReady = localModel.status === "ready" || localModel.status === "loading" || localModel.status === "loaded";
      if (isReady !== wasReady) notify({ models: true });
      wasReady = isReady;
    },
  });
  /** The state shown: a server that the owner named stands for the embedded model. */
  const localState = (): LocalModel => {
    const { local: configured } = readConfig().config;
    if (!configured.enabled || configured.url === undefined) return local.state();
    const embedded = local.state();
    return {
      status: "ready",
      file: null,
      name: configured.model,
      license: "",
      totalBytes: 0,
      doneBytes: 0,
      source: "server",
      problem: null,
      ...(embedded.intent !== undefined && { intent: embedded.intent }),
    };
  };

  const memory = createServerMemory((what, inputs, work) =>
    withReceipt(deps.ledger, { actionType: "system", actionName: `models.cache.${what}`, inputs, riskTier: "T1" }, work),
  );
  const selection = createSelection({ ...deps, memory, localState: () => local.state() });
  const listing = createListing({ now });
  const targets = createTargets({ selection, listing, local, chosen });
  const candidates = () => selection.candidates(readConfig().config);
  const breakers = createBreakers({
    numbers: () => {
      const { failures, open_seconds } = readRules().config.breaker;
      return { failures, openMs: open_seconds * 1000 };
    },
    ledger: deps.ledger,
    onChange: () => notify({ models: true }),
  });
  const connectivity = createConnectivity({
    isCloud: (one) => one.connection !== null && one.kind !== "vscode" && !isOnThisMachine(one),
    candidates,
    now,
    onChange(offline) {
      const opening = { actionType: "system", actionName: offline ? "network_lost" : "network_back", inputs: {}, riskTier: "T0" } as const;
      deps.ledger.record(opening, { status: offline ? "failure" : "success" });
      // What failed for want of a network says nothing about the providers.
      if (!offline) for (const { provider } of breakers.states()) breakers.forget(provider);
      notify({ models: true });
    },
  });
  const router = createRouter({ targets, breakers, connectivity, candidates, models: readConfig, rules: readRules });
  const decisions = createDecisions(deps.storage);
  const tell = (routed: RouterDecision): void => notify({ routed });
  const tasks = createTasks({
    configDir,
    ledger: deps.ledger,
    redactor: deps.redactor,
    embedder: local.embedder,
    model: () => (readConfig().config.local.enabled ? local.taskModel() : null),
    stream: (...call) => local.provider.stream(...call),
    pii: deps.personal?.detector ?? createPiiDetector(null),
    route: (type) => chooseLane(readRules().config, { type, text: "" }),
    keep(decision) {
      decisions.keep(decision);
      tell(decision);
    },
    count: (call) => void deps.usage?.count({ ...call, provider: "local", kind: "local", onThisMachine: true }),
  });
  const calls = createCalls({
    ...deps,
    router,
    breakers,
    decisions,
    rules: readRules,
    providerOf: ({ connection }) => (connection === null ? local.provider : createProvider(connection)),
    outbound: (request, candidate, { questId, parentId, signal }) => {
      const { redactor, placeholders, personal } = deps;
      // Names it finds besides are hidden too, where a model is loaded anyway: no call waits for one to load.
      const byModel: OutboundDeps["more"] = async (text, stop) => (await tasks.redact(text, { questId, parentId, signal: stop })).matches;
      const more = deps.more ?? (local.isLoaded() ? byModel : undefined);
      return prepareOutbound(
        request,
        { redactor, placeholders, personal, more },
        { questId, leavesMachine: leavesMachine(candidate), signal },
      );
    },
    onDecision: tell,
    closing: closing.signal,
  });
  /** What answers when nothing asks for more: no rule of words, no breaker, no network. */
  const active = async (): Promise<ActiveModel> =>
    (await targets.resolve({ lane: "flagship_fast" }, readConfig(), readRules().config)).model;

  return {
    active,
    route: router.route,
    reroute: router.after,
    checkOverride: (override) => checkOverride(override, { selection, config: readConfig }),
    stream: calls.stream,
    tasks,
    router: createRouterView({ router, decisions, breakers, connectivity, rules: readRules }),
    lint,
    async list(provider, signal) {
      const loaded = readConfig();
      const known = await selection.candidates(loaded.config);
      const wanted = provider === undefined ? known : known.filter(({ name }) => name === provider);
      if (provider !== undefined && wanted.length === 0)
        throw new LancelotError("not_found", `config/models.yaml has no provider named "${provider}".`);
      const found = await listing.list(wanted, await active().catch(() => null), local, signal);
      const problem = [loaded.problem, ...loaded.notices].filter((line) => line !== null).join(" ");
      return { ...found, problem: problem === "" ? null : problem };
    },
    async choose(provider, model) {
      if (chosen !== undefined && chosen !== "" && chosen !== provider)
        throw new LancelotError("conflict", `LANCELOT_PROVIDER=${chosen} decides here. Unset it to choose another provider.`);
      const candidate = await selection.candidate(provider, readConfig().config);
      if (candidate === null) throw new LancelotError("not_found", `config/models.yaml has no provider named "${provider}".`);
      if (candidate.kind === "vscode" && candidate.problem !== null) throw new LancelotError("unavailable", candidate.problem);
      const isEmbedded = candidate.kind === "local" && candidate.connection === null;
      const inputs = { path: "config/models.yaml", provider, ...(model === undefined ? {} : { model }) };
      await withReceipt(deps.ledger, { actionType: "system", actionName: "models.choose", inputs, riskTier: "T1" }, () =>
        configFile.choose(
          provider,
          model === undefined || isEmbedded ? undefined : { name: model, contextWindow: listing.window(candidate, model) },
        ),
      );
      notify({ models: true });
      return { provider, model: model ?? (candidate.kind === "local" ? local.state().name : profileOf(candidate, "fast").model) };
    },
    local: localState,
    async downloadLocal(only) {
      if (!readConfig().config.local.enabled)
        throw new LancelotError("disabled", "The local model is switched off (local.enabled in config/models.yaml).", {
          data: { flag: "local.enabled" },
        });
      const { name, totalBytes } = local.state();
      const opening = {
        actionType: "system",
        actionName: "models.local.download",
        inputs: only === undefined ? { title: name, bytes: totalBytes } : { title: "the intent lane's model" },
        riskTier: "T2",
      } as const;
      return withReceipt(deps.ledger, opening, () => local.download(only));
    },
    cancelDownload: () => local.cancelDownload(),
    machine: createOnThisMachine({
      ...deps,
      local,
      config: readConfig,
      configFile,
      chosen,
      onUnstructured: (url, model) => memory.refused.add(`${url} ${model} json_schema`),
      onChange: () => notify({ models: true }),
    }),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    release: (cacheKey) => geminiCaches(memory).release(cacheKey),
    async close() {
      closing.abort();
      connectivity.close();
      await Promise.all([local.close(), geminiCaches(memory).close()]);
    },
  };
}
