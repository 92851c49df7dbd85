import type { RawMessageStreamEvent } from "@anthropic-ai/sdk/resources/messages";
import { noUsage, type Usage } from "../../contract/chat.ts";
import type { AssistantContent, ModelEvent, StopReason } from "../request.ts";
import { CutStreamError } from "./stream-errors.ts";
import { toolCall, type MalformedCall } from "./tool-arguments.ts";

type Block =
  | { type: "text"; text: string }
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string }
  | { type: "tool_use"; id: string; name: string; input: unknown; json: string };

/** An answer of the Messages API, event by event. @throws CutStreamError */
export async function* readAnswer(stream: AsyncIterable<RawMessageStreamEvent>): AsyncGenerator<ModelEvent> {
  const blocks = new Map<number, Block>();
  const count = createUsageCount();
  let stop: StopReason = "end";
  let ended = false;
  for await (const event of stream) {
    if (event.type === "message_start") count.report(event.message.usage);
    else if (event.type === "content_block_start") {
      const block = event.content_block;
      if (block.type === "text") {
        blocks.set(event.index, { type: "text", text: block.text });
        if (block.text !== "") yield { type: "text", text: block.text };
      } else if (block.type === "thinking")
        blocks.set(event.index, { type: "thinking", thinking: block.thinking, signature: block.signature });
      else if (block.type === "redacted_thinking") blocks.set(event.index, { type: "redacted_thinking", data: block.data });
      else if (block.type === "tool_use")
        blocks.set(event.index, { type: "tool_use", id: block.id, name: block.name, input: block.input, json: "" });
    } else if (event.type === "content_block_delta") {
      const block = blocks.get(event.index);
      const { delta } = event;
      if (delta.type === "text_delta" && block?.type === "text") {
        block.text += delta.text;
        if (delta.text !== "") yield { type: "text", text: delta.text };
      } else if (delta.type === "thinking_delta" && block?.type === "thinking") {
        block.thinking += delta.thinking;
        if (delta.thinking !== "") yield { type: "thinking", text: delta.thinking };
      } else if (delta.type === "signature_delta" && block?.type === "thinking") block.signature += delta.signature;
      else if (delta.type === "input_json_delta" && block?.type === "tool_use") block.json += delta.partial_json;
    } else if (event.type === "message_delta") {
      count.report(event.usage);
      stop = toStop(event.delta.stop_reason);
    } else if (event.type === "message_stop") ended = true;
  }
  if (!ended) throw new CutStreamError();
  const malformed: MalformedCall[] = [];
  const content = [...blocks.entries()].sort(([a], [b]) => a - b).map(([, block]) => toContent(block, malformed));
  yield { type: "done", content, malformed, stop, usage: count.usage() };
}

function toContent(block: Block, malformed: MalformedCall[]): AssistantContent {
  if (block.type === "text") return block;
  if (block.type === "tool_use") {
    // Some servers of this format send the arguments at once instead of streaming them.
    const whole = typeof block.input === "object" && block.input !== null && Object.keys(block.input).length > 0;
    const raw = block.json === "" && whole ? JSON.stringify(block.input) : block.json;
    return toolCall({ id: block.id, name: block.name, raw }, malformed);
  }
  return { type: "thinking", text: block.type === "thinking" ? block.thinking : "", replay: { provider: "anthropic", block } };
}

interface ReportedUsage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  cache_read_input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
  cache_creation?: { ephemeral_1h_input_tokens?: number | null } | null;
  output_tokens_details?: { thinking_tokens?: number } | null;
}

/**
 * Each report replaces the counts it contains: the first has the input, the last the output, and some have both. Cached and cache-write tokens
 * are counted apart from `input_tokens`; the whole input is the sum of the three.
 */
export function createUsageCount() {
  const latest = { plain: 0, read: 0, written: 0, long: 0, output: 0, thinking: 0 };
  return {
    report(reported: ReportedUsage | null | undefined): void {
      latest.plain = reported?.input_tokens ?? latest.plain;
      latest.read = reported?.cache_read_input_tokens ?? latest.read;
      latest.written = reported?.cache_creation_input_tokens ?? latest.written;
      latest.long = reported?.cache_creation?.ephemeral_1h_input_tokens ?? latest.long;
      latest.output = reported?.output_tokens ?? latest.output;
      latest.thinking = reported?.output_tokens_details?.thinking_tokens ?? latest.thinking;
    },
    usage: (): Usage => ({
      ...noUsage(),
      inputTokens: latest.plain + latest.read + latest.written,
      outputTokens: latest.output,
      cachedInputTokens: latest.read,
      cacheWriteTokens: latest.written,
      ...(latest.long === 0 ? {} : { longCacheWriteTokens: latest.long }),
      reasoningTokens: latest.thinking,
    }),
  };
}

function toStop(reason: string | null | undefined): StopReason {
  if (reason === "tool_use") return "tool_calls";
  if (reason === "max_tokens" || reason === "model_context_window_exceeded") return "max_tokens";
  return reason === "refusal" ? "refused" : "end";
}
