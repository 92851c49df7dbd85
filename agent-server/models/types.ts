import type { AskEditor } from "../contract/editor.ts";
import type { LocalModel, ModelInfo, ProviderState } from "../contract/models.ts";
import type { ModelOverride, RouterDecision } from "../contract/router.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { GatedFetch, OAuth, Redactor, Secrets } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import type { AttemptDeps } from "./attempts.ts";
import type { ConfigIssue } from "./config-issue.ts";
import type { createLocal } from "./local/local.ts";
import type { LocalOperations } from "./local-operations.ts";
import type { CallContext } from "./model-calls.ts";
import type { OutboundDeps } from "./outbound/outbound.ts";
import type { ActiveModel, ModelEvent, ModelRequest } from "./request.ts";
import type { Limits } from "./resilience/timeouts.ts";
import type { RouterView } from "./router/router-handlers.ts";
import type { RouteSequence } from "./router/types.ts";
import type { LocalTasks } from "./tasks/types.ts";
import type { UsageBook } from "./usage/types.ts";

/** A change that the composition root emits as an event. */
export type ModelsChange = { localModel: LocalModel } | { routed: RouterDecision } | { models: true };

export interface Models {
  /** The model for a simple request. @throws LancelotError `unavailable` with the next step when no model is available */
  active(): Promise<ActiveModel>;
  /** The routes of one task's calls, with failover and escalation. Nothing is sent. */
  routes(): RouteSequence;
  /** @throws LancelotError `invalid_params` or `not_found` for a choice that models.yaml does not have */
  checkOverride(override: ModelOverride): Promise<void>;
  /**
   * Streams one answer. Each attempt is a receipt (`llm_call`), and a `retry` event discards what a failed attempt streamed. With
   * `context.route` the call follows that route, and its error goes to the caller, who holds the route sequence; otherwise the call fails
   * over by itself. Aborting closes the connection. @throws LancelotError with a message for the user
   */
  stream(request: ModelRequest, context: CallContext): AsyncIterable<ModelEvent>;
  /** Decisions, their statistics, and the circuit breakers. */
  readonly router: RouterView;
  /** The local tasks: done by a model on this machine, otherwise by rules. */
  readonly tasks: LocalTasks;
  /** The problems of a text for models.yaml or router.yaml. */
  lint(file: "models" | "router", text: string): ConfigIssue[];
  /** Why the user's files, or settings in them, are not used; null for each that is, or is missing. */
  configProblems(): Record<"models.yaml" | "router.yaml" | "local-models.yaml", string | null>;
  /** The models of each provider (cached for five minutes) and the configured ones; `problem` is that of the user's models.yaml. */
  list(
    provider: string | undefined,
    signal: AbortSignal,
  ): Promise<{ items: ModelInfo[]; providers: ProviderState[]; problem: string | null }>;
  /**
   * Writes the provider, and the model of its fast and deep profiles, into the user's models.yaml.
   * @throws LancelotError `not_found`; `conflict` when LANCELOT_PROVIDER overrides it or the file is invalid
   */
  choose(provider: string, model?: string): Promise<{ provider: string; model: string }>;
  local(): LocalModel;
  /** `intent`: only the runtime and the intent classifier's model. */
  downloadLocal(only?: "intent"): Promise<LocalModel>;
  cancelDownload(): LocalModel;
  readonly localOperations: LocalOperations;
  onChange(listener: (change: ModelsChange) => void): () => void;
  /** Deletes what providers cache under a task's cache key, after its turn. */
  release(cacheKey: string): Promise<void>;
  /** Ends the local model's process and open streams. */
  close(): Promise<void>;
}

export interface ModelsDeps {
  storage: Storage;
  /** Off (PROVIDER_SDK): every provider is used over plain REST. */
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
  /** Placeholders for secrets and personal data in requests. Without them, secrets are removed irreversibly, and nothing else. */
  placeholders?: OutboundDeps["placeholders"];
  personal?: OutboundDeps["personal"];
  more?: OutboundDeps["more"];
  /** Counts usage and enforces caps; without it, nothing is counted. */
  usage?: Pick<UsageBook, "admit" | "count"> | undefined;
  /** Sign-in instead of an API key. */
  oauth?: Pick<OAuth, "token"> | undefined;
  /** The editor with language models of its own. */
  askEditor?: AskEditor | null | undefined;
  env: Readonly<Record<string, string | undefined>>;
  /** Replaced by tests. */
  local?: typeof createLocal;
  limits?: Partial<Limits>;
  sleep?: NonNullable<AttemptDeps["sleep"]>;
  random?: () => number;
  now?: () => number;
}
