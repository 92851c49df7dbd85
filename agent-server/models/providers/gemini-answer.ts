import { randomUUID } from "node:crypto";
import type { FinishReason, GenerateContentResponse, Part } from "@google/genai/web";
import { addUsage, noUsage, type Usage } from "../../contract/chat.ts";
import type { AssistantContent, ModelEvent, StopReason } from "../request.ts";
import { CutStreamError, ReportedError } from "./stream-errors.ts";
import type { Replay } from "./gemini-request.ts";

/** A chunk of a streamed answer, as REST gives it and the SDK passes it on. */
export type GeminiChunk = Pick<GenerateContentResponse, "candidates" | "usageMetadata" | "promptFeedback">;

/** How one request of an answer ended. */
interface Ending {
  finish: string | undefined;
  /** With which the answer goes on, where it was cut by the limit of one request. */
  continuation: string | undefined;
  usage: Usage;
}

/** Requests of one answer; an answer as long as that has lost its way. */
const maxRequests = 16;

/**
 * An answer of generateContent. One that the server cut by its own limit of a request goes on with the next, as the SDK would; the
 * tokens of all of them count.
 * @throws CutStreamError, ReportedError
 */
export async function* readAnswer(
  first: AsyncIterable<GeminiChunk>,
  goOn: (continuationToken: string) => Promise<AsyncIterable<GeminiChunk>>,
): AsyncGenerator<ModelEvent> {
  const content: AssistantContent[] = [];
  let usage = noUsage();
  let stream = first;
  for (let requests = 1; ; requests++) {
    const ending: Ending = yield* readChunks(stream, content);
    usage = requests === 1 ? ending.usage : addUsage(usage, ending.usage);
    const { finish, continuation } = ending;
    if (finish === undefined) throw new CutStreamError();
    if (finish === "CONTINUATION" && continuation !== undefined && requests < maxRequests) {
      stream = await goOn(continuation);
      continue;
    }
    // The model wrote a call that cannot be read; Gemini gives nothing of it, so another try is all that helps.
    if (finish === "MALFORMED_FUNCTION_CALL" || finish === "UNEXPECTED_TOOL_CALL" || finish === "MALFORMED_RESPONSE")
      throw new ReportedError("server_error", "the model wrote a tool call that cannot be read");
    const hasCalls = content.some((part) => part.type === "tool_call");
    yield { type: "done", content, malformed: [], stop: toStop(finish, hasCalls), usage };
    return;
  }
}

async function* readChunks(stream: AsyncIterable<GeminiChunk>, content: AssistantContent[]): AsyncGenerator<ModelEvent, Ending> {
  const ending: Ending = { finish: undefined, continuation: undefined, usage: noUsage() };
  for await (const chunk of stream) {
    if (chunk.usageMetadata !== undefined) ending.usage = toUsage(chunk.usageMetadata, ending.usage);
    if (chunk.promptFeedback?.blockReason !== undefined) ending.finish ??= "PROHIBITED_CONTENT";
    const candidate = chunk.candidates?.[0];
    for (const part of candidate?.content?.parts ?? []) {
      const event = addPart(content, part);
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
 * Tokens as Gemini reports them, each report the whole so far; a report may leave out what one before it told. Thoughts and results
 * of the provider's own tools are counted apart from answer and prompt; cached ones are part of the prompt.
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

function addPart(content: AssistantContent[], part: Part): ModelEvent | undefined {
  const signature = part.thoughtSignature === undefined ? {} : { thoughtSignature: part.thoughtSignature };
  if (part.functionCall !== undefined) {
    const { id, name = "", args = {} } = part.functionCall;
    const block: Replay = { ...signature, ...(id === undefined ? {} : { id }) };
    content.push({
      type: "tool_call",
      id: id ?? `call_${randomUUID().replaceAll("-", "")}`,
      name,
      args,
      ...(Object.keys(block).length === 0 ? {} : { replay: { provider: "gemini", block } }),
    });
    return undefined;
  }
  const text = part.text ?? "";
  const type = part.thought === true ? "thinking" : "text";
  const last = content.at(-1);
  if (text !== "") {
    if (last?.type === type && !("replay" in last)) last.text += text;
    else content.push({ type, text });
  }
  // A signature on words: kept as a thought without words, sent back where it stood.
  if (part.thoughtSignature !== undefined) content.push({ type: "thinking", text: "", replay: { provider: "gemini", block: signature } });
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
