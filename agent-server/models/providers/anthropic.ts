import type { Anthropic } from "@anthropic-ai/sdk";
import type {
  ContentBlockParam,
  MessageCreateParamsStreaming,
  MessageParam,
  ThinkingConfigParam,
} from "@anthropic-ai/sdk/resources/messages";
import { noUsage, type Usage } from "../../contract/chat.ts";
import type { AssistantContent, ModelEvent, ModelMessage, ModelRequest, StopReason } from "../models.ts";
import { sdkTimeoutMs, watchFetch, type Connection } from "./connection.ts";
import { CutStreamError, wordError, wordErrors } from "./errors.ts";
import type { Provider, ProviderCall } from "./provider.ts";
import { toolCall, type MalformedCall } from "./tool-arguments.ts";

/** Claude through the Messages API. */
export function createAnthropic(connection: Connection): Provider {
  async function client(fetcher: typeof fetch): Promise<Anthropic> {
    const sdk = await import("@anthropic-ai/sdk");
    return new sdk.Anthropic({
      apiKey: connection.key,
      authToken: null,
      // The SDK adds /v1 itself; people write the address either way.
      baseURL: connection.baseUrl.replace(/\/v1\/?$/, ""),
      fetch: fetcher,
      maxRetries: 0,
      timeout: sdkTimeoutMs,
      logLevel: "off",
      openTelemetry: false,
    });
  }

  return {
    stream(request, call, signal) {
      const watched = watchFetch(connection.fetch, call.onActivity);
      const events = async function* (): AsyncGenerator<ModelEvent> {
        const anthropic = await client(watched.fetch);
        yield* readAnswer(await anthropic.messages.create(toBody(request, call), { signal }));
      };
      return wordErrors(events, { connection, model: call.model, signal, retryAfterMs: watched.retryAfterMs });
    },
    async listModels(signal) {
      try {
        const found = [];
        for await (const model of (await client(connection.fetch)).models.list({ limit: 100 }, { signal }))
          if (model.lifecycle !== "retired")
            found.push({ model: model.id, displayName: model.display_name, contextWindow: model.max_input_tokens ?? null });
        return found;
      } catch (cause) {
        throw wordError(cause, { connection, model: "", signal });
      }
    },
  };
}

function toBody(request: ModelRequest, call: ProviderCall): MessageCreateParamsStreaming {
  const thinking = chooseThinking(request.messages, call);
  return {
    model: call.model,
    max_tokens: call.maxTokens,
    stream: true,
    messages: toMessages(request.messages),
    // Tools come before the system prompt in what is cached, so one breakpoint covers both.
    ...(request.system === "" ? {} : { system: [{ type: "text", text: request.system, cache_control: { type: "ephemeral" } }] }),
    ...(request.tools.length === 0
      ? {}
      : {
          tools: request.tools.map((tool) => ({
            name: tool.name,
            description: tool.description,
            input_schema: { ...tool.parameters, type: "object" as const },
          })),
        }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(thinking?.type === "adaptive" ? { output_config: { effort: effortOf(call.thinking?.budgetTokens ?? 0) } } : {}),
  };
}

/** Claude 4.6 and later decide themselves how much to think and refuse a budget; those before know nothing but a budget. */
function chooseThinking(messages: readonly ModelMessage[], call: ProviderCall): ThinkingConfigParam | undefined {
  if (call.thinking?.enabled !== true) return undefined;
  if (isAdaptive(call.model)) return { type: "adaptive", display: "summarized" };
  const budget = Math.min(call.thinking.budgetTokens, call.maxTokens - 1);
  // With a budget, a tool loop in progress must carry its thinking; one that another provider began cannot.
  return budget >= 1024 && loopHasThinking(messages) ? { type: "enabled", budget_tokens: budget } : undefined;
}

function isAdaptive(model: string): boolean {
  const numbers = [...model.matchAll(/(?<![0-9])\d{1,2}(?![0-9])/g)].map(([digits]) => Number(digits));
  const [major, minor = 0] = numbers;
  return model.includes("claude") && major !== undefined && (major > 4 || (major === 4 && minor >= 6));
}

function loopHasThinking(messages: readonly ModelMessage[]): boolean {
  const start = messages.findLastIndex((message) => message.role === "user");
  return messages
    .slice(start + 1)
    .every(
      (message) =>
        message.role !== "assistant" ||
        !message.content.some((part) => part.type === "tool_call") ||
        message.content.some((part) => part.type === "thinking" && part.replay?.provider === "anthropic"),
    );
}

function effortOf(budgetTokens: number): "low" | "medium" | "high" {
  if (budgetTokens < 4000) return "low";
  return budgetTokens < 12_000 ? "medium" : "high";
}

function toMessages(messages: readonly ModelMessage[]): MessageParam[] {
  const params: { role: "user" | "assistant"; content: ContentBlockParam[] }[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = toBlocks(message);
    if (content.length === 0) continue;
    const last = params.at(-1);
    if (last?.role === role) last.content.push(...content);
    else params.push({ role, content });
  }
  return params;
}

function toBlocks(message: ModelMessage): ContentBlockParam[] {
  if (message.role === "tool")
    return message.results.map((result) => ({
      type: "tool_result",
      tool_use_id: toId(result.callId),
      content: result.text,
      ...(result.isError ? { is_error: true } : {}),
    }));
  if (message.role === "user")
    return message.content.flatMap((part): ContentBlockParam[] => {
      if (part.type === "text") return part.text === "" ? [] : [{ type: "text", text: part.text }];
      const media_type = part.mediaType as "image/png" | "image/jpeg" | "image/gif" | "image/webp";
      return [{ type: "image", source: { type: "base64", media_type, data: part.data } }];
    });
  return message.content.flatMap((part): ContentBlockParam[] => {
    if (part.type === "text") return part.text.trim() === "" ? [] : [{ type: "text", text: part.text }];
    if (part.type === "tool_call") return [{ type: "tool_use", id: toId(part.id), name: part.name, input: part.args }];
    return part.replay?.provider === "anthropic" ? [part.replay.block as ContentBlockParam] : [];
  });
}

/** Ids of other providers may hold characters this one refuses. */
function toId(id: string): string {
  return id.replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

type Block =
  | { type: "text"; text: string }
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string }
  | { type: "tool_use"; id: string; name: string; json: string };

async function* readAnswer(stream: AsyncIterable<Anthropic.RawMessageStreamEvent>): AsyncGenerator<ModelEvent> {
  const blocks = new Map<number, Block>();
  const usage = noUsage();
  let stop: StopReason = "end";
  let ended = false;
  for await (const event of stream) {
    if (event.type === "message_start") addUsage(usage, event.message.usage);
    else if (event.type === "content_block_start") {
      const block = event.content_block;
      if (block.type === "text") {
        blocks.set(event.index, { type: "text", text: block.text });
        if (block.text !== "") yield { type: "text", text: block.text };
      } else if (block.type === "thinking")
        blocks.set(event.index, { type: "thinking", thinking: block.thinking, signature: block.signature });
      else if (block.type === "redacted_thinking") blocks.set(event.index, { type: "redacted_thinking", data: block.data });
      else if (block.type === "tool_use") blocks.set(event.index, { type: "tool_use", id: block.id, name: block.name, json: "" });
    } else if (event.type === "content_block_delta") {
      const block = blocks.get(event.index);
      const { delta } = event;
      if (delta.type === "text_delta" && block?.type === "text") {
        block.text += delta.text;
        yield { type: "text", text: delta.text };
      } else if (delta.type === "thinking_delta" && block?.type === "thinking") {
        block.thinking += delta.thinking;
        yield { type: "thinking", text: delta.thinking };
      } else if (delta.type === "signature_delta" && block?.type === "thinking") block.signature += delta.signature;
      else if (delta.type === "input_json_delta" && block?.type === "tool_use") block.json += delta.partial_json;
    } else if (event.type === "message_delta") {
      addUsage(usage, event.usage);
      stop = toStop(event.delta.stop_reason);
    } else if (event.type === "message_stop") ended = true;
  }
  if (!ended) throw new CutStreamError();
  const malformed: MalformedCall[] = [];
  const content = [...blocks.entries()].sort(([a], [b]) => a - b).map(([, block]) => toContent(block, malformed));
  yield { type: "done", content, malformed, stop, usage };
}

function toContent(block: Block, malformed: MalformedCall[]): AssistantContent {
  if (block.type === "text") return block;
  if (block.type === "tool_use") return toolCall({ id: block.id, name: block.name, raw: block.json }, malformed);
  return { type: "thinking", text: block.type === "thinking" ? block.thinking : "", replay: { provider: "anthropic", block } };
}

interface ReportedUsage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  cache_read_input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
  output_tokens_details?: { thinking_tokens?: number } | null;
}

/** Each report is cumulative, and counts what was read from or written to the cache apart from `input_tokens`. */
function addUsage(usage: Usage, reported: ReportedUsage | null | undefined): void {
  if (reported === null || reported === undefined) return;
  if (typeof reported.input_tokens === "number") {
    usage.cachedInputTokens = reported.cache_read_input_tokens ?? usage.cachedInputTokens;
    usage.inputTokens = reported.input_tokens + usage.cachedInputTokens + (reported.cache_creation_input_tokens ?? 0);
  }
  usage.outputTokens = reported.output_tokens ?? usage.outputTokens;
  usage.reasoningTokens = reported.output_tokens_details?.thinking_tokens ?? usage.reasoningTokens;
}

function toStop(reason: string | null | undefined): StopReason {
  if (reason === "tool_use") return "tool_calls";
  if (reason === "max_tokens" || reason === "model_context_window_exceeded") return "max_tokens";
  return reason === "refusal" ? "refused" : "end";
}
