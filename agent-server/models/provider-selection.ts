import type { AskEditor } from "../contract/editor.ts";
import { LancelotError } from "../contract/errors.ts";
import type { LocalModel, ProviderKind } from "../contract/models.ts";
import type { GatedFetch, OAuth, Secrets } from "../security/security.ts";
import type { LoadedConfig, ModelsConfig, ProviderConfig } from "./models-config.ts";
import { createAnthropic } from "./providers/anthropic.ts";
import type { Connection } from "./providers/types.ts";
import { createGemini } from "./providers/gemini.ts";
import { createOpenAIChat } from "./providers/openai-chat.ts";
import { createOpenAIResponses } from "./providers/openai-responses.ts";
import type { Provider } from "./providers/types.ts";
import { createServerMemory } from "./providers/server-memory.ts";
import type { ServerMemory } from "./providers/types.ts";
import { createXai } from "./providers/xai.ts";
import { createEditorModels } from "./providers/vscode.ts";
import { noKey, oauthFetch, signInOf } from "./oauth-fetch.ts";

/** The current state of a provider of models.yaml, or of the local model. */
export interface Candidate {
  readonly name: string;
  readonly kind: ProviderKind;
  readonly displayName: string;
  /** Null for the embedded local model. */
  readonly config: ProviderConfig | null;
  readonly hasKey: boolean;
  /** Why it cannot be used now, with the next step; null when it can. */
  readonly problem: string | null;
  /** Null where it cannot be used. */
  readonly connection: Connection | null;
}

interface SelectionDeps {
  secrets: Secrets;
  gatedFetch: GatedFetch;
  localState: () => LocalModel;
  /** Sign-in instead of a key; without it, only keys are used. */
  oauth?: Pick<OAuth, "token"> | undefined;
  /** The editor with language models of its own; null or absent without one. */
  askEditor?: AskEditor | null | undefined;
  /** What requests learned about servers; a new one by default. */
  memory?: ServerMemory | undefined;
  /** Off: every provider is used over plain REST, regardless of its mode. */
  sdkEnabled?: (() => boolean) | undefined;
}

const addresses: Partial<Record<ProviderKind, string>> = {
  anthropic: "https://api.anthropic.com",
  openai: "https://api.openai.com/v1",
  gemini: "https://generativelanguage.googleapis.com",
  xai: "https://api.x.ai/v1",
};
const keyNames: Partial<Record<ProviderKind, string>> = {
  anthropic: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY",
  gemini: "GEMINI_API_KEY",
  xai: "XAI_API_KEY",
};
const displayNames: Record<ProviderKind, string> = {
  anthropic: "Anthropic",
  openai: "OpenAI",
  gemini: "Google Gemini",
  xai: "xAI",
  openai_compatible: "OpenAI-compatible server",
  vscode: "VS Code language models",
  local: "Local model",
};
/** Without a choice, the first of these with a key is used. */
const keyOrder: readonly ProviderKind[] = ["anthropic", "openai", "gemini", "xai"];

const localName = "local";
const needsEditor = "The editor's language models are available only within VS Code. Choose another provider.";

export function createSelection(deps: SelectionDeps) {
  const fetches = new Map<string, typeof fetch>();
  const memory = deps.memory ?? createServerMemory();
  const fetchFor = (baseUrl: string): typeof fetch => {
    const { origin } = new URL(baseUrl);
    const known = fetches.get(origin) ?? deps.gatedFetch([origin]);
    fetches.set(origin, known);
    return known;
  };

  /** An address that requests are not allowed to reach is a problem of that provider only. */
  function connect(
    kind: ProviderKind,
    displayName: string,
    baseUrl: string,
    key: string | null,
    mode: "sdk" | "api" = "sdk",
  ): Pick<Candidate, "problem" | "connection"> {
    try {
      const way = { mode: deps.sdkEnabled?.() === false ? ("api" as const) : mode, memory };
      return { problem: null, connection: { kind, displayName, baseUrl, key, fetch: fetchFor(baseUrl), ...way } };
    } catch (cause) {
      if (!(cause instanceof LancelotError)) throw cause;
      return { problem: `base_url of ${displayName} in config/models.yaml: ${cause.message}`, connection: null };
    }
  }

  async function inspect(name: string, config: ProviderConfig): Promise<Candidate> {
    const displayName = config.display_name ?? (config.kind === "openai_compatible" ? name : displayNames[config.kind]);
    const about = { name, kind: config.kind, displayName, config };
    if (config.kind === "vscode") return { ...about, hasKey: true, ...connectEditor(displayName) };
    const signedIn = await connectSignedIn(config, displayName);
    if (signedIn !== null) return { ...about, hasKey: true, ...signedIn };
    const keyName = config.api_key_name ?? keyNames[config.kind];
    const key = keyName === undefined ? null : ((await deps.secrets.get(keyName)) ?? null);
    const baseUrl = config.base_url ?? addresses[config.kind];
    if (keyName !== undefined && (key === null || key === ""))
      return {
        ...about,
        hasKey: false,
        problem: `${displayName} has no API key (${keyName}).`,
        connection: null,
      };
    if (baseUrl === undefined)
      return { ...about, hasKey: true, problem: `${displayName} has no base_url in config/models.yaml.`, connection: null };
    return { ...about, hasKey: true, ...connect(config.kind, displayName, baseUrl, key, config.mode) };
  }

  /** The editor's models: this process sends nothing over the network for them. */
  function connectEditor(displayName: string): Pick<Candidate, "problem" | "connection"> {
    const editor = deps.askEditor ?? undefined;
    if (editor === undefined) return { problem: needsEditor, connection: null };
    const noFetch = (): Promise<Response> =>
      Promise.reject(new LancelotError("denied", "The editor's models are not reachable over the network."));
    return { problem: null, connection: { kind: "vscode", displayName, baseUrl: "editor:", key: null, fetch: noFetch, editor } };
  }

  /** A sign-in has priority over a key; null without one. A custom address never receives its token. */
  async function connectSignedIn(
    { kind, mode, base_url, api_key_name }: ProviderConfig,
    displayName: string,
  ): Promise<Pick<Candidate, "problem" | "connection"> | null> {
    const { oauth } = deps;
    const provider = signInOf[kind];
    const address = addresses[kind];
    if (oauth === undefined || provider === undefined || address === undefined || base_url !== undefined || api_key_name !== undefined)
      return null;
    if ((await oauth.token(provider)) === null) return null;
    const { problem, connection } = connect(kind, displayName, address, noKey, mode);
    if (connection === null) return { problem, connection };
    return { problem, connection: { ...connection, fetch: oauthFetch(connection.fetch, oauth, provider, displayName) } };
  }

  /** The local model: embedded, or the server of `local.url`. */
  function inspectLocal(name: string, { local }: ModelsConfig): Candidate {
    const about = { name, kind: "local" as const, displayName: displayNames.local, config: null, hasKey: true };
    if (!local.enabled)
      return { ...about, problem: "The local model is turned off (local.enabled in config/models.yaml).", connection: null };
    if (local.url !== undefined) return { ...about, ...connect("local", about.displayName, local.url, null) };
    const state = deps.localState();
    if (isReady(state)) return { ...about, problem: null, connection: null };
    const problem = {
      absent: `Not downloaded yet (${megabytes(state.totalBytes)}).`,
      downloading: `Downloading: ${megabytes(state.doneBytes)} of ${megabytes(state.totalBytes)}.`,
      failed: [state.problem ?? "It failed to start.", state.nextStep ?? ""].join(" ").trim(),
      ready: null,
      loading: null,
      loaded: null,
    }[state.status];
    return { ...about, problem, connection: null };
  }

  async function candidate(name: string, config: ModelsConfig): Promise<Candidate | null> {
    const provider = Object.hasOwn(config.providers, name) ? config.providers[name] : undefined;
    if (provider === undefined) return name === localName ? inspectLocal(name, config) : null;
    return provider.kind === "local" ? inspectLocal(name, config) : inspect(name, provider);
  }

  async function candidates(config: ModelsConfig): Promise<Candidate[]> {
    const names = [...new Set([...Object.keys(config.providers), localName])];
    const found = await Promise.all(names.map((name) => candidate(name, config)));
    return found.filter((one) => one !== null);
  }

  /**
   * The active provider: LANCELOT_PROVIDER, otherwise `active`, otherwise the first with a key, otherwise the local model. While the user's
   * file is invalid, nothing is selected, since the request could reach a provider that the user does not want.
   * @throws LancelotError `unavailable` with the next step
   */
  async function select({ config, problem }: LoadedConfig, override: string | undefined): Promise<Candidate> {
    if (problem !== null && (override === undefined || override === ""))
      throw unavailable(`${problem} Until it is corrected, nothing is sent to a model.`, "choose_model");
    const wanted = override === undefined || override === "" ? config.active : override;
    if (wanted !== undefined) {
      const chosen = await candidate(wanted, config);
      if (chosen === null)
        throw unavailable(
          `LANCELOT_PROVIDER names "${wanted}", which config/models.yaml does not have (${[...Object.keys(config.providers), localName].join(", ")}).`,
          "choose_model",
        );
      if (chosen.problem !== null)
        throw unavailable(chosen.kind === "local" ? `Local model: ${chosen.problem}` : chosen.problem, actionFor(chosen));
      return chosen;
    }
    for (const kind of keyOrder)
      for (const [name, provider] of Object.entries(config.providers)) {
        if (provider.kind !== kind) continue;
        const found = await inspect(name, provider);
        if (found.problem === null) return found;
      }
    const local = inspectLocal(localName, config);
    if (local.problem === null) return local;
    const state = deps.localState();
    if (!config.local.enabled) throw unavailable("No model is available. Add an API key.", "choose_model");
    const size = state.totalBytes > 0 ? ` (${megabytes(state.totalBytes)})` : "";
    const why = state.status === "absent" ? "" : ` ${local.problem}`;
    throw unavailable(`No model is available. Add an API key, or download the local model${size}.${why}`, "choose_model");
  }

  /**
   * A provider by name. While the user's file is invalid, only the one that LANCELOT_PROVIDER names.
   * @throws LancelotError `unavailable` with the next step
   */
  async function named(name: string, { config, problem }: LoadedConfig, override: string | undefined): Promise<Candidate> {
    const chosen = await candidate(name, config);
    if (problem !== null && chosen?.kind !== "local" && name !== override)
      throw unavailable(`${problem} Until it is corrected, nothing is sent to a model.`, "choose_model");
    if (chosen === null)
      throw unavailable(
        `There is no provider named "${name}" in config/models.yaml (${[...Object.keys(config.providers), localName].join(", ")}).`,
        "choose_model",
      );
    if (chosen.problem !== null)
      throw unavailable(chosen.kind === "local" ? `Local model: ${chosen.problem}` : chosen.problem, actionFor(chosen));
    return chosen;
  }

  return { candidate, candidates, select, named };
}

export type Selection = ReturnType<typeof createSelection>;

/** The implementation for a server. */
export function createProvider(connection: Connection): Provider {
  switch (connection.kind) {
    case "anthropic":
      return createAnthropic(connection);
    case "openai":
      return createOpenAIResponses(connection);
    case "gemini":
      return createGemini(connection);
    case "xai":
      return createXai(connection);
    case "openai_compatible":
    case "local":
      return createOpenAIChat(connection);
    case "vscode":
      if (connection.editor === undefined) throw unavailable(needsEditor, "choose_model");
      return createEditorModels(connection.displayName, connection.editor);
  }
}

function isReady(state: LocalModel): boolean {
  return state.status === "ready" || state.status === "loading" || state.status === "loaded";
}

function actionFor(candidate: Candidate): string {
  if (candidate.kind === "local") return "download_model";
  return candidate.hasKey ? "choose_model" : "set_key";
}

function unavailable(message: string, action: string): LancelotError {
  return new LancelotError("unavailable", message, { data: { what: "model", next: message, action } });
}

function megabytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;
}
