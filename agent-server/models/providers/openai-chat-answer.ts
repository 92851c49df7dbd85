import type { ChatCompletionChunk } from "openai/resources/chat/completions";
import { noUsage, type Usage } from "../../contract/chat.ts";
import type { ProviderKind } from "../../contract/models.ts";
import type { AssistantContent, ModelEvent, StopReason } from "../request.ts";
import type { AnswerMeter } from "../answer-limits.ts";
import { CutStreamError } from "./stream-errors.ts";
import type { ReasoningField } from "./openai-chat-request.ts";
import { wholeOutput } from "./openai-responses-answer.ts";
import { createToolCalls, newCallId } from "./tool-arguments.ts";

/** An answer of chat completions, chunk by chunk. @throws CutStreamError, InvalidItemError, AnswerTooLargeError */
export async function* readAnswer(
  stream: AsyncIterable<ChatCompletionChunk>,
  kind: ProviderKind,
  meter: AnswerMeter,
): AsyncGenerator<ModelEvent> {
  let text = "";
  let thinking = "";
  let thinkingField: ReasoningField["field"] | undefined;
  let refusal = false;
  let finish: string | null = null;
  let usage = noUsage();
  const calls: StreamedCall[] = [];
  for await (const chunk of stream) {
    if (chunk.usage !== undefined && chunk.usage !== null) usage = toUsage(chunk.usage);
    const choice = chunk.choices?.[0];
    if (choice === undefined) continue;
    finish = choice.finish_reason ?? finish;
    const delta: ChatCompletionChunk.Choice.Delta | undefined = choice.delta;
    if (delta === undefined || delta === null) continue;
    const thought = thoughtOf(delta);
    if (thought !== undefined) {
      thinkingField ??= thought.field;
      thinking += thought.text;
      yield { type: "thinking", text: thought.text };
    }
    const words = `${delta.content ?? ""}${delta.refusal ?? ""}`;
    refusal ||= (delta.refusal ?? "") !== "";
    if (words !== "") {
      text += words;
      yield { type: "text", text: words };
    }
    for (const part of delta.tool_calls ?? []) addCallPart(calls, part, meter);
  }
  if (finish === null) throw new CutStreamError();
  const made = createToolCalls();
  const replay =
    thinkingField === undefined ? {} : { replay: { provider: kind, block: { field: thinkingField } satisfies ReasoningField } };
  const content: AssistantContent[] = [
    ...(thinking === "" ? [] : [{ type: "thinking" as const, text: thinking, ...replay }]),
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...calls.map(({ id, name, raw }) => made.toContent({ id, name, raw })),
  ];
  yield { type: "done", content, malformed: made.malformed, stop: toStop(finish, calls.length > 0, refusal), usage };
}

/** Servers use different fields for reasoning (DeepSeek, llama-server: reasoning_content; Ollama, vLLM: reasoning). */
function thoughtOf(delta: object): { field: ReasoningField["field"]; text: string } | undefined {
  for (const field of ["reasoning_content", "reasoning"] as const) {
    const text: unknown = Reflect.get(delta, field);
    if (typeof text === "string" && text !== "") return { field, text };
  }
  return undefined;
}

interface StreamedCall {
  index: number;
  id: string;
  name: string;
  raw: string;
}

/** Chunks are joined by index; some servers send complete calls under the same index, with different ids. */
function addCallPart(calls: StreamedCall[], part: ChatCompletionChunk.Choice.Delta.ToolCall, meter: AnswerMeter): void {
  const index = part.index ?? calls.length;
  const id = part.id ?? "";
  const name = part.function?.name ?? "";
  let call = calls.findLast((known) => known.index === index);
  if (call === undefined || (id !== "" && name !== "" && id !== call.id)) {
    meter.add("calls", 1);
    call = { index, id: id === "" ? newCallId() : id, name, raw: "" };
    calls.push(call);
  } else if (name !== "" && name !== call.name) call.name += name;
  // Some versions of Ollama send arguments as an object.
  const raw: unknown = part.function?.arguments;
  const piece = typeof raw === "string" ? raw : raw === undefined || raw === null ? "" : JSON.stringify(raw);
  meter.add("arguments", name.length + piece.length);
  call.raw += piece;
}

function toStop(finish: string, hasCalls: boolean, refusal: boolean): StopReason {
  if (finish === "length") return "max_tokens";
  if (finish === "content_filter" || refusal) return "refused";
  return hasCalls ? "tool_calls" : "end";
}

interface ReportedUsage {
  prompt_tokens?: number | null;
  completion_tokens?: number | null;
  total_tokens?: number | null;
  prompt_tokens_details?: { cached_tokens?: number | null; cache_write_tokens?: number | null } | null;
  completion_tokens_details?: { reasoning_tokens?: number | null } | null;
}

/** Cumulative token counts of chat completions. DeepSeek has its own field for cached tokens. */
export function toUsage(reported: ReportedUsage): Usage {
  const hit: unknown = Reflect.get(reported, "prompt_cache_hit_tokens");
  return {
    ...noUsage(),
    inputTokens: reported.prompt_tokens ?? 0,
    outputTokens: wholeOutput(reported.prompt_tokens, reported.completion_tokens, reported.total_tokens),
    cachedInputTokens: reported.prompt_tokens_details?.cached_tokens ?? (typeof hit === "number" ? hit : 0),
    cacheWriteTokens: reported.prompt_tokens_details?.cache_write_tokens ?? 0,
    reasoningTokens: reported.completion_tokens_details?.reasoning_tokens ?? 0,
  };
}
