/** The wire formats the server speaks. */
export type WireFormat = "anthropic" | "openai_chat" | "openai_responses" | "gemini";

/** What goes wrong with a turn. `http…` answers that status in the provider's own words. */
export type Fault =
  | `http${number}`
  /** 400 in the words the provider has for a prompt past its window. */
  | "too_long"
  /** The socket is destroyed after half of the stream. */
  | "cut"
  /** The stream ends properly, but early: no finish reason, no last event. */
  | "cut_clean"
  /** Nothing is ever answered. */
  | "hang"
  /** Half of the stream comes, then silence; the connection stays open. */
  | "hang_midway"
  /** The provider reports an overload inside a stream that began well. */
  | "error_event"
  /** `delayMs` (50 by default) between the events. */
  | "slow"
  /** The web page of a proxy, with status 200. */
  | "page"
  /** One JSON text in place of a stream. */
  | "no_stream"
  /** An error as JSON with status 200, as some proxies send it. */
  | "json_error"
  /** Sent on to another address. */
  | "redirect";

/** One answer of the played model. */
export interface Turn {
  thinking?: string;
  /** Anthropic only: a thinking block whose text is withheld. */
  redactedThinking?: boolean;
  text?: string;
  /** `rawArgs` goes out as it is, JSON or not. */
  toolCalls?: { name: string; args?: unknown; rawArgs?: string }[];
  usage?: Partial<TurnUsage>;
  /** What follows from the content unless said. */
  stop?: "end" | "max_tokens" | "refused";
  fault?: Fault;
  /** `Retry-After` of an http fault: seconds, or the header as it is. */
  retryAfter?: number | string;
  /** `retry-after-ms` of an http fault. */
  retryAfterMs?: number;
  /** What an http fault says, in place of the server's own words; a text that begins with `<` is sent as a web page. */
  says?: string;
  /** The stream as it was recorded, in place of what the other fields would become. */
  stream?: string;
  /** Bytes in place of what the other fields would become, endless ones too. They are sent as fast as the client takes them. */
  bytes?: Iterable<Uint8Array>;
  /** Of `bytes`. */
  contentType?: string;
  /** Cuts the byte stream every so many bytes, wherever that falls. */
  chunkBytes?: number;
  /** Milliseconds before each event. */
  delayMs?: number;
  /** The second half of the events is sent when this resolves, so that a test can look at the first. */
  secondHalf?: Promise<void>;
}

/** Tokens; input and output include the cached and the reasoning ones. */
export interface TurnUsage {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  reasoningTokens: number;
  cacheWriteTokens: number;
  toolTokens: number;
}

export interface SeenMessage {
  role: "user" | "assistant" | "tool";
  text: string;
  /** Base64 of each image. */
  images: string[];
  toolCalls: { id: string; name: string; args: unknown }[];
  toolResults: { id: string; text: string; isError: boolean }[];
  /** Replayed thinking, as the provider's own blocks. */
  thinking: unknown[];
}

/** A request as every format can be told. */
export interface SeenRequest {
  format: WireFormat;
  /** The mount it came by: anthropic, openai, gemini, xai, openai_compatible. */
  provider: string;
  model: string;
  system: string;
  messages: SeenMessage[];
  tools: { name: string; schema: unknown }[];
  raw: Record<string, unknown>;
  key: string | null;
  /** Path and query. */
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface SentEvent {
  /** Name of the SSE event, where the format has one. */
  event?: string;
  data: string;
}

/** What a wire format is to the server. */
export interface Wire {
  read(body: Record<string, unknown>, path: string): Omit<SeenRequest, "format" | "provider" | "raw" | "key" | "path" | "headers">;
  /** What the real service would refuse (unknown signature, tool call without result, …); null when it would answer. */
  refuse(body: Record<string, unknown>, path: string, headers: SeenRequest["headers"]): string | null;
  events(turn: Turn, request: SeenRequest): SentEvent[];
  /** The reported failure inside a stream. */
  errorEvent(): SentEvent;
  error(status: number, message: string): Record<string, unknown>;
  tooLong: string;
}

export type Script = (request: SeenRequest) => Turn | Promise<Turn>;

export function usageOf(turn: Turn): TurnUsage {
  return { inputTokens: 20, outputTokens: 10, cachedInputTokens: 0, reasoningTokens: 0, cacheWriteTokens: 0, toolTokens: 0, ...turn.usage };
}

/** Text in pieces of a few characters, never inside a surrogate pair. */
export function pieces(text: string, length = 12): string[] {
  const points = Array.from(text);
  const found: string[] = [];
  for (let start = 0; start < points.length; start += length) found.push(points.slice(start, start + length).join(""));
  return found;
}

export function rawArguments(call: NonNullable<Turn["toolCalls"]>[number]): string {
  return call.rawArgs ?? JSON.stringify(call.args ?? {});
}

export function list(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter((item) => isRecord(item)) : [];
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The text of content that is text itself, or a list of parts. */
export function textOf(content: unknown): string {
  return typeof content === "string"
    ? content
    : list(content)
        .map((part) => text(part["text"]))
        .join("");
}

export function emptyMessage(role: SeenMessage["role"]): SeenMessage {
  return { role, text: "", images: [], toolCalls: [], toolResults: [], thinking: [] };
}
