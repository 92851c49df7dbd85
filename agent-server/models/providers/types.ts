import type { AskEditor } from "../../contract/editor.ts";
import type { ModelInfo, ProviderKind } from "../../contract/models.ts";
import type { AnswerMeter } from "../answer-limits.ts";
import type { ModelEvent, ModelRequest } from "../request.ts";

/** A profile of models.yaml with the provider's settings filled in. */
export interface ProviderCall {
  model: string;
  /** Tokens. */
  maxTokens: number;
  temperature: number | undefined;
  thinking: { enabled: boolean; budgetTokens: number } | undefined;
  /** Must be called for every sign of life of the provider, text or not: a timeout measures silence. */
  onActivity?: () => void;
  /** Counts what the provider collects of the answer; by default, one with the shipped limits. */
  meter?: AnswerMeter;
}

/** A provider of models: one attempt at one answer. Retries, timeouts and receipts are handled by attempts.ts. */
export interface Provider {
  /**
   * Streams one attempt. Ends with a `done` event.
   * @throws LancelotError with a message for the user; `data.retryable: true` and `data.retryAfterMs` where a retry may help
   */
  stream(request: ModelRequest, call: ProviderCall, signal: AbortSignal): AsyncIterable<ModelEvent>;
  listModels(signal: AbortSignal): Promise<Pick<ModelInfo, "model" | "displayName" | "contextWindow">[]>;
}

/** How to reach a provider's server. */
export interface Connection {
  readonly kind: ProviderKind;
  readonly displayName: string;
  readonly baseUrl: string;
  /** Null where the server requires none. */
  readonly key: string | null;
  /** Reaches only the server's origin. */
  readonly fetch: typeof fetch;
  /** The official SDK, loaded with the first request, or plain REST; `sdk` by default. Both send and read the same. */
  readonly mode?: "sdk" | "api";
  /** The editor whose language models answer; for kind `vscode` only. */
  readonly editor?: AskEditor;
  /** What earlier requests learned about servers; without it, each request learns again. */
  readonly memory?: ServerMemory;
}

/** Facts about servers, learned since the host started and shared by all requests. */
export interface ServerMemory {
  /** Parts of a request that a server rejected, by address, model and name. */
  readonly refused: Set<string>;
  /** State of a provider's caches, kept by that provider under its own name. */
  readonly caches: Map<string, unknown>;
  /** Records a receipt of an effect at a server. */
  readonly record: RecordEffect;
}

export type RecordEffect = <T>(what: "create" | "delete", inputs: Record<string, string>, work: () => Promise<T>) => Promise<T>;
