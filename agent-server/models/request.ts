import type { Usage } from "../contract/chat.ts";
import type { ProviderKind } from "../contract/models.ts";
import type { AnsweredBy } from "../contract/router.ts";

/** A conversation in a form that every provider supports. */
export type ModelMessage =
  | { role: "user"; content: UserContent[] }
  | { role: "assistant"; content: AssistantContent[] }
  /** The results of all tool calls of the assistant message before it, in their order. */
  | { role: "tool"; results: ToolResult[] };
export type UserContent = { type: "text"; text: string } | { type: "image"; mediaType: string; data: string };
export type AssistantContent =
  | { type: "text"; text: string }
  /** `replay` is the provider's own block (signature, encrypted content), sent back unchanged to that provider. */
  | { type: "thinking"; text: string; replay?: { provider: ProviderKind; block: unknown } }
  | {
      type: "tool_call";
      id: string;
      name: string;
      args: Record<string, unknown>;
      /** `args`: as the model wrote them, before placeholders were restored; a signature covers these. */
      replay?: { provider: ProviderKind; block: unknown; args?: Record<string, unknown> };
    };
export interface ToolResult {
  callId: string;
  name: string;
  text: string;
  isError: boolean;
  /** Shown to models that accept images in results; other models get them in a separate message. */
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
  /** A profile of models.yaml that the caller requires; the router chooses by default. */
  lane?: "fast" | "deep" | "cache";
  /** Tokens; the profile's limit by default. */
  maxTokens?: number;
  /** At least so many tokens for thinking, where the profile thinks. */
  thinkingTokens?: number;
  /** 0 to 2; the profile's by default. It is not sent to models that take none. */
  temperature?: number;
  /** The answer must be JSON that matches this schema. Each provider has its own way to enforce it, and the answer is checked. */
  responseSchema?: { name: string; schema: Record<string, unknown> };
  /** The same for all requests with a common prefix (a quest), for providers that cache by key. */
  cacheKey?: string;
}

export type StopReason = "end" | "tool_calls" | "max_tokens" | "refused" | "stopped";

export type ModelEvent =
  /** First event of a call, and again after a failover: which model answers, and why. Providers do not send it. */
  | { type: "routed"; by: AnsweredBy }
  | { type: "text"; text: string }
  | { type: "thinking"; text: string }
  /** An attempt failed and another begins; the streamed text of the failed attempt is discarded. */
  | { type: "retry"; attempt: number; delayMs: number; reason: string }
  /** The first token has not arrived yet. `server` is null for a model without a server. Providers do not send it. */
  | { type: "waiting"; displayName: string; server: string | null; elapsedMs: number; limitMs: number }
  /**
   * Last event of a stream: the whole answer, ready to be replayed. A tool call whose arguments are not a JSON object is in `content` without
   * arguments, so that it can be answered, and in `malformed` under the same id: it must not be run. `inputTokens` includes cached tokens,
   * `outputTokens` reasoning tokens.
   */
  | { type: "done"; content: AssistantContent[]; malformed: { id: string; name: string; raw: string }[]; stop: StopReason; usage: Usage };

/** The model that answers. */
export interface ActiveModel {
  provider: string;
  kind: ProviderKind;
  model: string;
  displayName: string;
  /** Tokens. */
  contextWindow: number;
  /** A small model: short prompt, few tools, more help from the host. */
  small: boolean;
  /** A notice for the user about this choice, such as an invalid models.yaml or router.yaml. */
  notice?: string;
}
