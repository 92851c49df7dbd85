import { randomUUID } from "node:crypto";
import {
  emptyMessage,
  isRecord,
  list,
  pieces,
  rawArguments,
  text,
  textOf,
  usageOf,
  type SeenMessage,
  type SentEvent,
  type Turn,
  type Wire,
} from "./turn.ts";

export const openAIChat: Wire = {
  tooLong: "This model's maximum context length is 128000 tokens. However, your messages resulted in 250000 tokens.",

  read(body) {
    const messages = list(body["messages"]);
    return {
      model: text(body["model"]),
      system: messages
        .filter(({ role }) => role === "system" || role === "developer")
        .map((message) => textOf(message["content"]))
        .join("\n"),
      messages: messages.filter(({ role }) => role !== "system" && role !== "developer").map(readMessage),
      tools: list(body["tools"]).flatMap((tool) =>
        isRecord(tool["function"]) ? [{ name: text(tool["function"]["name"]), schema: tool["function"]["parameters"] }] : [],
      ),
    };
  },

  refuse(body) {
    const messages = list(body["messages"]);
    for (const [index, message] of messages.entries()) {
      const calls = list(message["tool_calls"]).map((call) => text(call["id"]));
      if (calls.length === 0) continue;
      const answered: string[] = [];
      for (const next of messages.slice(index + 1)) {
        if (next["role"] !== "tool") break;
        answered.push(text(next["tool_call_id"]));
      }
      const missing = calls.filter((id) => !answered.includes(id));
      if (missing.length > 0)
        return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following did not have response messages: ${missing.join(", ")}`;
    }
    return null;
  },

  events(turn, request) {
    const id = `chatcmpl-${randomUUID().slice(0, 8)}`;
    const chunk = (fields: Record<string, unknown>): SentEvent => ({
      data: JSON.stringify({ id, object: "chat.completion.chunk", created: 1_790_000_000, model: request.model, ...fields }),
    });
    const delta = (fields: Record<string, unknown>, finish: string | null = null): SentEvent =>
      chunk({ choices: [{ index: 0, delta: fields, finish_reason: finish }] });
    const events = [delta({ role: "assistant", content: "" })];
    for (const piece of pieces(turn.thinking ?? "")) events.push(delta({ reasoning_content: piece }));
    for (const piece of pieces(turn.text ?? "")) events.push(delta({ content: piece }));
    const calls = (turn.toolCalls ?? []).map((call) => ({ name: call.name, rest: pieces(rawArguments(call), 7) }));
    for (const [index, { name }] of calls.entries())
      events.push(
        delta({
          tool_calls: [
            { index, id: `call_${randomUUID().replaceAll("-", "").slice(0, 20)}`, type: "function", function: { name, arguments: "" } },
          ],
        }),
      );
    // Pieces of parallel calls come in turns: they must be put together by their index.
    while (calls.some(({ rest }) => rest.length > 0))
      for (const [index, { rest }] of calls.entries()) {
        const piece = rest.shift();
        if (piece !== undefined) events.push(delta({ tool_calls: [{ index, function: { arguments: piece } }] }));
      }
    events.push(delta({}, finishOf(turn)));
    const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, cacheWriteTokens } = usageOf(turn);
    if (isRecord(request.raw["stream_options"]) && request.raw["stream_options"]["include_usage"] === true)
      events.push(
        chunk({
          choices: [],
          usage: {
            prompt_tokens: inputTokens,
            completion_tokens: outputTokens,
            total_tokens: inputTokens + outputTokens,
            prompt_tokens_details: { cached_tokens: cachedInputTokens, cache_write_tokens: cacheWriteTokens },
            completion_tokens_details: { reasoning_tokens: reasoningTokens },
          },
        }),
      );
    return [...events, { data: "[DONE]" }];
  },

  errorEvent: () => ({
    data: JSON.stringify({ error: { type: "server_error", code: "overloaded", message: "The server is overloaded" } }),
  }),

  error: (status, message) => openAIError(status, message),
};

export function openAIError(status: number, message: string): Record<string, unknown> {
  const types: Record<number, string> = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    404: "invalid_request_error",
    429: "rate_limit_exceeded",
  };
  const codes: Record<number, string> = { 401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded" };
  const code = /maximum context length|context window/.test(message) ? "context_length_exceeded" : (codes[status] ?? null);
  return { error: { message, type: types[status] ?? "server_error", param: null, code } };
}

function finishOf(turn: Turn): string {
  if (turn.stop === "max_tokens") return "length";
  if (turn.stop === "refused") return "content_filter";
  return (turn.toolCalls ?? []).length > 0 ? "tool_calls" : "stop";
}

function readMessage(message: Record<string, unknown>): SeenMessage {
  if (message["role"] === "tool")
    return {
      ...emptyMessage("tool"),
      toolResults: [{ id: text(message["tool_call_id"]), text: textOf(message["content"]), isError: false }],
    };
  const seen = emptyMessage(message["role"] === "assistant" ? "assistant" : "user");
  seen.text = textOf(message["content"]);
  for (const part of list(message["content"]))
    if (isRecord(part["image_url"])) seen.images.push(text(part["image_url"]["url"]).replace(/^data:[^,]*,/, ""));
  if (typeof message["reasoning_content"] === "string") seen.thinking.push({ reasoning_content: message["reasoning_content"] });
  for (const call of list(message["tool_calls"]))
    if (isRecord(call["function"]))
      seen.toolCalls.push({
        id: text(call["id"]),
        name: text(call["function"]["name"]),
        args: JSON.parse(text(call["function"]["arguments"])),
      });
  return seen;
}
