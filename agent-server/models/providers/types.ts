import type { AskEditor } from "../../contract/editor.ts";
import type { ModelInfo, ProviderKind } from "../../contract/models.ts";
import type { ModelEvent, ModelRequest } from "../request.ts";

/** A profile of models.yaml with the provider's settings filled in. */
export interface ProviderCall {
  model: string;
  /** Tokens. */
  maxTokens: number;
  temperature: number | undefined;
  thinking: { enabled: boolean; budgetTokens: number } | undefined;
  /** To be called whenever the provider shows that it lives (bytes came), text or not: silence is what times out. */
  onActivity?: () => void;
}

/** One provider of models: one try of one answer. Retries, timeouts and receipts are the room's, not the provider's. */
export interface Provider {
  /**
   * Streams one try. Ends with a `done` event.
   * @throws LancelotError worded for the owner; `data.retryable: true` and `data.retryAfterMs` where a second try may help.
   */
  stream(request: ModelRequest, call: ProviderCall, signal: AbortSignal): AsyncIterable<ModelEvent>;
  listModels(signal: AbortSignal): Promise<Pick<ModelInfo, "model" | "displayName" | "contextWindow">[]>;
}

/** What a provider needs to know of its server. */
export interface Connection {
  readonly kind: ProviderKind;
  readonly displayName: string;
  readonly baseUrl: string;
  /** Null where the server needs none. */
  readonly key: string | null;
  /** Reaches the server's origin and nothing else. */
  readonly fetch: typeof fetch;
  /** By the official SDK, loaded with the first request, or by plain REST without it; `sdk` unless said. Both send and read the same. */
  readonly mode?: "sdk" | "api";
  /** The editor whose language models answer; of kind `vscode` alone. */
  readonly editor?: AskEditor;
  /** What was learned of servers; without it every request learns anew. */
  readonly memory?: ServerMemory;
}

/** What was learned of the servers while this host runs: shared by all requests, so that nothing is asked twice in vain. */
export interface ServerMemory {
  /** Parts of a request that a server refused, by address, model and name. */
  readonly refused: Set<string>;
  /** State of one provider's caches, kept by that provider under its own name. */
  readonly caches: Map<string, unknown>;
  /** Does what leaves something at a server, with a receipt of it. */
  readonly record: RecordEffect;
}

export type RecordEffect = <T>(what: "create" | "delete", inputs: Record<string, string>, work: () => Promise<T>) => Promise<T>;
