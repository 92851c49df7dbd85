import { randomUUID } from "node:crypto";
import type {
  ChatCompletionChunk,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import { noUsage } from "../../contract/chat.ts";
import type { AssistantContent, ModelEvent, ModelMessage, ModelRequest, StopReason } from "../models.ts";
import { watchFetch, type Connection } from "./connection.ts";
import { CutStreamError, wordErrors } from "./errors.ts";
import { listOpenAIModels, openAIClient } from "./openai-client.ts";
import type { Provider, ProviderCall } from "./provider.ts";
import { toolCall, type MalformedCall } from "./tool-arguments.ts";

/** xAI and every OpenAI-compatible server (Ollama, llama-server, LM Studio, vLLM, …) through chat completions. */
export function createOpenAIChat(connection: Connection): Provider {
  return {
    stream(request, call, signal) {
      const watched = watchFetch(connection.fetch, call.onActivity);
      const events = async function* (): AsyncGenerator<ModelEvent> {
        const openai = await openAIClient(connection, watched.fetch);
        yield* readAnswer(await openai.chat.completions.create(toBody(request, call), { signal }));
      };
      return wordErrors(events, { connection, model: call.model, signal, retryAfterMs: watched.retryAfterMs });
    },
    listModels: (signal) => listOpenAIModels(connection, signal),
  };
}

function toBody(request: ModelRequest, call: ProviderCall): ChatCompletionCreateParamsStreaming {
  const system: ChatCompletionMessageParam[] = request.system === "" ? [] : [{ role: "system", content: request.system }];
  return {
    model: call.model,
    messages: [...system, ...request.messages.flatMap(toMessages)],
    // The servers behind this format know the old name; those of OpenAI itself are asked through responses.
    max_tokens: call.maxTokens,
    stream: true,
    stream_options: { include_usage: true },
    ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
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

function toMessages(message: ModelMessage): ChatCompletionMessageParam[] {
  if (message.role === "tool")
    return message.results.map((result) => ({ role: "tool", tool_call_id: result.callId, content: result.text }));
  if (message.role === "user") {
    if (message.content.every((part) => part.type === "text"))
      return [{ role: "user", content: message.content.map((part) => part.text).join("\n\n") }];
    return [
      {
        role: "user",
        content: message.content.map((part) =>
          part.type === "text"
            ? { type: "text" as const, text: part.text }
            : { type: "image_url" as const, image_url: { url: `data:${part.mediaType};base64,${part.data}` } },
        ),
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
  return [{ role: "assistant", content: text === "" ? null : text, ...(calls.length === 0 ? {} : { tool_calls: calls }) }];
}

async function* readAnswer(stream: AsyncIterable<ChatCompletionChunk>): AsyncGenerator<ModelEvent> {
  let text = "";
  let thinking = "";
  let finish: string | null = null;
  let refusal = false;
  const usage = noUsage();
  const calls: (MalformedCall & { index: number })[] = [];
  for await (const chunk of stream) {
    if (chunk.usage) {
      usage.inputTokens = chunk.usage.prompt_tokens ?? 0;
      usage.outputTokens = chunk.usage.completion_tokens ?? 0;
      usage.cachedInputTokens = chunk.usage.prompt_tokens_details?.cached_tokens ?? 0;
      usage.reasoningTokens = chunk.usage.completion_tokens_details?.reasoning_tokens ?? 0;
    }
    // Some servers send chunks without choices, or choices without a delta.
    const choice = chunk.choices?.[0];
    if (choice === undefined) continue;
    finish = choice.finish_reason ?? finish;
    const delta: ChatCompletionChunk.Choice.Delta | undefined = choice.delta;
    if (delta === undefined || delta === null) continue;
    const thought = thoughtOf(delta);
    if (thought !== "") {
      thinking += thought;
      yield { type: "thinking", text: thought };
    }
    const words = `${delta.content ?? ""}${delta.refusal ?? ""}`;
    refusal ||= (delta.refusal ?? "") !== "";
    if (words !== "") {
      text += words;
      yield { type: "text", text: words };
    }
    for (const part of delta.tool_calls ?? []) addCallPart(calls, part);
  }
  if (finish === null) throw new CutStreamError();
  const malformed: MalformedCall[] = [];
  const content: AssistantContent[] = [
    ...(thinking === "" ? [] : [{ type: "thinking" as const, text: thinking }]),
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...calls.map(({ id, name, raw }) => toolCall({ id, name, raw }, malformed)),
  ];
  yield { type: "done", content, malformed, stop: toStop(finish, calls.length > 0, refusal), usage };
}

/** Servers name the field of their thoughts differently (DeepSeek, llama-server: reasoning_content; Ollama, vLLM: reasoning). */
function thoughtOf(delta: object): string {
  for (const key of ["reasoning_content", "reasoning"]) {
    const value: unknown = Reflect.get(delta, key);
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}

/** Pieces belong together by index; some servers send every call whole under the same index, told apart by its id. */
function addCallPart(calls: (MalformedCall & { index: number })[], part: ChatCompletionChunk.Choice.Delta.ToolCall): void {
  const index = part.index ?? calls.length;
  const id = part.id ?? "";
  const name = part.function?.name ?? "";
  let call = calls.findLast((known) => known.index === index);
  if (call === undefined || (id !== "" && name !== "" && id !== call.id)) {
    call = { index, id: id === "" ? `call_${randomUUID().replaceAll("-", "")}` : id, name, raw: "" };
    calls.push(call);
  } else if (name !== "" && name !== call.name) call.name += name;
  // Ollama has sent arguments as an object.
  const raw: unknown = part.function?.arguments;
  call.raw += typeof raw === "string" ? raw : raw === undefined || raw === null ? "" : JSON.stringify(raw);
}

function toStop(finish: string, hasCalls: boolean, refusal: boolean): StopReason {
  if (finish === "length") return "max_tokens";
  if (finish === "content_filter" || refusal) return "refused";
  return hasCalls ? "tool_calls" : "end";
}
