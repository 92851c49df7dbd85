import { randomUUID } from "node:crypto";
import { openAIError } from "./openai-chat.ts";
import { emptyMessage, list, pieces, rawArguments, text, usageOf, type SeenMessage, type SentEvent, type Wire, textOf } from "./turn.ts";

/** Opaque to the client; the server knows its own again by the prefix and the item's id. */
function encrypt(id: string, thinking: string): string {
  return Buffer.from(`openai ${id} ${thinking}`).toString("base64");
}

export const openAIResponses: Wire = {
  tooLong: "Your input exceeds the context window of this model. Please adjust your input and try again.",

  read(body) {
    const messages: SeenMessage[] = [];
    const items = list(body["input"]);
    const reported = items.filter(({ role }) => role === "developer" || role === "system").map((item) => textOf(item["content"]));
    for (const item of items.filter(({ role }) => role !== "developer" && role !== "system")) {
      const role = roleOf(item);
      let last = messages.at(-1);
      if (last === undefined || last.role !== role || role === "user") {
        last = emptyMessage(role);
        messages.push(last);
      }
      addItem(last, item);
    }
    return {
      model: text(body["model"]),
      system: [text(body["instructions"]), ...reported].filter((part) => part !== "").join("\n"),
      messages,
      tools: list(body["tools"]).map((tool) => ({ name: text(tool["name"]), schema: tool["parameters"] })),
    };
  },

  refuse(body) {
    const items = list(body["input"]);
    if (/^(gpt-[5-9]|o\d)/.test(text(body["model"])) && "temperature" in body)
      return "Unsupported parameter: 'temperature' is not supported with this model.";
    const calls = items.filter(({ type }) => type === "function_call").map((item) => text(item["call_id"]));
    const outputs = items.filter(({ type }) => type === "function_call_output").map((item) => text(item["call_id"]));
    for (const id of calls) if (!outputs.includes(id)) return `No tool output found for function call ${id}.`;
    for (const id of outputs) if (!calls.includes(id)) return `No tool call found for function call output with call_id ${id}.`;
    for (const [index, item] of items.entries()) {
      if (item["type"] !== "reasoning") continue;
      const known = Buffer.from(text(item["encrypted_content"]), "base64").toString();
      if (!known.startsWith(`openai ${text(item["id"])} `))
        return `The encrypted content for item ${text(item["id"])} could not be verified.`;
      const next = items[index + 1];
      if (next === undefined || (next["role"] !== "assistant" && next["type"] !== "function_call" && next["type"] !== "reasoning"))
        return `Item '${text(item["id"])}' of type 'reasoning' was provided without its required following item.`;
    }
    return null;
  },

  events(turn, request) {
    const events: SentEvent[] = [];
    let sequence_number = 0;
    const send = (type: string, fields: Record<string, unknown>): void => {
      events.push({ event: type, data: JSON.stringify({ type, sequence_number: sequence_number++, ...fields }) });
    };
    const response = {
      id: `resp_${randomUUID().slice(0, 8)}`,
      object: "response",
      created_at: 1_790_000_000,
      model: request.model,
      error: null,
      incomplete_details: null,
    };
    send("response.created", { response: { ...response, status: "in_progress", output: [] } });
    send("response.in_progress", { response: { ...response, status: "in_progress", output: [] } });
    const output: Record<string, unknown>[] = [];
    if (turn.thinking !== undefined) {
      const id = `rs_${randomUUID().replaceAll("-", "")}`;
      const at = { output_index: output.length, item_id: id, summary_index: 0 };
      send("response.output_item.added", {
        output_index: output.length,
        item: { id, type: "reasoning", summary: [], encrypted_content: "" },
      });
      send("response.reasoning_summary_part.added", { ...at, part: { type: "summary_text", text: "" } });
      for (const delta of pieces(turn.thinking)) send("response.reasoning_summary_text.delta", { ...at, delta });
      send("response.reasoning_summary_text.done", { ...at, text: turn.thinking });
      send("response.reasoning_summary_part.done", { ...at, part: { type: "summary_text", text: turn.thinking } });
      const item = {
        id,
        type: "reasoning",
        summary: [{ type: "summary_text", text: turn.thinking }],
        encrypted_content: encrypt(id, turn.thinking),
      };
      send("response.output_item.done", { output_index: output.length, item });
      output.push(item);
    }
    if (turn.text !== undefined) {
      const id = `msg_${randomUUID().slice(0, 8)}`;
      const at = { output_index: output.length, item_id: id, content_index: 0 };
      send("response.output_item.added", {
        output_index: output.length,
        item: { id, type: "message", role: "assistant", status: "in_progress", content: [] },
      });
      send("response.content_part.added", { ...at, part: { type: "output_text", text: "", annotations: [] } });
      for (const delta of pieces(turn.text)) send("response.output_text.delta", { ...at, delta, logprobs: [] });
      send("response.output_text.done", { ...at, text: turn.text, logprobs: [] });
      send("response.content_part.done", { ...at, part: { type: "output_text", text: turn.text, annotations: [] } });
      const item = {
        id,
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: turn.text, annotations: [] }],
      };
      send("response.output_item.done", { output_index: output.length, item });
      output.push(item);
    }
    for (const call of turn.toolCalls ?? []) {
      const id = `fc_${randomUUID().slice(0, 8)}`;
      const output_index = output.length;
      const item = {
        id,
        type: "function_call",
        call_id: `call_${randomUUID().replaceAll("-", "").slice(0, 20)}`,
        name: call.name,
        arguments: rawArguments(call),
        status: "completed",
      };
      send("response.output_item.added", { output_index, item: { ...item, arguments: "", status: "in_progress" } });
      for (const delta of pieces(item.arguments, 7)) send("response.function_call_arguments.delta", { output_index, item_id: id, delta });
      send("response.function_call_arguments.done", { output_index, item_id: id, name: call.name, arguments: item.arguments });
      send("response.output_item.done", { output_index, item });
      output.push(item);
    }
    const reason = turn.stop === "max_tokens" ? "max_output_tokens" : turn.stop === "refused" ? "content_filter" : null;
    const status = reason === null ? "completed" : "incomplete";
    const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, cacheWriteTokens } = usageOf(turn);
    const usage = {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cachedInputTokens, cache_write_tokens: cacheWriteTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
      total_tokens: inputTokens + outputTokens,
    };
    send(`response.${status}`, {
      response: { ...response, status, incomplete_details: reason === null ? null : { reason }, output, usage },
    });
    return events;
  },

  errorEvent: () => ({
    event: "error",
    data: JSON.stringify({ type: "error", sequence_number: 3, code: "server_error", message: "The server is overloaded", param: null }),
  }),

  error: (status, message) => openAIError(status, message),
};

function roleOf(item: Record<string, unknown>): SeenMessage["role"] {
  if (item["type"] === "function_call_output") return "tool";
  return item["role"] === "user" ? "user" : "assistant";
}

function addItem(seen: SeenMessage, item: Record<string, unknown>): void {
  if (item["type"] === "function_call_output") {
    seen.toolResults.push({ id: text(item["call_id"]), text: textOf(item["output"]), isError: false });
    for (const part of list(item["output"])) addImage(seen, part);
  } else if (item["type"] === "function_call")
    seen.toolCalls.push({ id: text(item["call_id"]), name: text(item["name"]), args: JSON.parse(text(item["arguments"])) });
  else if (item["type"] === "reasoning") seen.thinking.push(item);
  else if (typeof item["content"] === "string") seen.text += item["content"];
  else
    for (const part of list(item["content"])) {
      seen.text += text(part["text"]);
      addImage(seen, part);
    }
}

function addImage(seen: SeenMessage, part: Record<string, unknown>): void {
  if (part["type"] === "input_image") seen.images.push(text(part["image_url"]).replace(/^data:[^,]*,/, ""));
}
