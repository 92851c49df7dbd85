import type {
  Response,
  ResponseCreateParamsStreaming,
  ResponseInputItem,
  ResponseOutputItem,
  ResponseStreamEvent,
} from "openai/resources/responses/responses";
import { noUsage } from "../../contract/chat.ts";
import type { AssistantContent, ModelEvent, ModelMessage, ModelRequest, StopReason } from "../models.ts";
import { watchFetch, type Connection } from "./connection.ts";
import { CutStreamError, ReportedError, wordErrors } from "./errors.ts";
import { listOpenAIModels, openAIClient } from "./openai-client.ts";
import type { Provider, ProviderCall } from "./provider.ts";
import { toolCall, type MalformedCall } from "./tool-arguments.ts";

/** OpenAI through the Responses API, nothing stored there: reasoning is replayed from its encrypted content. */
export function createOpenAIResponses(connection: Connection): Provider {
  return {
    stream(request, call, signal) {
      const watched = watchFetch(connection.fetch, call.onActivity);
      const events = async function* (): AsyncGenerator<ModelEvent> {
        const openai = await openAIClient(connection, watched.fetch);
        yield* readAnswer(await openai.responses.create(toBody(request, call), { signal }));
      };
      return wordErrors(events, { connection, model: call.model, signal, retryAfterMs: watched.retryAfterMs });
    },
    listModels: (signal) => listOpenAIModels(connection, signal),
  };
}

/** Models that neither reason nor know the parameters of reasoning; all later ones do, and take no temperature. */
const withoutReasoning = /^(gpt-3|gpt-4|chatgpt|.*-chat-latest)/;

function toBody(request: ModelRequest, call: ProviderCall): ResponseCreateParamsStreaming {
  const reasons = !withoutReasoning.test(call.model);
  const wantsThinking = reasons && call.thinking?.enabled === true;
  return {
    model: call.model,
    input: request.messages.flatMap((message) => toItems(message, reasons)),
    max_output_tokens: call.maxTokens,
    stream: true,
    store: false,
    ...(request.system === "" ? {} : { instructions: request.system }),
    ...(reasons ? { include: ["reasoning.encrypted_content" as const] } : {}),
    ...(wantsThinking ? { reasoning: { effort: effortOf(call.thinking?.budgetTokens ?? 0), summary: "auto" as const } } : {}),
    ...(reasons || call.temperature === undefined ? {} : { temperature: call.temperature }),
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
  };
}

function effortOf(budgetTokens: number): "low" | "medium" | "high" {
  if (budgetTokens < 4000) return "low";
  return budgetTokens < 12_000 ? "medium" : "high";
}

function toItems(message: ModelMessage, reasons: boolean): ResponseInputItem[] {
  if (message.role === "tool")
    return message.results.map((result) => ({ type: "function_call_output", call_id: toId(result.callId), output: result.text }));
  if (message.role === "user")
    return [
      {
        role: "user",
        content: message.content.map((part) =>
          part.type === "text"
            ? { type: "input_text" as const, text: part.text }
            : { type: "input_image" as const, detail: "auto" as const, image_url: `data:${part.mediaType};base64,${part.data}` },
        ),
      },
    ];
  return message.content.flatMap((part): ResponseInputItem[] => {
    if (part.type === "text") return part.text === "" ? [] : [{ role: "assistant", content: part.text }];
    if (part.type === "tool_call")
      return [{ type: "function_call", call_id: toId(part.id), name: part.name, arguments: JSON.stringify(part.args) }];
    return reasons && part.replay?.provider === "openai" ? [part.replay.block as ResponseInputItem] : [];
  });
}

/** Ids may hold 64 characters here. */
function toId(id: string): string {
  return id.slice(-64);
}

async function* readAnswer(stream: AsyncIterable<ResponseStreamEvent>): AsyncGenerator<ModelEvent> {
  const items = new Map<number, ResponseOutputItem>();
  const rawArguments = new Map<number, string>();
  let last: Response | undefined;
  let refused = false;
  for await (const event of stream) {
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check
    switch (event.type) {
      case "response.output_item.added":
      case "response.output_item.done":
        items.set(event.output_index, event.item);
        break;
      case "response.output_text.delta":
        yield { type: "text", text: event.delta };
        break;
      case "response.refusal.delta":
        refused = true;
        yield { type: "text", text: event.delta };
        break;
      case "response.reasoning_summary_part.added":
        if (event.summary_index > 0) yield { type: "thinking", text: "\n\n" };
        break;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        yield { type: "thinking", text: event.delta };
        break;
      case "response.function_call_arguments.delta":
        rawArguments.set(event.output_index, (rawArguments.get(event.output_index) ?? "") + event.delta);
        break;
      case "response.completed":
      case "response.incomplete":
        last = event.response;
        break;
      case "response.failed":
        throw new ReportedError(event.response.error?.code ?? "server_error", event.response.error?.message ?? "");
      case "error":
        throw new ReportedError(event.code ?? "server_error", event.message);
      default: // the other forty events repeat what these say
    }
  }
  if (last === undefined) throw new CutStreamError();
  const malformed: MalformedCall[] = [];
  const content = [...items.entries()]
    .sort(([a], [b]) => a - b)
    .flatMap(([index, item]) => toContent(item, rawArguments.get(index), malformed));
  const hasCalls = content.some((part) => part.type === "tool_call");
  yield { type: "done", content, malformed, stop: toStop(last, hasCalls, refused), usage: toUsage(last) };
}

function toContent(item: ResponseOutputItem, streamed: string | undefined, malformed: MalformedCall[]): AssistantContent[] {
  if (item.type === "message") {
    const text = item.content.map((part) => (part.type === "output_text" ? part.text : part.refusal)).join("");
    return text === "" ? [] : [{ type: "text", text }];
  }
  if (item.type === "function_call") {
    const raw = item.arguments === "" ? (streamed ?? "") : item.arguments;
    return [toolCall({ id: item.call_id, name: item.name, raw }, malformed)];
  }
  if (item.type !== "reasoning") return [];
  const text =
    item.summary.length > 0 ? item.summary.map((part) => part.text).join("\n\n") : (item.content ?? []).map((part) => part.text).join("");
  // Without its encrypted content the item exists nowhere, as nothing is stored, and cannot be referred to.
  if (typeof item.encrypted_content !== "string") return text === "" ? [] : [{ type: "thinking", text }];
  const block = { type: "reasoning", id: item.id, summary: item.summary, encrypted_content: item.encrypted_content };
  return [{ type: "thinking", text, replay: { provider: "openai", block } }];
}

function toStop(response: Response, hasCalls: boolean, refused: boolean): StopReason {
  const reason = response.incomplete_details?.reason;
  if (reason === "max_output_tokens") return "max_tokens";
  if (reason === "content_filter" || refused) return "refused";
  return hasCalls ? "tool_calls" : "end";
}

function toUsage(response: Response): ReturnType<typeof noUsage> {
  const { usage } = response;
  if (usage === undefined || usage === null) return noUsage();
  return {
    ...noUsage(),
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    cachedInputTokens: usage.input_tokens_details?.cached_tokens ?? 0,
    reasoningTokens: usage.output_tokens_details?.reasoning_tokens ?? 0,
  };
}
