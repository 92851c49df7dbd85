import { LancelotError } from "../contract/errors.ts";
import type { LocalModel } from "../contract/models.ts";
import type { RouterDecision } from "../contract/router.ts";
import { withReceipt } from "../receipts/receipts.ts";
import { createPiiDetector } from "../security/security.ts";
import { createCalls } from "./model-calls.ts";
import { createConfigFiles } from "./config-loader.ts";
import { createListing } from "./model-list.ts";
import { createLocal } from "./local/local.ts";
import { createLocalOperations } from "./local-operations.ts";
import { startLocal } from "./local/start-local.ts";
import { leavesMachine, type OutboundDeps, prepareOutbound } from "./outbound/outbound.ts";
import type { ActiveModel } from "./request.ts";
import { createBreakers } from "./resilience/breakers.ts";
import { createConnectivity } from "./resilience/connectivity.ts";
import { createDecisions } from "./router/decisions.ts";
import { createRouterView } from "./router/router-handlers.ts";
import { chooseLane } from "./router/lanes.ts";
import { checkOverride } from "./router/override.ts";
import { createRouter } from "./router/router.ts";
import { createTargets, isOnThisMachine, profileOf } from "./router/targets.ts";
import { geminiCaches } from "./providers/gemini-caches.ts";
import { createServerMemory } from "./providers/server-memory.ts";
import { createProvider, createSelection } from "./provider-selection.ts";
import { createTasks } from "./tasks/tasks.ts";
import type { Models, ModelsChange, ModelsDeps } from "./types.ts";

export type { Models, ModelsDeps } from "./types.ts";
export { ModelsConfig } from "./models-config.ts";
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
export { RouterConfig } from "./router/router-config.ts";
export { modelsHandlers } from "./models-handlers.ts";
export { keysHandlers } from "./key-handlers.ts";
export { routerHandlers } from "./router/router-handlers.ts";
export type { CallTask, Route, RouteSequence } from "./router/types.ts";
export { routerMigrations } from "./router/router-migrations.ts";
export { type TaskType, taskTypeOf } from "./router/task-type.ts";
export { localDoctorLine, localHandlers } from "./local-operations.ts";
export { oauthHandlers } from "./oauth-handlers.ts";
export { readRequest, type RequestReading, staysQuestion } from "./tasks/request-reading.ts";
export { type LocalTasks, type TaskContext, tasksHandlers } from "./tasks/tasks.ts";
export { createUsage, PriceTable, usageHandlers, usageMigrations, UsageSettings } from "./usage/usage.ts";

/** Models: routing, providers, retries, failover, usage and the local model. */
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
  /** The displayed state: a server named by `local.url` replaces the embedded model. */
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
      // Failures without a network say nothing about the providers.
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
      // A loaded local model also finds names; no call waits for it to load.
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
  /** The model for a simple request, regardless of breakers and the network. */
  const active = async (): Promise<ActiveModel> =>
    (await targets.resolve({ lane: "flagship_fast" }, readConfig(), readRules().config)).model;

  return {
    active,
    routes: router.routes,
    checkOverride: (override) => checkOverride(override, { selection, config: readConfig }),
    stream: calls.stream,
    tasks,
    router: createRouterView({ router, decisions, breakers, connectivity, rules: readRules }),
    lint,
    configProblems() {
      const [models, rules] = [readConfig(), readRules()];
      const textOf = ({ problem, notices }: typeof models | typeof rules): string | null => problem ?? (notices.join(" ") || null);
      return { "models.yaml": textOf(models), "router.yaml": textOf(rules), "local-models.yaml": local.catalogProblem() };
    },
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
        throw new LancelotError("conflict", `LANCELOT_PROVIDER=${chosen} overrides this choice. Unset it to choose another provider.`);
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
        throw new LancelotError("disabled", "The local model is turned off (local.enabled in config/models.yaml).", {
          data: { flag: "local.enabled" },
        });
      const { name, totalBytes } = local.state();
      const opening = {
        actionType: "system",
        actionName: "models.local.download",
        inputs: only === undefined ? { title: name, bytes: totalBytes } : { title: "intent classifier" },
        riskTier: "T2",
      } as const;
      return withReceipt(deps.ledger, opening, () => local.download(only));
    },
    cancelDownload: () => local.cancelDownload(),
    localOperations: createLocalOperations({
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
