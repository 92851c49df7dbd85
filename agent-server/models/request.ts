import type { Usage } from "../contract/chat.ts";
import type { ProviderKind } from "../contract/models.ts";
import type { AnsweredBy } from "../contract/router.ts";

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
  | {
      type: "tool_call";
      id: string;
      name: string;
      args: Record<string, unknown>;
      /** `args`: as the model wrote them, where what it was told stands in them for something else; a signature covers these. */
      replay?: { provider: ProviderKind; block: unknown; args?: Record<string, unknown> };
    };
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
  /** A profile of models.yaml the caller wants, whatever the words say; the router chooses unless said. */
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
  /** The first event of a stream of the room, and again where another model takes over: who answers, and why. Providers send none. */
  | { type: "routed"; by: AnsweredBy }
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
  /** What the owner should know of this choice: their models.yaml or router.yaml is not in use and why. */
  notice?: string;
}
