import type { RawMessageStreamEvent } from "@anthropic-ai/sdk/resources/messages";
import { noUsage, type Usage } from "../../contract/chat.ts";
import type { AssistantContent, ModelEvent, StopReason } from "../request.ts";
import type { AnswerMeter } from "../answer-limits.ts";
import { CutStreamError, InvalidItemError } from "./stream-errors.ts";
import { createToolCalls } from "./tool-arguments.ts";

type Block =
  | { type: "text"; text: string }
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string }
  | { type: "tool_use"; id: string | null; name: string | null; input: unknown; json: string }
  /** A kind that is not read. */
  | { type: "other" };

/** An answer of the Messages API, event by event. @throws CutStreamError, InvalidItemError, AnswerTooLargeError */
export async function* readAnswer(stream: AsyncIterable<RawMessageStreamEvent>, meter: AnswerMeter): AsyncGenerator<ModelEvent> {
  const blocks = new Map<number, Block>();
  const count = createUsageCount();
  let stop: StopReason = "end";
  let ended = false;
  for await (const event of stream) {
    if (event.type === "message_start") count.report(event.message.usage);
    else if (event.type === "content_block_start") {
      if (blocks.has(event.index)) throw new InvalidItemError("two parts of the answer with the same index");
      const block = toBlock(event.content_block, meter);
      blocks.set(event.index, block);
      if (block.type === "text" && block.text !== "") yield { type: "text", text: block.text };
    } else if (event.type === "content_block_delta") {
      const block = blocks.get(event.index);
      if (block === undefined) throw new InvalidItemError("a piece of a part of the answer that has not begun");
      const { delta } = event;
      if (delta.type === "text_delta" && block.type === "text") {
        block.text += delta.text;
        if (delta.text !== "") yield { type: "text", text: delta.text };
      } else if (delta.type === "thinking_delta" && block.type === "thinking") {
        block.thinking += delta.thinking;
        if (delta.thinking !== "") yield { type: "thinking", text: delta.thinking };
      } else if (delta.type === "signature_delta" && block.type === "thinking") {
        meter.add("arguments", delta.signature.length);
        block.signature += delta.signature;
      } else if (delta.type === "input_json_delta" && block.type === "tool_use") {
        meter.add("arguments", delta.partial_json.length);
        block.json += delta.partial_json;
      }
    } else if (event.type === "message_delta") {
      count.report(event.usage);
      stop = toStop(event.delta.stop_reason);
    } else if (event.type === "message_stop") ended = true;
  }
  if (!ended) throw new CutStreamError();
  const calls = createToolCalls();
  const content = [...blocks.entries()].sort(([a], [b]) => a - b).flatMap(([, block]) => toContent(block, calls));
  yield { type: "done", content, malformed: calls.malformed, stop, usage: count.usage() };
}

/** Servers of this format may omit what would be empty. */
type StartedBlock = Partial<Record<"text" | "thinking" | "signature" | "data" | "id" | "name", string | null>> & {
  type: string;
  input?: unknown;
};

function toBlock(block: StartedBlock, meter: AnswerMeter): Block {
  // An answer has few parts; each counts, so that there cannot be millions of empty ones.
  meter.add("arguments", 1000);
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text ?? "" };
    case "thinking":
      return { type: "thinking", thinking: block.thinking ?? "", signature: block.signature ?? "" };
    case "redacted_thinking":
      meter.add("arguments", block.data?.length ?? 0);
      return { type: "redacted_thinking", data: block.data ?? "" };
    case "tool_use":
      meter.add("calls", 1);
      return { type: "tool_use", id: block.id ?? null, name: block.name ?? null, input: block.input, json: "" };
    default:
      return { type: "other" };
  }
}

function toContent(block: Block, calls: ReturnType<typeof createToolCalls>): AssistantContent[] {
  if (block.type === "other") return [];
  if (block.type === "text") return [block];
  if (block.type === "tool_use") {
    // Some servers of this format send the arguments at once instead of streaming them.
    const isWhole = block.input !== undefined && block.input !== null && JSON.stringify(block.input) !== "{}";
    const raw = block.json === "" && isWhole ? JSON.stringify(block.input) : block.json;
    return [calls.toContent({ id: block.id, name: block.name, raw })];
  }
  return [{ type: "thinking", text: block.type === "thinking" ? block.thinking : "", replay: { provider: "anthropic", block } }];
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
