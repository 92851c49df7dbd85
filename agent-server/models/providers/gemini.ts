import { randomUUID } from "node:crypto";
import type {
  Content,
  FinishReason,
  GenerateContentParameters,
  GenerateContentResponse,
  GoogleGenAI,
  Part,
  ThinkingConfig,
  ThinkingLevel,
} from "@google/genai/web";
import { noUsage } from "../../contract/chat.ts";
import type { AssistantContent, ModelEvent, ModelMessage, ModelRequest, StopReason } from "../models.ts";
import { watchFetch, type Connection } from "./connection.ts";
import { CutStreamError, ReportedError, wordError, wordErrors } from "./errors.ts";
import type { Provider, ProviderCall } from "./provider.ts";

const versionInPath = /\/(v1(?:beta|alpha)?)\/?$/;

/** Google Gemini through the Gemini API. */
export function createGemini(connection: Connection): Provider {
  async function client(fetcher: typeof fetch): Promise<GoogleGenAI> {
    const sdk = await import("@google/genai/web");
    const version = versionInPath.exec(connection.baseUrl)?.[1];
    return new sdk.GoogleGenAI({
      apiKey: connection.key ?? "",
      vertexai: false,
      // The SDK adds the API's version itself; one that stands in the address counts. It retries nothing unless told to.
      httpOptions: {
        baseUrl: connection.baseUrl.replace(versionInPath, ""),
        fetch: fetcher,
        ...(version === undefined ? {} : { apiVersion: version }),
      },
    });
  }

  return {
    stream(request, call, signal) {
      const watched = watchFetch(connection.fetch, call.onActivity);
      const events = async function* (): AsyncGenerator<ModelEvent> {
        const gemini = await client(watched.fetch);
        const { ThinkingLevel } = await import("@google/genai/web");
        yield* readAnswer(await gemini.models.generateContentStream(toBody(request, call, signal, ThinkingLevel)));
      };
      return wordErrors(events, { connection, model: call.model, signal, retryAfterMs: watched.retryAfterMs });
    },
    async listModels(signal) {
      try {
        const found = [];
        const pager = await (await client(connection.fetch)).models.list({ config: { pageSize: 100, abortSignal: signal } });
        for await (const model of pager) {
          if (model.name === undefined || model.supportedActions?.includes("generateContent") === false) continue;
          const id = model.name.replace(/^models\//, "");
          found.push({ model: id, displayName: model.displayName ?? id, contextWindow: model.inputTokenLimit ?? null });
        }
        return found;
      } catch (cause) {
        throw wordError(cause, { connection, model: "", signal });
      }
    },
  };
}

function toBody(request: ModelRequest, call: ProviderCall, signal: AbortSignal, levels: typeof ThinkingLevel): GenerateContentParameters {
  const thinkingConfig = toThinking(call, levels);
  return {
    model: call.model,
    contents: toContents(request.messages, call.model),
    config: {
      abortSignal: signal,
      maxOutputTokens: call.maxTokens,
      ...(request.system === "" ? {} : { systemInstruction: request.system }),
      ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
      ...(thinkingConfig === undefined ? {} : { thinkingConfig }),
      ...(request.tools.length === 0
        ? {}
        : {
            tools: [
              {
                functionDeclarations: request.tools.map((tool) => ({
                  name: tool.name,
                  description: tool.description,
                  parametersJsonSchema: tool.parameters,
                })),
              },
            ],
          }),
    },
  };
}

/** Gemini 2 takes a budget, later models a level. */
function toThinking(call: ProviderCall, levels: typeof ThinkingLevel): ThinkingConfig | undefined {
  if (call.thinking?.enabled !== true) return undefined;
  if (knowsBudgets(call.model)) return { includeThoughts: true, thinkingBudget: call.thinking.budgetTokens };
  return { includeThoughts: true, thinkingLevel: call.thinking.budgetTokens < 4000 ? levels.LOW : levels.HIGH };
}

function knowsBudgets(model: string): boolean {
  return /^gemini-[12]\b/.test(model);
}

interface Replay {
  thoughtSignature?: string;
  id?: string;
}

function toContents(messages: readonly ModelMessage[], model: string): Content[] {
  const calls = new Map<string, Replay>();
  const contents: { role: string; parts: Part[] }[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "model" : "user";
    const parts = message.role === "assistant" ? toModelParts(message.content, calls, model) : toUserParts(message, calls);
    if (parts.length === 0) continue;
    const last = contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else contents.push({ role, parts });
  }
  return contents;
}

function toModelParts(content: readonly AssistantContent[], calls: Map<string, Replay>, model: string): Part[] {
  let isFirstCall = true;
  return content.flatMap((part): Part[] => {
    if (part.type === "text") return part.text === "" ? [] : [{ text: part.text }];
    const replay = part.replay?.provider === "gemini" ? (part.replay.block as Replay) : undefined;
    if (part.type === "thinking")
      return replay?.thoughtSignature === undefined ? [] : [{ text: "", thoughtSignature: replay.thoughtSignature }];
    if (replay !== undefined) calls.set(part.id, replay);
    // Gemini 3 and later check the signature of the first call of a step. A call another model made has none; this is the
    // documented value that skips the check.
    const signature = replay?.thoughtSignature ?? (isFirstCall && !knowsBudgets(model) ? "skip_thought_signature_validator" : undefined);
    isFirstCall = false;
    return [
      {
        functionCall: { name: part.name, args: part.args, ...(replay?.id === undefined ? {} : { id: replay.id }) },
        ...(signature === undefined ? {} : { thoughtSignature: signature }),
      },
    ];
  });
}

function toUserParts(message: Exclude<ModelMessage, { role: "assistant" }>, calls: ReadonlyMap<string, Replay>): Part[] {
  if (message.role === "user")
    return message.content.map((part) =>
      part.type === "text" ? { text: part.text } : { inlineData: { mimeType: part.mediaType, data: part.data } },
    );
  return message.results.map((result) => {
    const id = calls.get(result.callId)?.id;
    return {
      functionResponse: {
        ...(id === undefined ? {} : { id }),
        name: result.name,
        response: result.isError ? { error: result.text } : { output: result.text },
      },
    };
  });
}

async function* readAnswer(stream: AsyncIterable<GenerateContentResponse>): AsyncGenerator<ModelEvent> {
  const content: AssistantContent[] = [];
  const usage = noUsage();
  let finish: string | undefined;
  for await (const chunk of stream) {
    const reported = chunk.usageMetadata;
    if (reported !== undefined) {
      usage.inputTokens = (reported.promptTokenCount ?? 0) + (reported.toolUsePromptTokenCount ?? 0);
      usage.reasoningTokens = reported.thoughtsTokenCount ?? 0;
      usage.outputTokens = (reported.candidatesTokenCount ?? 0) + usage.reasoningTokens;
      usage.cachedInputTokens = reported.cachedContentTokenCount ?? 0;
    }
    if (chunk.promptFeedback?.blockReason !== undefined) finish ??= "PROHIBITED_CONTENT";
    const candidate = chunk.candidates?.[0];
    for (const part of candidate?.content?.parts ?? []) {
      const event = addPart(content, part);
      if (event !== undefined) yield event;
    }
    finish = candidate?.finishReason ?? finish;
  }
  if (finish === undefined) throw new CutStreamError();
  // The model wrote a call that cannot be read; Gemini gives nothing of it, so another try is all that helps.
  if (finish === "MALFORMED_FUNCTION_CALL" || finish === "UNEXPECTED_TOOL_CALL" || finish === "MALFORMED_RESPONSE")
    throw new ReportedError("server_error", "the model wrote a tool call that cannot be read");
  const hasCalls = content.some((part) => part.type === "tool_call");
  yield { type: "done", content, malformed: [], stop: toStop(finish, hasCalls), usage };
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
  "LANGUAGE",
] satisfies `${FinishReason}`[];

function toStop(finish: string, hasCalls: boolean): StopReason {
  if (finish === "MAX_TOKENS") return "max_tokens";
  if (refusals.includes(finish)) return "refused";
  return hasCalls ? "tool_calls" : "end";
}
