import type {
  ResponseCreateParamsStreaming,
  ResponseInputImage,
  ResponseInputItem,
  ResponseInputText,
} from "openai/resources/responses/responses";
import type { ProviderKind } from "../../contract/models.ts";
import type { ModelMessage, ModelRequest } from "../request.ts";
import { effortOf } from "./effort.ts";
import type { ProviderCall } from "./types.ts";
import { adaptSchema, strictDialect } from "./tool-schema.ts";
import type { MaySend } from "./server-memory.ts";
import { formatDuration, schemaName } from "./response-schema.ts";

/** Parts that not every model supports, and the error text for each. */
export const optionalParts = {
  temperature: { says: /temperature/i },
  // Reasoning of another model or account cannot be decrypted: the conversation continues without it.
  replay: { says: /encrypted|reasoning' was provided|rs_/i, onlyHere: true },
  encrypted: { says: /include|encrypted_content/i },
  summary: { says: /summary/i },
  effort: { says: /reasoning|effort/i },
  format: { says: /json_schema|text\.format|schema|response_format/i },
  breakpoint: { says: /prompt_cache_breakpoint|breakpoint/i },
  cache_key: { says: /prompt_cache_key/i },
};

/** The body of a request. The provider stores nothing. */
export function toBody(request: ModelRequest, call: ProviderCall, kind: ProviderKind, may: MaySend): ResponseCreateParamsStreaming {
  const reasons = reasonsAtAll(call.model, kind);
  const hasReplay = request.messages.some(
    (message) => message.role === "assistant" && message.content.some((part) => part.type === "thinking" && part.replay?.provider === kind),
  );
  const replays = reasons && hasReplay && may("replay");
  const reasoning = reasons ? toReasoning(call, kind, may) : undefined;
  const temperature =
    call.temperature !== undefined && takesTemperature(call.model, kind) && may("temperature") ? call.temperature : undefined;
  const structure = toStructure(request, may);
  return {
    model: call.model,
    max_output_tokens: call.maxTokens,
    stream: true,
    store: false,
    ...(reasons && may("encrypted") ? { include: ["reasoning.encrypted_content" as const] } : {}),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(structure.text === undefined ? {} : { text: structure.text }),
    ...(request.tools.length === 0
      ? {}
      : {
          tools: request.tools.map((tool) => ({
            type: "function" as const,
            name: tool.name,
            description: tool.description,
            parameters: tool.parameters,
            strict: false,
          })),
        }),
    // Routes requests with a common prefix to the machine that has it cached.
    ...(request.cacheKey !== undefined && may("cache_key") ? { prompt_cache_key: request.cacheKey.slice(0, 64) } : {}),
    ...toConversation(request, call.model, kind, structure.words, replays, may),
  };
}

/** The system prompt and the conversation, the most stable parts first. */
function toConversation(
  request: ModelRequest,
  model: string,
  kind: ProviderKind,
  words: string,
  replays: boolean,
  may: MaySend,
): { instructions?: string; input: ResponseInputItem[] } {
  const system = [request.system, words].filter((text) => text !== "").join("\n\n");
  const input = request.messages.flatMap((message) => toItems(message, kind, replays));
  if (system === "") return { input };
  if (kind === "openai") {
    if (!writesAtBreakpoints(model) || request.cacheKey === undefined || !may("breakpoint")) return { instructions: system, input };
    // From GPT-5.6 on, a prefix is cached only at a breakpoint. The end of the conversation has one by itself; this one lets another task
    // reuse tools and system prompt.
    const text: ResponseInputText = { type: "input_text", text: system, prompt_cache_breakpoint: { mode: "explicit" } };
    return { input: [{ role: "developer", content: [text] }, ...input] };
  }
  // xAI does not support instructions apart from the conversation.
  return { input: [{ role: "system", content: system }, ...input] };
}

/** Models that neither reason nor support reasoning parameters; all later ones do. */
function reasonsAtAll(model: string, kind: ProviderKind): boolean {
  return kind === "xai" ? !/non-reasoning|^grok-[23](?!-mini)/.test(model) : !/^(gpt-3|gpt-4|chatgpt|.*-chat-latest)/.test(model);
}

/** OpenAI's reasoning models do not support it. */
function takesTemperature(model: string, kind: ProviderKind): boolean {
  return kind === "xai" || !reasonsAtAll(model, kind);
}

function writesAtBreakpoints(model: string): boolean {
  const [, major, minor] = /^gpt-(\d+)(?:\.(\d+))?/.exec(model) ?? [];
  return Number(major) > 5 || (Number(major) === 5 && Number(minor) >= 6);
}

function toReasoning(
  call: ProviderCall,
  kind: ProviderKind,
  may: MaySend,
): NonNullable<ResponseCreateParamsStreaming["reasoning"]> | undefined {
  const { thinking } = call;
  if (thinking === undefined) return undefined;
  // These models reject a reasoning effort.
  const isFixed = kind === "xai" && /^grok-(4-0709|4-fast|4-1-fast|4\.20(?!-multi)|4$|code-fast)/.test(call.model);
  const effort = thinking.enabled ? effortOf(thinking.budgetTokens) : "low";
  const told = {
    ...(!isFixed && may("effort") ? { effort } : {}),
    ...(thinking.enabled && may("summary") ? { summary: "auto" as const } : {}),
  };
  return Object.keys(told).length === 0 ? undefined : told;
}

function toStructure(request: ModelRequest, may: MaySend): { text?: NonNullable<ResponseCreateParamsStreaming["text"]>; words: string } {
  const { responseSchema } = request;
  if (responseSchema === undefined) return { words: "" };
  if (responseSchema.schema["type"] !== "object" || !may("format")) return { words: formatDuration(responseSchema) };
  const strict = adaptSchema(responseSchema.schema, strictDialect);
  const format = { type: "json_schema" as const, name: schemaName(responseSchema) };
  return { text: { format: { ...format, schema: strict ?? responseSchema.schema, strict: strict !== null } }, words: "" };
}

function toItems(message: ModelMessage, kind: ProviderKind, replays: boolean): ResponseInputItem[] {
  if (message.role === "tool")
    return message.results.map((result) => ({
      type: "function_call_output",
      call_id: toId(result.callId),
      output: result.images === undefined ? result.text : [{ type: "input_text", text: result.text }, ...result.images.map(toImage)],
    }));
  if (message.role === "user")
    return [
      {
        role: "user",
        content: message.content.map((part) => (part.type === "text" ? { type: "input_text" as const, text: part.text } : toImage(part))),
      },
    ];
  return message.content.flatMap((part): ResponseInputItem[] => {
    if (part.type === "text") return part.text === "" ? [] : [{ role: "assistant", content: part.text }];
    if (part.type === "tool_call")
      return [{ type: "function_call", call_id: toId(part.id), name: part.name, arguments: JSON.stringify(part.args) }];
    return replays && part.replay?.provider === kind ? [part.replay.block as ResponseInputItem] : [];
  });
}

function toImage({ mediaType, data }: { mediaType: string; data: string }): ResponseInputImage {
  return { type: "input_image", detail: "auto", image_url: `data:${mediaType};base64,${data}` };
}

/** Ids are limited to 64 characters in this API. */
function toId(id: string): string {
  return id.slice(-64);
}
