import type {
  ContentBlockParam,
  ImageBlockParam,
  MessageCreateParamsStreaming,
  MessageParam,
  TextBlockParam,
  ThinkingConfigParam,
  Tool,
} from "@anthropic-ai/sdk/resources/messages";
import type { ModelMessage, ModelRequest } from "../request.ts";
import { markConversation, marked } from "./anthropic-caching.ts";
import { isAdaptive, knowsOutputFormat, preservesThinking, thinksBetweenTools, thinksUnlessDisabled } from "./anthropic-models.ts";
import { effortOf } from "./effort.ts";
import type { ProviderCall } from "./types.ts";
import { adaptSchema, anthropicDialect } from "./tool-schema.ts";
import type { MaySend } from "./server-memory.ts";
import { formatDuration, schemaName } from "./response-schema.ts";

/** Controls thinking whose conversation has changed since; requires `bindingHeader`. */
interface BoundThinking {
  block_binding?: { prefix_mismatch_behavior: "drop_block" };
}
type Thinking = ThinkingConfigParam & BoundThinking;

export interface AnthropicRequest {
  body: MessageCreateParamsStreaming;
  headers: Record<string, string>;
  /** The tool whose arguments are the structured answer; null where the answer is text. */
  answerTool: string | null;
}

const betaHeader = "thinking-binding-controls-2026-08-01";

/** Parts that not every model or server of this format supports, and the error text for each. */
export const optionalParts = {
  // Thinking that cannot be decrypted: of another model, or after a changed conversation.
  replay: { says: /signature|`?(redacted_)?thinking`? blocks?/i, onlyHere: true },
  binding: { says: /anthropic-beta|block_binding|thinking-binding|beta/i },
  effort: { says: /effort/i },
  adaptive: { says: /adaptive/i },
  between_tools: { says: /between_tools/i },
  disabled: { says: /disabled/i },
  format: { says: /output_config|output_format|schema/i },
  cache: { says: /cache_control/i },
};

/** The request of both modes. This version of the API has no temperature. */
export function toRequest(request: ModelRequest, call: ProviderCall, may: MaySend): AnthropicRequest {
  const hasReplay = request.messages.some((message) => message.role === "assistant" && message.content.some(isReplayed));
  const replays = hasReplay && may("replay");
  const thinking = chooseThinking(request.messages, call, replays, may);
  const isBound = thinking !== undefined && "block_binding" in thinking;
  const structure = toStructure(request, call.model, may);
  const effort = toEffort(call, thinking);
  const outputConfig = { ...(effort !== undefined && may("effort") ? { effort } : {}), ...structure.outputConfig };
  const caches = may("cache");
  const tools: Tool[] = [
    ...request.tools.map((tool) => ({
      name: tool.name,
      description: tool.description,
      input_schema: { ...tool.parameters, type: "object" as const },
    })),
    ...structure.tools,
  ];
  const system = [request.system, structure.words].filter((text) => text !== "").join("\n\n");
  const messages = toMessages(request.messages, replays);
  const body: MessageCreateParamsStreaming = {
    model: call.model,
    max_tokens: call.maxTokens,
    stream: true,
    ...(system === "" ? {} : { system: [{ type: "text", text: system, ...marked(caches) }] }),
    ...(tools.length === 0 ? {} : { tools: markLast(tools, caches) }),
    ...(structure.toolChoice === undefined ? {} : { tool_choice: structure.toolChoice }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(Object.keys(outputConfig).length === 0 ? {} : { output_config: outputConfig }),
    messages:
      caches && request.cacheKey !== undefined
        ? markConversation(messages, call.model, system.length + JSON.stringify(tools).length)
        : messages,
  };
  return { body, headers: isBound ? { "anthropic-beta": betaHeader } : {}, answerTool: structure.tools[0]?.name ?? null };
}

/** Tools precede the system prompt in the cache: with their own breakpoint they stay cached when the system prompt changes. */
function markLast(tools: Tool[], caches: boolean): Tool[] {
  return tools.map((tool, index) => (index === tools.length - 1 ? { ...tool, ...marked(caches) } : tool));
}

function chooseThinking(messages: readonly ModelMessage[], call: ProviderCall, replays: boolean, may: MaySend): Thinking | undefined {
  const wanted = call.thinking?.enabled;
  if (preservesThinking(call.model)) {
    if (wanted === false && thinksBetweenTools(call.model) && may("between_tools")) return { type: "between_tools" };
    if (!may("adaptive")) return undefined;
    // Summarized thinking, otherwise text between tool calls would be lost. The server drops thinking whose conversation has changed since
    // (compacted, another system prompt) instead of rejecting it.
    const binding: BoundThinking = may("binding") ? { block_binding: { prefix_mismatch_behavior: "drop_block" } } : {};
    return { type: "adaptive", display: "summarized", ...binding };
  }
  if (wanted === false && thinksUnlessDisabled(call.model) && may("disabled")) return { type: "disabled" };
  if (wanted !== true) return undefined;
  if (isAdaptive(call.model)) return may("adaptive") ? { type: "adaptive", display: "summarized" } : undefined;
  const budget = Math.min(call.thinking?.budgetTokens ?? 0, call.maxTokens - 1);
  // With a budget, a tool loop in progress must contain its thinking; one that another provider began cannot.
  return budget >= 1024 && loopHasThinking(messages, replays) ? { type: "enabled", budget_tokens: budget } : undefined;
}

function loopHasThinking(messages: readonly ModelMessage[], replays: boolean): boolean {
  const start = messages.findLastIndex((message) => message.role === "user");
  return messages
    .slice(start + 1)
    .every(
      (message) =>
        message.role !== "assistant" ||
        !message.content.some((part) => part.type === "tool_call") ||
        (replays && message.content.some(isReplayed)),
    );
}

function toEffort(call: ProviderCall, thinking: Thinking | undefined): "low" | "medium" | "high" | undefined {
  if (thinking?.type !== "adaptive" || call.thinking === undefined) return undefined;
  return call.thinking.enabled ? effortOf(call.thinking.budgetTokens) : "low";
}

interface Structure {
  outputConfig: Pick<NonNullable<MessageCreateParamsStreaming["output_config"]>, "format">;
  tools: Tool[];
  toolChoice?: MessageCreateParamsStreaming["tool_choice"];
  words: string;
}

/** Newer models get the schema itself; older ones a tool they must call, which newer ones reject; otherwise the prompt describes it. */
function toStructure(request: ModelRequest, model: string, may: MaySend): Structure {
  const none: Structure = { outputConfig: {}, tools: [], words: "" };
  const { responseSchema } = request;
  if (responseSchema === undefined) return none;
  const schema = adaptSchema(responseSchema.schema, anthropicDialect);
  if (schema !== null && knowsOutputFormat(model) && may("format"))
    return { ...none, outputConfig: { format: { type: "json_schema", schema } } };
  const isObject = responseSchema.schema["type"] === "object";
  if (!isObject || knowsOutputFormat(model) || request.tools.length > 0) return { ...none, words: formatDuration(responseSchema) };
  const name = schemaName(responseSchema);
  const tool: Tool = {
    name,
    description: "Gives the answer. Call it once, with the whole answer.",
    input_schema: { ...responseSchema.schema, type: "object" },
  };
  return { ...none, tools: [tool], toolChoice: { type: "tool", name } };
}

function isReplayed(part: Extract<ModelMessage, { role: "assistant" }>["content"][number]): boolean {
  return part.type === "thinking" && part.replay?.provider === "anthropic";
}

function toMessages(messages: readonly ModelMessage[], replays: boolean): MessageParam[] {
  const params: { role: "user" | "assistant"; content: ContentBlockParam[] }[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = toBlocks(message, replays);
    if (content.length === 0) continue;
    const last = params.at(-1);
    if (last?.role === role) last.content.push(...content);
    else params.push({ role, content });
  }
  return params;
}

function toBlocks(message: ModelMessage, replays: boolean): ContentBlockParam[] {
  if (message.role === "tool")
    return message.results.map((result) => ({
      type: "tool_result",
      tool_use_id: toId(result.callId),
      content: result.images === undefined ? result.text : [...toText(result.text), ...result.images.map(toImage)],
      ...(result.isError ? { is_error: true } : {}),
    }));
  if (message.role === "user")
    return message.content.flatMap((part): ContentBlockParam[] => (part.type === "text" ? toText(part.text) : [toImage(part)]));
  return message.content.flatMap((part): ContentBlockParam[] => {
    if (part.type === "text") return part.text.trim() === "" ? [] : [{ type: "text", text: part.text }];
    if (part.type === "tool_call") return [{ type: "tool_use", id: toId(part.id), name: part.name, input: part.args }];
    return replays && part.replay?.provider === "anthropic" ? [part.replay.block as ContentBlockParam] : [];
  });
}

function toText(text: string): TextBlockParam[] {
  return text === "" ? [] : [{ type: "text", text }];
}

function toImage({ mediaType, data }: { mediaType: string; data: string }): ImageBlockParam {
  const media_type = mediaType as "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  return { type: "image", source: { type: "base64", media_type, data } };
}

/** Ids of other providers may contain characters that this API rejects. */
function toId(id: string): string {
  return id.replaceAll(/[^A-Za-z0-9_-]/g, "_");
}
