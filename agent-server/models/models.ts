import type { Usage } from "../contract/chat.ts";
import type { LocalModel, ModelInfo, ProviderKind, ProviderState } from "../contract/models.ts";

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
}

export type StopReason = "end" | "tool_calls" | "max_tokens" | "refused" | "stopped";

export type ModelEvent =
  | { type: "text"; text: string }
  | { type: "thinking"; text: string }
  /** A try failed and another begins; what was streamed of the failed try counts no more. */
  | { type: "retry"; attempt: number; delayMs: number; reason: string }
  /** Last event of a stream: the whole answer, ready to be replayed. Arguments that were not a JSON object come as `malformed`. */
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
  list(provider: string | undefined, signal: AbortSignal): Promise<{ items: ModelInfo[]; providers: ProviderState[] }>;
  choose(provider: string, model?: string): Promise<{ provider: string; model: string }>;
  local(): LocalModel;
  downloadLocal(): Promise<LocalModel>;
  cancelDownload(): LocalModel;
  onChange(listener: (change: { localModel: LocalModel } | { models: true }) => void): () => void;
  /** Ends the local process and open streams. */
  close(): Promise<void>;
}
