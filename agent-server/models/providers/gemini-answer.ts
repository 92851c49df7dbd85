import type { FinishReason, GenerateContentResponse, Part } from "@google/genai/web";
import { addUsage, noUsage, type Usage } from "../../contract/chat.ts";
import type { AssistantContent, ModelEvent, StopReason } from "../request.ts";
import type { AnswerMeter } from "../answer-limits.ts";
import { CutStreamError, ReportedError } from "./stream-errors.ts";
import { createToolCalls } from "./tool-arguments.ts";
import type { Replay } from "./gemini-request.ts";

/** A chunk of a streamed answer, the same from REST and from the SDK. */
export type GeminiChunk = Pick<GenerateContentResponse, "candidates" | "usageMetadata" | "promptFeedback">;

/** How one request of an answer ended. */
interface Ending {
  finish: string | undefined;
  /** The content to continue from, after the limit of one request. */
  continuation: string | undefined;
  usage: Usage;
}

/** Maximum number of requests for one answer. */
const maxRequests = 16;

/**
 * An answer of generateContent. An answer that the server truncates at the limit of one request is continued with the next, as the SDK does; the
 * tokens of all of them count.
 * @throws CutStreamError, ReportedError, InvalidItemError, AnswerTooLargeError
 */
export async function* readAnswer(
  first: AsyncIterable<GeminiChunk>,
  goOn: (continuationToken: string) => Promise<AsyncIterable<GeminiChunk>>,
  meter: AnswerMeter,
): AsyncGenerator<ModelEvent> {
  const content: AssistantContent[] = [];
  const calls = createToolCalls();
  let usage = noUsage();
  let stream = first;
  for (let requests = 1; ; requests++) {
    const ending: Ending = yield* readChunks(stream, content, calls, meter);
    usage = requests === 1 ? ending.usage : addUsage(usage, ending.usage);
    const { finish, continuation } = ending;
    if (finish === undefined) throw new CutStreamError();
    if (finish === "CONTINUATION" && continuation !== undefined && requests < maxRequests) {
      stream = await goOn(continuation);
      continue;
    }
    // The model wrote an invalid call, which Gemini does not return, so only a retry helps.
    if (finish === "MALFORMED_FUNCTION_CALL" || finish === "UNEXPECTED_TOOL_CALL" || finish === "MALFORMED_RESPONSE")
      throw new ReportedError("server_error", "the model wrote a tool call that cannot be read");
    const hasCalls = content.some((part) => part.type === "tool_call");
    yield { type: "done", content, malformed: [], stop: toStop(finish, hasCalls), usage };
    return;
  }
}

async function* readChunks(
  stream: AsyncIterable<GeminiChunk>,
  content: AssistantContent[],
  calls: ToolCalls,
  meter: AnswerMeter,
): AsyncGenerator<ModelEvent, Ending> {
  const ending: Ending = { finish: undefined, continuation: undefined, usage: noUsage() };
  for await (const chunk of stream) {
    if (chunk.usageMetadata !== undefined && chunk.usageMetadata !== null) ending.usage = toUsage(chunk.usageMetadata, ending.usage);
    if ((chunk.promptFeedback?.blockReason ?? undefined) !== undefined) ending.finish ??= "PROHIBITED_CONTENT";
    const candidate = chunk.candidates?.[0];
    for (const part of candidate?.content?.parts ?? []) {
      const event = addPart(content, part, calls, meter);
      if (event !== undefined) yield event;
    }
    ending.finish = candidate?.finishReason ?? ending.finish;
    ending.continuation = candidate?.continuationToken ?? ending.continuation;
  }
  return ending;
}

interface ReportedUsage {
  promptTokenCount?: number | undefined;
  candidatesTokenCount?: number | undefined;
  thoughtsTokenCount?: number | undefined;
  toolUsePromptTokenCount?: number | undefined;
  cachedContentTokenCount?: number | undefined;
}

/**
 * Cumulative token counts; a report may omit earlier ones. Reasoning tokens and results of the provider's own tools are counted apart from
 * output and input; cached tokens are part of the input.
 */
export function toUsage(reported: ReportedUsage, before: Usage = noUsage()): Usage {
  const tools = reported.toolUsePromptTokenCount ?? before.toolTokens;
  const prompt = reported.promptTokenCount ?? before.inputTokens - before.toolTokens;
  const thoughts = reported.thoughtsTokenCount ?? before.reasoningTokens;
  const answer = reported.candidatesTokenCount ?? before.outputTokens - before.reasoningTokens;
  return {
    ...noUsage(),
    inputTokens: prompt + tools,
    outputTokens: answer + thoughts,
    cachedInputTokens: reported.cachedContentTokenCount ?? before.cachedInputTokens,
    reasoningTokens: thoughts,
    toolTokens: tools,
  };
}

type ToolCalls = ReturnType<typeof createToolCalls>;

function addPart(content: AssistantContent[], part: Part, calls: ToolCalls, meter: AnswerMeter): ModelEvent | undefined {
  const thoughtSignature = part.thoughtSignature ?? undefined;
  const signature = thoughtSignature === undefined ? {} : { thoughtSignature };
  if (thoughtSignature !== undefined) meter.add("arguments", thoughtSignature.length + 1000);
  if (part.functionCall !== undefined && part.functionCall !== null) {
    const { name, args } = part.functionCall;
    const id = part.functionCall.id ?? undefined;
    const raw = JSON.stringify(args ?? {});
    meter.add("calls", 1);
    meter.add("arguments", raw.length);
    const block: Replay = { ...signature, ...(id === undefined ? {} : { id }) };
    content.push(calls.toContent({ id, name, raw }, Object.keys(block).length === 0 ? undefined : { provider: "gemini", block }));
    return undefined;
  }
  const text = part.text ?? "";
  const type = part.thought === true ? "thinking" : "text";
  const last = content.at(-1);
  if (text !== "") {
    if (last?.type === type && !("replay" in last)) last.text += text;
    else {
      meter.add("arguments", 1000);
      content.push({ type, text });
    }
  }
  // A signature of text: kept as a thinking block without text and sent back in its place.
  if (thoughtSignature !== undefined) content.push({ type: "thinking", text: "", replay: { provider: "gemini", block: signature } });
  return text === "" ? undefined : { type, text };
}

const refusals: readonly string[] = [
  "SAFETY",
  "RECITATION",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
  "LANGUAGE",
] satisfies `${FinishReason}`[];

function toStop(finish: string, hasCalls: boolean): StopReason {
  if (finish === "MAX_TOKENS" || finish === "CONTINUATION") return "max_tokens";
  if (refusals.includes(finish)) return "refused";
  return hasCalls ? "tool_calls" : "end";
}
