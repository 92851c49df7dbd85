import type { Response, ResponseOutputItem, ResponseStreamEvent } from "openai/resources/responses/responses";
import { noUsage, type Usage } from "../../contract/chat.ts";
import type { ProviderKind } from "../../contract/models.ts";
import type { AssistantContent, ModelEvent, StopReason } from "../request.ts";
import type { AnswerMeter } from "../answer-limits.ts";
import { CutStreamError, ReportedError } from "./stream-errors.ts";
import { createToolCalls } from "./tool-arguments.ts";

/** An answer of the Responses API, event by event. @throws CutStreamError, ReportedError, InvalidItemError, AnswerTooLargeError */
export async function* readAnswer(
  stream: AsyncIterable<ResponseStreamEvent>,
  kind: ProviderKind,
  meter: AnswerMeter,
): AsyncGenerator<ModelEvent> {
  const items = new Map<number, ResponseOutputItem>();
  const rawArguments = new Map<number, string>();
  let last: Response | undefined;
  let refused = false;
  for await (const event of stream) {
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check
    switch (event.type) {
      case "response.output_item.added":
        if (event.item.type === "function_call") meter.add("calls", 1);
        items.set(event.output_index, event.item);
        break;
      case "response.output_item.done":
        meter.add("arguments", JSON.stringify(event.item).length);
        items.set(event.output_index, event.item);
        break;
      case "response.output_text.delta":
        if (event.delta !== "") yield { type: "text", text: event.delta };
        break;
      case "response.refusal.delta":
        refused = true;
        if (event.delta !== "") yield { type: "text", text: event.delta };
        break;
      case "response.reasoning_summary_part.added":
        if (event.summary_index > 0) yield { type: "thinking", text: "\n\n" };
        break;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        if (event.delta !== "") yield { type: "thinking", text: event.delta };
        break;
      case "response.function_call_arguments.delta":
        meter.add("arguments", event.delta.length);
        rawArguments.set(event.output_index, (rawArguments.get(event.output_index) ?? "") + event.delta);
        break;
      case "response.completed":
      case "response.incomplete":
        last = event.response;
        break;
      case "response.failed":
        throw new ReportedError(event.response.error?.code ?? "server_error", event.response.error?.message ?? "");
      case "error":
        throw new ReportedError(event.code ?? "server_error", event.message ?? "");
      default: // the other forty events repeat what these say
    }
  }
  if (last === undefined) throw new CutStreamError();
  // Some servers send the text only at the end.
  if (items.size === 0) for (const [index, item] of (last.output ?? []).entries()) items.set(index, item);
  const calls = createToolCalls();
  const content = [...items.entries()]
    .sort(([a], [b]) => a - b)
    .flatMap(([index, item]) => toContent(item, rawArguments.get(index), kind, calls));
  const hasCalls = content.some((part) => part.type === "tool_call");
  yield { type: "done", content, malformed: calls.malformed, stop: toStop(last, hasCalls, refused), usage: toUsage(last.usage) };
}

function toContent(
  item: ResponseOutputItem,
  streamed: string | undefined,
  kind: ProviderKind,
  calls: ReturnType<typeof createToolCalls>,
): AssistantContent[] {
  if (item.type === "message") {
    const text = (item.content ?? []).map((part) => (part.type === "output_text" ? part.text : part.refusal)).join("");
    return text === "" ? [] : [{ type: "text", text }];
  }
  if (item.type === "function_call") {
    const raw = (item.arguments ?? "") === "" ? (streamed ?? "") : item.arguments;
    return [calls.toContent({ id: item.call_id, name: item.name, raw })];
  }
  if (item.type !== "reasoning") return [];
  const summary = item.summary ?? [];
  const text =
    summary.length > 0 ? summary.map((part) => part.text ?? "").join("\n\n") : (item.content ?? []).map((part) => part.text).join("");
  // Without its encrypted content the item is stored nowhere and cannot be referenced.
  if (typeof item.encrypted_content !== "string" || item.encrypted_content === "") return text === "" ? [] : [{ type: "thinking", text }];
  const block = { type: "reasoning", id: item.id, summary, encrypted_content: item.encrypted_content };
  return [{ type: "thinking", text, replay: { provider: kind, block } }];
}

function toStop(response: Response, hasCalls: boolean, refused: boolean): StopReason {
  const reason = response.incomplete_details?.reason;
  if (reason === "max_output_tokens") return "max_tokens";
  if (reason === "content_filter" || refused) return "refused";
  return hasCalls ? "tool_calls" : "end";
}

interface ReportedUsage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  total_tokens?: number | null;
  input_tokens_details?: {
    cached_tokens?: number | null;
    cache_write_tokens?: number | null;
    cache_write_tokens_details?: { ttl_12h_tokens?: number | null } | null;
  } | null;
  output_tokens_details?: { reasoning_tokens?: number | null } | null;
}

/** Token counts of the Responses API: cached and cache-write tokens are part of the input, reasoning tokens part of the output. */
export function toUsage(reported: ReportedUsage | null | undefined): Usage {
  const long = reported?.input_tokens_details?.cache_write_tokens_details?.ttl_12h_tokens ?? 0;
  return {
    ...noUsage(),
    inputTokens: reported?.input_tokens ?? 0,
    outputTokens: wholeOutput(reported?.input_tokens, reported?.output_tokens, reported?.total_tokens),
    cachedInputTokens: reported?.input_tokens_details?.cached_tokens ?? 0,
    cacheWriteTokens: reported?.input_tokens_details?.cache_write_tokens ?? 0,
    ...(long === 0 ? {} : { longCacheWriteTokens: long }),
    reasoningTokens: reported?.output_tokens_details?.reasoning_tokens ?? 0,
  };
}

/** xAI counts reasoning tokens apart from the output, which the total shows. */
export function wholeOutput(input: number | null | undefined, output: number | null | undefined, total: number | null | undefined): number {
  return Math.max(output ?? 0, (total ?? 0) - (input ?? 0), 0);
}
