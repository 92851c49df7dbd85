import { createHash, randomUUID } from "node:crypto";
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

/** Signatures are a hash of the thought, so that any server can tell a true one from an altered one. */
function sign(thinking: string): string {
  return createHash("sha256").update(`anthropic ${thinking}`).digest("base64");
}

const redacted = "cmVkYWN0ZWQgdGhpbmtpbmc=";

export const anthropic: Wire = {
  tooLong: "prompt is too long: 250000 tokens > 200000 maximum",

  read(body) {
    const system = Array.isArray(body["system"])
      ? list(body["system"])
          .map((block) => text(block["text"]))
          .join("\n")
      : text(body["system"]);
    return {
      model: text(body["model"]),
      system,
      messages: list(body["messages"]).flatMap(readMessage),
      tools: list(body["tools"]).map((tool) => ({ name: text(tool["name"]), schema: tool["input_schema"] })),
    };
  },

  refuse(body, _path, headers) {
    const messages = list(body["messages"]).map((message) => ({ role: text(message["role"]), blocks: blocksOf(message) }));
    const thinking = isRecord(body["thinking"]) ? body["thinking"] : undefined;
    const model = text(body["model"]);
    if (messages[0]?.role !== "user") return "messages: first message must use the user role";
    const isOld = /claude-(3|\w+-4-[0-6])/.test(model);
    if ("temperature" in body) return "temperature: Extra inputs are not permitted";
    if (!isOld && isRecord(body["tool_choice"]) && body["tool_choice"]["type"] !== "auto")
      return "`tool_choice`: forced tool use is not supported for this model";
    if (isRecord(thinking?.["block_binding"]) && headers["anthropic-beta"] !== "thinking-binding-controls-2026-08-01")
      return "`thinking.block_binding` requires the beta header thinking-binding-controls-2026-08-01";
    if (thinking?.["type"] === "between_tools" && !/sonnet-5-5/.test(model))
      return '"thinking.type.between_tools" is not supported for this model';
    const marks = JSON.stringify(body).split('"cache_control"').length - 1;
    if (marks > 4) return `A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`;
    if (/claude-\w+-5/.test(model) && thinking?.["type"] === "enabled")
      return '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';
    if (thinking?.["type"] === "enabled" && Number(thinking["budget_tokens"]) >= Number(body["max_tokens"]))
      return "`max_tokens` must be greater than `thinking.budget_tokens`";
    for (const [index, message] of messages.entries()) {
      for (const block of message.blocks) {
        if (block["type"] === "text" && text(block["text"]) === "") return `messages.${index}: text content blocks must be non-empty`;
        if (block["type"] === "thinking" && "cache_control" in block) return `messages.${index}: thinking blocks cannot have cache_control`;
        if (block["type"] === "thinking" && block["signature"] !== sign(text(block["thinking"])))
          return `messages.${index}.content: Invalid \`signature\` in \`thinking\` block`;
        if (block["type"] === "redacted_thinking" && block["data"] !== redacted)
          return `messages.${index}.content: Invalid \`data\` in \`redacted_thinking\` block`;
      }
      const calls = message.blocks.filter((block) => block["type"] === "tool_use").map((block) => text(block["id"]));
      if (calls.length === 0) continue;
      if (calls.some((id) => !/^[a-zA-Z0-9_-]+$/.test(id)))
        return `messages.${index}: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`;
      const results = (messages[index + 1]?.blocks ?? [])
        .filter((block) => block["type"] === "tool_result")
        .map((block) => text(block["tool_use_id"]));
      const missing = calls.filter((id) => !results.includes(id));
      if (missing.length > 0)
        return `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}`;
      const isCurrent = messages
        .slice(index + 1)
        .every(({ role, blocks }) => role === "assistant" || blocks.every((block) => block["type"] === "tool_result"));
      const first = message.blocks[0]?.["type"];
      if (thinking?.["type"] === "enabled" && isCurrent && first !== "thinking" && first !== "redacted_thinking")
        return `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${text(first)}\``;
    }
    return null;
  },

  events(turn, request) {
    const events: SentEvent[] = [];
    const send = (type: string, fields: Record<string, unknown>): void => {
      events.push({ event: type, data: JSON.stringify({ type, ...fields }) });
    };
    const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, cacheWriteTokens } = usageOf(turn);
    const usage = {
      input_tokens: inputTokens - cachedInputTokens - cacheWriteTokens,
      cache_read_input_tokens: cachedInputTokens,
      cache_creation_input_tokens: cacheWriteTokens,
    };
    const id = `msg_${randomUUID().slice(0, 8)}`;
    send("message_start", {
      message: {
        id,
        type: "message",
        role: "assistant",
        model: request.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...usage, output_tokens: 1 },
      },
    });
    send("ping", {});
    let index = 0;
    const block = (start: Record<string, unknown>, deltas: Record<string, unknown>[]): void => {
      send("content_block_start", { index, content_block: start });
      for (const delta of deltas) send("content_block_delta", { index, delta });
      send("content_block_stop", { index });
      index++;
    };
    if (turn.thinking !== undefined)
      block({ type: "thinking", thinking: "", signature: "" }, [
        ...pieces(turn.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: sign(turn.thinking) },
      ]);
    if (turn.redactedThinking === true) block({ type: "redacted_thinking", data: redacted }, []);
    if (turn.text !== undefined)
      block(
        { type: "text", text: "" },
        pieces(turn.text).map((piece) => ({ type: "text_delta", text: piece })),
      );
    for (const call of turn.toolCalls ?? [])
      block({ type: "tool_use", id: `toolu_${randomUUID().replaceAll("-", "").slice(0, 20)}`, name: call.name, input: {} }, [
        { type: "input_json_delta", partial_json: "" },
        ...pieces(rawArguments(call), 7).map((partial_json) => ({ type: "input_json_delta", partial_json })),
      ]);
    const details = reasoningTokens > 0 ? { output_tokens_details: { thinking_tokens: reasoningTokens } } : {};
    send("message_delta", {
      delta: { stop_reason: stopOf(turn), stop_sequence: null },
      usage: { ...usage, output_tokens: outputTokens, ...details },
    });
    send("message_stop", {});
    return events;
  },

  errorEvent: () => ({
    event: "error",
    data: JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
  }),

  error(status, message) {
    const types: Record<number, string> = {
      400: "invalid_request_error",
      401: "authentication_error",
      403: "permission_error",
      404: "not_found_error",
      413: "request_too_large",
      429: "rate_limit_error",
      529: "overloaded_error",
    };
    return { type: "error", error: { type: types[status] ?? "api_error", message }, request_id: "req_test" };
  },
};

function stopOf(turn: Turn): string {
  if (turn.stop === "max_tokens") return "max_tokens";
  if (turn.stop === "refused") return "refusal";
  return (turn.toolCalls ?? []).length > 0 ? "tool_use" : "end_turn";
}

function blocksOf(message: Record<string, unknown>): Record<string, unknown>[] {
  return typeof message["content"] === "string" ? [{ type: "text", text: message["content"] }] : list(message["content"]);
}

/** Results of tools come in a user message here; they are told apart. */
function readMessage(message: Record<string, unknown>): SeenMessage[] {
  const spoken = emptyMessage(message["role"] === "assistant" ? "assistant" : "user");
  const results = emptyMessage("tool");
  for (const block of blocksOf(message)) {
    if (block["type"] === "text") spoken.text += text(block["text"]);
    else if (block["type"] === "image" && isRecord(block["source"])) spoken.images.push(text(block["source"]["data"]));
    else if (block["type"] === "tool_use")
      spoken.toolCalls.push({ id: text(block["id"]), name: text(block["name"]), args: block["input"] });
    else if (block["type"] === "tool_result") {
      for (const inner of list(block["content"])) if (isRecord(inner["source"])) results.images.push(text(inner["source"]["data"]));
      results.toolResults.push({ id: text(block["tool_use_id"]), text: textOf(block["content"]), isError: block["is_error"] === true });
    } else spoken.thinking.push(block);
  }
  const isSpoken = spoken.text !== "" || spoken.images.length + spoken.toolCalls.length + spoken.thinking.length > 0;
  return [...(results.toolResults.length > 0 ? [results] : []), ...(isSpoken ? [spoken] : [])];
}
