import type { Content, FunctionDeclaration, FunctionResponsePart, Part, ThinkingConfig, ThinkingLevel } from "@google/genai/web";
import type { AssistantContent, ModelMessage, ModelRequest, ToolResult } from "../request.ts";
import { effortOf } from "./effort.ts";
import type { ProviderCall } from "./types.ts";
import { adaptSchema, geminiDialect } from "./tool-schema.ts";
import type { MaySend } from "./server-memory.ts";
import { formatDuration } from "./response-schema.ts";

/** The prefix of every request of a task, which an explicit cache can hold. */
export interface GeminiPrefix {
  systemInstruction?: Content;
  tools?: { functionDeclarations: FunctionDeclaration[] }[];
}

/** Settings of a request; REST calls them `generationConfig`. */
export interface GenerationConfig {
  maxOutputTokens: number;
  temperature?: number;
  thinkingConfig?: ThinkingConfig;
  responseMimeType?: string;
  responseJsonSchema?: unknown;
}

/** The request of both modes. */
export interface GeminiRequest {
  model: string;
  prefix: GeminiPrefix;
  contents: Content[];
  generation: GenerationConfig;
}

/** Parts that not every model supports, and the error text for each. */
export const optionalParts = {
  cached: { says: /cached.?content/i, onlyHere: true },
  level: { says: /thinking.?level|thinking.?budget|thinking/i },
  result_images: { says: /multimodal|function.?response.*(parts|inline)|inline.?data/i },
  schema: { says: /json.?schema|response.?schema|response.?mime|schema/i },
  temperature: { says: /temperature/i },
};

export function toRequest(request: ModelRequest, call: ProviderCall, may: MaySend): GeminiRequest {
  const { responseSchema } = request;
  const schema = responseSchema === undefined ? null : adaptSchema(responseSchema.schema, geminiDialect);
  const byMode = responseSchema !== undefined && (schema !== null || responseSchema.schema["type"] === "object");
  const isAsked = byMode && mayAnswerAsJson(request, call.model) && may("schema");
  // Describes the schema in the prompt where there is no other way.
  const words = responseSchema !== undefined && (schema === null || !isAsked) ? formatDuration(responseSchema) : "";
  const system = [request.system, words].filter((text) => text !== "").join("\n\n");
  const thinkingConfig = toThinking(call, may);
  return {
    model: call.model,
    prefix: {
      ...(system === "" ? {} : { systemInstruction: { role: "user", parts: [{ text: system }] } }),
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
    contents: toContents(request.messages, call.model, may),
    generation: {
      maxOutputTokens: call.maxTokens,
      ...(call.temperature !== undefined && may("temperature") ? { temperature: call.temperature } : {}),
      ...(thinkingConfig === undefined ? {} : { thinkingConfig }),
      ...(isAsked ? { responseMimeType: "application/json", ...(schema === null ? {} : { responseJsonSchema: schema }) } : {}),
    },
  };
}

/** Gemini 2 supports either JSON answers or tools. */
function mayAnswerAsJson(request: ModelRequest, model: string): boolean {
  return request.tools.length === 0 || !knowsBudgets(model);
}

/** Gemini 2 has a budget, later models a level. */
function toThinking(call: ProviderCall, may: MaySend): ThinkingConfig | undefined {
  const { thinking } = call;
  if (thinking === undefined) return undefined;
  if (!may("level")) return thinking.enabled ? { includeThoughts: true } : undefined;
  if (knowsBudgets(call.model)) {
    if (thinking.enabled) return { includeThoughts: true, thinkingBudget: thinking.budgetTokens };
    // Pro always thinks; 128 is its minimum.
    return { thinkingBudget: call.model.includes("pro") ? 128 : 0 };
  }
  // The SDK's type is an enumeration of these strings, whose values exist only in its code.
  const level = (thinking.enabled ? effortOf(thinking.budgetTokens) : "low").toUpperCase() as ThinkingLevel;
  return { ...(thinking.enabled ? { includeThoughts: true } : {}), thinkingLevel: level };
}

function knowsBudgets(model: string): boolean {
  return /^gemini-[12]\b/.test(model);
}

export interface Replay {
  thoughtSignature?: string;
  id?: string;
}

function toContents(messages: readonly ModelMessage[], model: string, may: MaySend): Content[] {
  const calls = new Map<string, Replay>();
  const contents: { role: string; parts: Part[] }[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "model" : "user";
    const parts = message.role === "assistant" ? toModelParts(message.content, calls, model) : toUserParts(message, calls, model, may);
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
    // Gemini 3 and later check the signature of the first call of a step. A call of another model has none; this documented value skips
    // the check.
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

function toUserParts(
  message: Exclude<ModelMessage, { role: "assistant" }>,
  calls: ReadonlyMap<string, Replay>,
  model: string,
  may: MaySend,
): Part[] {
  if (message.role === "user") return message.content.map((part) => (part.type === "text" ? { text: part.text } : toImage(part)));
  const responses = message.results.map((result): Part => ({ functionResponse: toResponse(result, calls, model, may) }));
  // Where a result cannot contain images, they follow the results, which must be adjacent.
  const images = message.results.flatMap((result) => (holdsImages(result, model, may) ? [] : (result.images ?? [])));
  return [...responses, ...images.map(toImage)];
}

function toResponse(
  result: ToolResult,
  calls: ReadonlyMap<string, Replay>,
  model: string,
  may: MaySend,
): NonNullable<Part["functionResponse"]> {
  const id = calls.get(result.callId)?.id;
  const parts: FunctionResponsePart[] = holdsImages(result, model, may) ? (result.images ?? []).map(toImage) : [];
  return {
    ...(id === undefined ? {} : { id }),
    name: result.name,
    response: result.isError ? { error: result.text } : { output: result.text },
    ...(parts.length === 0 ? {} : { parts }),
  };
}

function holdsImages(result: ToolResult, model: string, may: MaySend): boolean {
  return result.images !== undefined && !knowsBudgets(model) && may("result_images");
}

function toImage({ mediaType, data }: { mediaType: string; data: string }): { inlineData: { mimeType: string; data: string } } {
  return { inlineData: { mimeType: mediaType, data } };
}
