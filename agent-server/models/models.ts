import type { Usage } from "../contract/chat.ts";
import type { AskEditor } from "../contract/editor.ts";
import { LancelotError } from "../contract/errors.ts";
import type { LocalModel, ModelInfo, ProviderKind, ProviderState } from "../contract/models.ts";
import { type Ledger, recorded } from "../receipts/receipts.ts";
import type { GatedFetch, Redactor, OAuth, Secrets } from "../security/security.ts";
import { answerInAttempts, type AttemptDeps, type Limits } from "./attempts.ts";
import { createConfigFile, type LoadedConfig, type Profile } from "./config.ts";
import { createListing } from "./listing.ts";
import { createLocal, type Local } from "./local/local.ts";
import { redactRequest } from "./outbound.ts";
import type { Provider } from "./providers/provider.ts";
import { createProvider, createSelection, type Candidate } from "./selection.ts";

export { ModelsConfig } from "./config.ts";
export { oauthHandlers } from "./sign-in.ts";
export { createUsage, PriceTable, type UsageBook, usageHandlers, usageMigrations, UsageSettings } from "./usage/usage.ts";

/** A conversation as every provider can be told it. */
export type ModelMessage =
  | { role: "user"; content: UserContent[] }
  | { role: "assistant"; content: AssistantContent[] }
  /** Results of the tool calls of the assistant message before it, all of them, in their order. */
  | { role: "tool"; results: ToolResult[] };
export type UserContent = { type: "text"; text: string } | { type: "image"; mediaType: string; data: string };
export type AssistantContent =
  | { type: "text"; text: string }
  /** `replay` is the provider's own block (signature, encrypted content), sent back unchanged to the provider named in it. */
  | { type: "thinking"; text: string; replay?: { provider: ProviderKind; block: unknown } }
  | { type: "tool_call"; id: string; name: string; args: Record<string, unknown>; replay?: { provider: ProviderKind; block: unknown } };
export interface ToolResult {
  callId: string;
  name: string;
  text: string;
  isError: boolean;
  /** Shown to models that take images in results; others get them beside. */
  images?: { mediaType: string; data: string }[];
}

export interface ToolSchema {
  name: string;
  description: string;
  /** JSON Schema of an object. */
  parameters: Record<string, unknown>;
}

export interface ModelRequest {
  system: string;
  messages: ModelMessage[];
  tools: ToolSchema[];
  /** Which profile of models.yaml; `fast` unless said. */
  lane?: "fast" | "deep" | "cache";
  /** Tokens; the profile's own where absent. */
  maxTokens?: number;
  /** The answer must be JSON that holds this schema; each provider is told in its own way, and what comes is checked. */
  responseSchema?: { name: string; schema: Record<string, unknown> };
  /** The same for all requests that begin alike (a quest): providers that cache by key use it. */
  cacheKey?: string;
}

export type StopReason = "end" | "tool_calls" | "max_tokens" | "refused" | "stopped";

export type ModelEvent =
  | { type: "text"; text: string }
  | { type: "thinking"; text: string }
  /** A try failed and another begins; what was streamed of the failed try counts no more. */
  | { type: "retry"; attempt: number; delayMs: number; reason: string }
  /**
   * Last event of a stream: the whole answer, ready to be replayed. A tool call whose arguments were not a JSON object stands
   * in `content` with no arguments, so that it can be answered, and in `malformed` under the same id: it must not be run.
   * `inputTokens` counts the cached ones too, `outputTokens` the reasoning ones.
   */
  | { type: "done"; content: AssistantContent[]; malformed: { id: string; name: string; raw: string }[]; stop: StopReason; usage: Usage };

/** What answers now. */
export interface ActiveModel {
  provider: string;
  kind: ProviderKind;
  model: string;
  displayName: string;
  /** Tokens. */
  contextWindow: number;
  /** A small model: short prompt, few tools, help from the host (see orchestrator). */
  small: boolean;
  /** What the owner should know of this choice: their models.yaml is not in use and why. */
  notice?: string;
}

export interface Models {
  /** @throws LancelotError `unavailable` with the next step when nothing can answer. */
  active(): Promise<ActiveModel>;
  /**
   * Streams one answer; each try is a receipt (`llm_call`). Retries by its own rules before the first event that carries text.
   * Aborting closes the connection. @throws LancelotError worded for the owner.
   */
  stream(
    request: ModelRequest,
    context: { questId: string | null; parentId: string | null; signal: AbortSignal },
  ): AsyncIterable<ModelEvent>;
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
  downloadLocal(): Promise<LocalModel>;
  cancelDownload(): LocalModel;
  onChange(listener: (change: { localModel: LocalModel } | { models: true }) => void): () => void;
  /** Ends the local process and open streams. */
  close(): Promise<void>;
}

export interface ModelsDeps {
  /** The shipped `config/` folder. */
  configDir: string;
  dataDir: string;
  /** The built `dist/` folder; null when running from source. */
  distDir: string | null;
  secrets: Secrets;
  gatedFetch: GatedFetch;
  ledger: Ledger;
  redactor: Redactor;
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
  const listeners = new Set<Parameters<Models["onChange"]>[0]>();
  const notify: Parameters<Models["onChange"]>[0] = (change) => listeners.forEach((listener) => listener(change));
  const closing = new AbortController();
  const configFile = createConfigFile(deps);
  let known: LoadedConfig | undefined;
  let wasReady = false;
  const readConfig = (): LoadedConfig => {
    const loaded = configFile.read();
    if (loaded === known) return loaded;
    // An owner edits the file by hand: what was shown of it holds no more.
    if (known !== undefined) notify({ models: true });
    known = loaded;
    if (loaded.problem !== null) {
      deps.ledger.record(
        { actionType: "system", actionName: "models_config_rejected", inputs: { file: "config/models.yaml" }, riskTier: "T0" },
        { status: "failure", errorMessage: loaded.problem },
      );
    }
    return loaded;
  };

  const local = startLocal(deps, (localModel) => {
    notify({ localModel });
    const isReady = localModel.status === "ready" || localModel.status === "loading" || localModel.status === "loaded";
    if (isReady !== wasReady) notify({ models: true });
    wasReady = isReady;
  });
  /** The state shown: a server that the owner named stands for the embedded model. */
  const localState = (): LocalModel => {
    const { local: configured } = readConfig().config;
    if (!configured.enabled || configured.url === undefined) return local.state();
    return {
      ...local.state(),
      status: "ready",
      file: null,
      name: configured.model,
      license: "",
      totalBytes: 0,
      doneBytes: 0,
      source: "server",
      problem: null,
    };
  };
  const selection = createSelection({ ...deps, localState: () => local.state() });
  const select = (loaded: LoadedConfig): Promise<Candidate> => selection.select(loaded, deps.env["LANCELOT_PROVIDER"]);
  const listing = createListing({ now: deps.now ?? Date.now });

  async function describe(candidate: Candidate, loaded: LoadedConfig): Promise<ActiveModel> {
    const { name: provider, kind, displayName } = candidate;
    const notice = loaded.problem === null ? {} : { notice: loaded.problem };
    if (candidate.kind === "local" && candidate.connection === null) {
      const { name: model, contextWindow, small } = await local.model();
      return { provider, kind, model, displayName, contextWindow, small, ...notice };
    }
    if (candidate.kind === "local") {
      const { local: configured } = loaded.config;
      const model = await serverModel(candidate, configured.model);
      const contextWindow = configured.context_window ?? listing.window(candidate, model) ?? 8192;
      return { provider, kind, model, displayName, contextWindow, small: configured.small, ...notice };
    }
    const profile = profileOf(candidate, "fast");
    const contextWindow =
      profile.context_window ?? listing.window(candidate, profile.model) ?? (kind === "openai_compatible" ? 32_768 : 128_000);
    return { provider, kind, model: profile.model, displayName, contextWindow, small: candidate.config?.small ?? false, ...notice };
  }

  /** The model of a local server: the one named, else the first it offers. */
  async function serverModel(candidate: Candidate, named: string): Promise<string> {
    if (named !== "auto") return named;
    const [first] = await listing.ask(candidate, AbortSignal.timeout(15_000));
    if (first !== undefined) return first.model;
    throw new LancelotError(
      "unavailable",
      "The local server offers no model. Load one there, or name it as local.model in config/models.yaml.",
    );
  }

  async function* stream(request: ModelRequest, context: Parameters<Models["stream"]>[1]): AsyncGenerator<ModelEvent> {
    const loaded = readConfig();
    const candidate = await select(loaded);
    const lane = request.lane ?? "fast";
    const active = await describe(candidate, loaded);
    const profile: Profile = candidate.kind === "local" ? { model: active.model, max_tokens: 2048 } : profileOf(candidate, lane);
    const provider: Provider = candidate.connection === null ? local.provider : createProvider(candidate.connection);
    const { thinking } = profile;
    yield* answerInAttempts(
      deps,
      {
        provider: candidate.name,
        displayName: candidate.displayName,
        kind: candidate.kind,
        lane,
        call: {
          model: profile.model,
          maxTokens: request.maxTokens ?? profile.max_tokens,
          temperature: profile.temperature,
          thinking: thinking === undefined ? undefined : { enabled: thinking.enabled, budgetTokens: thinking.budget_tokens },
        },
        limits: { firstTokenMs: isOnThisMachine(candidate) ? 600_000 : 60_000, idleMs: 120_000, ...deps.limits },
        stream: (...parameters) => provider.stream(...parameters),
      },
      candidate.connection === null ? request : redactRequest(request, deps.redactor),
      { ...context, signal: AbortSignal.any([context.signal, closing.signal]) },
    );
  }

  return {
    async active() {
      const loaded = readConfig();
      return describe(await select(loaded), loaded);
    },
    stream,
    async list(provider, signal) {
      const loaded = readConfig();
      const known = await selection.candidates(loaded.config);
      const wanted = provider === undefined ? known : known.filter(({ name }) => name === provider);
      if (provider !== undefined && wanted.length === 0)
        throw new LancelotError("not_found", `config/models.yaml has no provider named "${provider}".`);
      const active = await select(loaded)
        .then((candidate) => describe(candidate, loaded))
        .catch(() => null);
      const found = await listing.list(wanted, active, local, signal);
      const problem = [loaded.problem, ...loaded.notices].filter((line) => line !== null).join(" ");
      return { ...found, problem: problem === "" ? null : problem };
    },
    async choose(provider, model) {
      const override = deps.env["LANCELOT_PROVIDER"];
      if (override !== undefined && override !== "" && override !== provider)
        throw new LancelotError("conflict", `LANCELOT_PROVIDER=${override} decides here. Unset it to choose another provider.`);
      const candidate = await selection.candidate(provider, readConfig().config);
      if (candidate === null) throw new LancelotError("not_found", `config/models.yaml has no provider named "${provider}".`);
      if (candidate.kind === "vscode" && candidate.problem !== null) throw new LancelotError("unavailable", candidate.problem);
      const isEmbedded = candidate.kind === "local" && candidate.connection === null;
      const inputs = { path: "config/models.yaml", provider, ...(model === undefined ? {} : { model }) };
      await recorded(deps.ledger, { actionType: "system", actionName: "models.choose", inputs, riskTier: "T1" }, () =>
        configFile.choose(
          provider,
          model === undefined || isEmbedded ? undefined : { name: model, contextWindow: listing.window(candidate, model) },
        ),
      );
      notify({ models: true });
      return { provider, model: model ?? (candidate.kind === "local" ? local.state().name : profileOf(candidate, "fast").model) };
    },
    local: localState,
    async downloadLocal() {
      if (!readConfig().config.local.enabled)
        throw new LancelotError("disabled", "The local model is switched off (local.enabled in config/models.yaml).", {
          data: { flag: "local.enabled" },
        });
      const { name, totalBytes } = local.state();
      const opening = {
        actionType: "system",
        actionName: "models.local.download",
        inputs: { title: name, bytes: totalBytes },
        riskTier: "T2",
      } as const;
      return recorded(deps.ledger, opening, () => local.download());
    },
    cancelDownload: () => local.cancelDownload(),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      closing.abort();
      await local.close();
    },
  };
}

function profileOf(candidate: Candidate, lane: "fast" | "deep" | "cache"): Profile {
  const profile = candidate.config?.[lane] ?? candidate.config?.fast;
  if (profile === undefined) throw new LancelotError("unavailable", `${candidate.displayName} has no fast profile in config/models.yaml.`);
  return profile;
}

/** A model computed here may read a long prompt for minutes before its first word. */
function isOnThisMachine(candidate: Candidate): boolean {
  if (candidate.connection === null) return true;
  const { hostname } = new URL(candidate.connection.baseUrl);
  return (
    candidate.kind === "local" || (candidate.kind === "openai_compatible" && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
  );
}

/** The embedded model; where its own files are broken the rest of the room works on and says so. */
function startLocal(deps: ModelsDeps, onState: (state: LocalModel) => void): Local {
  const create = deps.local ?? createLocal;
  try {
    return create({ dataDir: deps.dataDir, distDir: deps.distDir, configDir: deps.configDir, env: deps.env, onState });
  } catch (cause) {
    const error =
      cause instanceof LancelotError
        ? cause
        : new LancelotError("unavailable", "The local model cannot be used. See the log (*Lancelot: Show log*).", { cause });
    const state: LocalModel = {
      status: "failed",
      file: null,
      name: "",
      license: "",
      totalBytes: 0,
      doneBytes: 0,
      source: null,
      problem: error.message,
    };
    return {
      provider: { stream: () => failed(error), listModels: () => Promise.reject(error) },
      state: () => state,
      download: () => Promise.reject(error),
      cancelDownload: () => state,
      model: () => Promise.reject(error),
      pid: () => undefined,
      close: () => Promise.resolve(),
    };
  }
}

// oxlint-disable-next-line require-yield -- a stream that fails before its first event
async function* failed(error: LancelotError): AsyncGenerator<ModelEvent> {
  throw error;
}
