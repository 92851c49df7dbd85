import type { AskEditor } from "../contract/editor.ts";
import type { LocalModel, ModelInfo, ProviderState } from "../contract/models.ts";
import type { ModelOverride, RouterDecision } from "../contract/router.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { GatedFetch, OAuth, Redactor, Secrets } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import type { AttemptDeps } from "./attempts.ts";
import type { ConfigIssue } from "./config-yaml.ts";
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

/** What changed: told to the world by the composition root. */
export type ModelsChange = { localModel: LocalModel } | { routed: RouterDecision } | { models: true };

export interface Models {
  /** What answers when nothing asks for more. @throws LancelotError `unavailable` with the next step when nothing can answer. */
  active(): Promise<ActiveModel>;
  /** The routes of one task's calls, with failover and escalation. Nothing is sent. */
  routes(): RouteSequence;
  /** @throws LancelotError `invalid_params` or `not_found` when the choice is none that models.yaml knows. */
  checkOverride(override: ModelOverride): Promise<void>;
  /**
   * Streams one answer. Each attempt is a receipt (`llm_call`), and a `retry` event discards what a failed attempt streamed. With
   * `context.route` the call follows that route, and its error goes to the caller, who holds the route sequence; otherwise the call fails
   * over by itself. Aborting closes the connection. @throws LancelotError with a message for the user
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
  readonly localOperations: LocalOperations;
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
