import type { ModelInfo } from "../../contract/models.ts";
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
