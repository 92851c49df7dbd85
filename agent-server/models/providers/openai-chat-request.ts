import type { ChatCompletionCreateParamsStreaming, ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { ProviderKind } from "../../contract/models.ts";
import type { AssistantContent, ModelMessage, ModelRequest } from "../request.ts";
import { effortOf } from "./effort.ts";
import type { ProviderCall } from "./types.ts";
import { adaptSchema, strictDialect } from "./tool-schema.ts";
import type { MaySend } from "./server-memory.ts";
import { formatDuration, schemaName } from "./response-schema.ts";

/** Parts that not every server of this format supports, and the error text for each. */
export const optionalParts = {
  stream_options: { says: /stream_options|include_usage/i },
  temperature: { says: /temperature/i },
  max_tokens: { says: /max_tokens|max_completion_tokens/i },
  reasoning_effort: { says: /reasoning_effort/i },
  reasoning_content: { says: /reasoning_content|reasoning|extra inputs/i },
  tool_images: { says: /image|multimodal|vision/i, onlyHere: true },
  // A template may fail on a schema with any message; a schema is dropped before anything else.
  json_schema: { says: /^(400|422|501)\b/ },
  json_object: { says: /^(400|422|501)\b/ },
};

/** The body of a request to chat completions. */
export function toBody(request: ModelRequest, call: ProviderCall, kind: ProviderKind, may: MaySend): ChatCompletionCreateParamsStreaming {
  const structure = toStructure(request, may);
  const system = [request.system, structure.words].filter((text) => text !== "").join("\n\n");
  const loop = request.messages.findLastIndex((message) => message.role === "user");
  return {
    model: call.model,
    messages: [
      ...(system === "" ? [] : [{ role: "system" as const, content: system }]),
      // Reasoning is sent back within a tool loop only: some servers require it there, others reject it elsewhere.
      ...request.messages.flatMap((message, index) => toMessages(message, kind, index > loop ? may : () => false, may)),
    ],
    // Servers of this format know the old name; some proxies of newer models only the new one.
    ...(may("max_tokens") ? { max_tokens: call.maxTokens } : { max_completion_tokens: call.maxTokens }),
    stream: true,
    ...(may("stream_options") ? { stream_options: { include_usage: true } } : {}),
    ...(call.temperature !== undefined && may("temperature") ? { temperature: call.temperature } : {}),
    ...(call.thinking !== undefined && may("reasoning_effort")
      ? { reasoning_effort: call.thinking.enabled ? effortOf(call.thinking.budgetTokens) : "low" }
      : {}),
    ...(structure.format === undefined ? {} : { response_format: structure.format }),
    ...(request.tools.length === 0
      ? {}
      : {
          tools: request.tools.map((tool) => ({
            type: "function" as const,
            function: { name: tool.name, description: tool.description, parameters: tool.parameters },
          })),
        }),
  };
}

/** Requests the response schema. If the server rejected schemas, requests JSON described in the prompt; if it rejected that, the prompt alone. */
function toStructure(
  request: ModelRequest,
  may: MaySend,
): { format?: NonNullable<ChatCompletionCreateParamsStreaming["response_format"]>; words: string } {
  const { responseSchema } = request;
  if (responseSchema === undefined) return { words: "" };
  if (may("json_schema")) {
    const strict = adaptSchema(responseSchema.schema, strictDialect);
    const told = { name: schemaName(responseSchema), schema: strict ?? responseSchema.schema, strict: strict !== null };
    return { format: { type: "json_schema", json_schema: told }, words: "" };
  }
  const words = formatDuration(responseSchema);
  return responseSchema.schema["type"] === "object" && may("json_object") ? { format: { type: "json_object" }, words } : { words };
}

function toMessages(message: ModelMessage, kind: ProviderKind, mayReplay: MaySend, may: MaySend): ChatCompletionMessageParam[] {
  if (message.role === "tool") {
    const results = message.results.map(
      (result): ChatCompletionMessageParam => ({ role: "tool", tool_call_id: result.callId, content: result.text }),
    );
    const images = message.results.flatMap((result) => result.images ?? []);
    // A tool result is text in this format, so its images follow in a user message.
    if (images.length === 0 || !may("tool_images")) return results;
    return [...results, { role: "user", content: [{ type: "text", text: "What the tools showed:" }, ...images.map(toImage)] }];
  }
  if (message.role === "user") {
    if (message.content.every((part) => part.type === "text"))
      return [{ role: "user", content: message.content.map((part) => part.text).join("\n\n") }];
    return [
      {
        role: "user",
        content: message.content.map((part) => (part.type === "text" ? { type: "text" as const, text: part.text } : toImage(part))),
      },
    ];
  }
  const text = message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  const calls = message.content.flatMap((part) =>
    part.type === "tool_call"
      ? [{ id: part.id, type: "function" as const, function: { name: part.name, arguments: JSON.stringify(part.args) } }]
      : [],
  );
  if (text === "" && calls.length === 0) return [];
  const reasoning = calls.length === 0 ? {} : reasoningOf(message.content, kind, mayReplay);
  return [{ role: "assistant", content: text === "" ? null : text, ...(calls.length === 0 ? {} : { tool_calls: calls }), ...reasoning }];
}

function toImage({ mediaType, data }: { mediaType: string; data: string }) {
  return { type: "image_url" as const, image_url: { url: `data:${mediaType};base64,${data}` } };
}

/** The field in which a server sent its reasoning, and expects it back. */
export interface ReasoningField {
  field: "reasoning_content" | "reasoning";
}

function reasoningOf(content: readonly AssistantContent[], kind: ProviderKind, may: MaySend): Record<string, string> {
  const thought = content.find((part) => part.type === "thinking" && part.replay?.provider === kind);
  if (thought?.type !== "thinking" || thought.replay === undefined || thought.text === "" || !may("reasoning_content")) return {};
  return { [(thought.replay.block as ReasoningField).field]: thought.text };
}
