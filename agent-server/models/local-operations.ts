import { LancelotError } from "../contract/errors.ts";
import type { LocalModel, LocalServer } from "../contract/models.ts";
import type { DoctorLine } from "../contract/providers.ts";
import type { Handlers } from "../contract/table.ts";
import { type Ledger, withReceipt } from "../receipts/receipts.ts";
import type { GatedFetch } from "../security/security.ts";
import type { ConfigFile, LoadedConfig } from "./models-config.ts";
import type { Local } from "./local/types.ts";
import { createServers } from "./servers/servers.ts";

/** User operations on the embedded model and on model servers of this machine. Each one creates a receipt. */
export interface LocalOperations {
  /** @throws LancelotError `unavailable` with the next step */
  loadLocal(signal: AbortSignal): Promise<LocalModel>;
  unloadLocal(): Promise<LocalModel>;
  /** @throws LancelotError `conflict` while another window downloads it */
  deleteLocal(): Promise<LocalModel>;
  /** The problem of the local model and the next step; null without one. */
  localProblem(): string | null;
  servers(signal: AbortSignal): Promise<LocalServer[]>;
  /**
   * Adds a discovered server to the user's models.yaml and makes it the active provider.
   * @throws LancelotError `not_found` when it does not respond or lacks the model; `conflict` when LANCELOT_PROVIDER overrides it
   */
  useServer(url: string, model: string, signal: AbortSignal): Promise<{ provider: string; model: string }>;
}

export function createLocalOperations(deps: {
  local: Local;
  ledger: Pick<Ledger, "open" | "close">;
  gatedFetch: GatedFetch;
  config: () => LoadedConfig;
  configFile: Pick<ConfigFile, "choose" | "addServer">;
  /** LANCELOT_PROVIDER. */
  chosen: string | undefined;
  /** Called when a model does not support JSON schemas. */
  onUnstructured: (url: string, model: string) => void;
  onChange: () => void;
  ports?: readonly number[];
}): LocalOperations {
  const { local, ledger } = deps;
  /** Servers of models.yaml with an OpenAI-compatible API. */
  const configured = () => {
    const { local: embedded, providers } = deps.config().config;
    const named = Object.entries(providers).flatMap(([name, { kind, base_url: baseUrl }]) =>
      kind === "openai_compatible" && baseUrl !== undefined ? [{ name, baseUrl }] : [],
    );
    return embedded.url === undefined ? named : [...named, { name: "local", baseUrl: embedded.url }];
  };
  const servers = createServers({ gatedFetch: deps.gatedFetch, configured, ...(deps.ports !== undefined && { ports: deps.ports }) });
  const byHand = (actionName: string, work: () => Promise<LocalModel>, riskTier: "T0" | "T2" = "T0") => {
    const { name, file } = local.state();
    return withReceipt(ledger, { actionType: "user_interaction", actionName, inputs: { title: name, file }, riskTier }, work);
  };
  return {
    loadLocal: (signal) => byHand("models.local.load", () => local.load(signal)),
    unloadLocal: () => byHand("models.local.unload", () => local.unload()),
    deleteLocal: () => byHand("models.local.delete", () => local.remove(), "T2"),
    localProblem: () => (deps.config().config.local.url === undefined ? local.degraded() : null),
    servers: (signal) => servers.find(signal),
    async useServer(url, model, signal) {
      const opening = {
        actionType: "user_interaction",
        actionName: "models.useServer",
        inputs: { path: "config/models.yaml", url, model },
      } as const;
      return withReceipt(ledger, { ...opening, riskTier: "T1" }, async () => {
        const found = await servers.choose(url, model, signal);
        const { name: provider, displayName, contextWindow } = found;
        if (deps.chosen !== undefined && deps.chosen !== "" && deps.chosen !== provider)
          throw new LancelotError(
            "conflict",
            `LANCELOT_PROVIDER=${deps.chosen} overrides this choice. Unset it to choose another provider.`,
          );
        if (found.structured === false) deps.onUnstructured(found.url, model);
        if (found.provider === null) deps.configFile.addServer(provider, { displayName, url: found.url, model, contextWindow });
        else deps.configFile.choose(provider, { name: model, contextWindow });
        deps.onChange();
        return { provider, model };
      });
    },
  };
}

type Names = "models.local.load" | "models.local.unload" | "models.local.delete" | "models.servers" | "models.useServer";

export function localHandlers(models: LocalOperations): Pick<Handlers, Names> {
  return {
    "models.local.load": (_, call) => models.loadLocal(call.signal),
    "models.local.unload": () => models.unloadLocal(),
    "models.local.delete": () => models.deleteLocal(),
    "models.servers": async (_, call) => ({ items: await models.servers(call.signal) }),
    "models.useServer": ({ url, model }, call) => models.useServer(url, model, call.signal),
  };
}

/** The local model's line of Lancelot Doctor. */
export function localDoctorLine(state: LocalModel): DoctorLine {
  const about = { id: "local-model", title: "Local model", action: null };
  const { status, name, problem, nextStep = null, fit = "", loaded } = state;
  if (problem !== null) return { ...about, status: status === "failed" ? "missing" : "warning", message: problem, nextStep };
  if (status === "absent")
    return {
      ...about,
      status: "warning",
      message: `Not downloaded. ${fit}`,
      nextStep: "Download it, or use a provider or a server of your own.",
    };
  if (status === "downloading") return { ...about, status: "warning", message: `${name} is downloading.`, nextStep: null };
  const speed = loaded?.tokensPerSecond ? ` (last answer: ${loaded.tokensPerSecond.toFixed(0)} tokens/s)` : "";
  return { ...about, status: "ok", message: `${name} is ${loaded ? `loaded${speed}` : "installed"}. ${fit}`.trim(), nextStep: null };
}
