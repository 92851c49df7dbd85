import { trimEnd } from "../../contract/trim-end.ts";
import type { OpenAI } from "openai";
import type { ChatCompletionChunk, ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import type { ResponseCreateParamsStreaming, ResponseStreamEvent } from "openai/resources/responses/responses";
import { boundedFetch, sdkTimeoutMs } from "./connection.ts";
import type { Connection } from "./types.ts";
import { mapError } from "./error-mapping.ts";
import { ReportedError } from "./stream-errors.ts";
import type { Provider } from "./types.ts";
import { asText, isRecord } from "./is-record.ts";
import { askJson, openStream } from "./rest.ts";
import { readWire, type WireFormat } from "./wire-events.ts";
import { chatItem, responsesItem } from "./wire-formats.ts";

/** The transport of OpenAI-compatible servers; each call resolves when the server begins its answer. */
export interface OpenAITransport {
  chat(
    body: ChatCompletionCreateParamsStreaming,
    fetcher: typeof fetch,
    signal: AbortSignal,
    headers: Record<string, string>,
  ): Promise<AsyncIterable<ChatCompletionChunk>>;
  responses(body: ResponseCreateParamsStreaming, fetcher: typeof fetch, signal: AbortSignal): Promise<AsyncIterable<ResponseStreamEvent>>;
  models(signal: AbortSignal): AsyncIterable<{ id: string }>;
}

export function openAITransport(connection: Connection): OpenAITransport {
  return connection.mode === "api" ? overRest(connection) : overSdk(connection);
}

function overSdk(connection: Connection): OpenAITransport {
  async function client(fetcher: typeof fetch): Promise<OpenAI> {
    const sdk = await import("openai");
    return new sdk.OpenAI({
      // The SDK requires a key; for a server without one, the header is removed again.
      apiKey: connection.key ?? "none",
      ...(connection.key === null ? { defaultHeaders: { Authorization: null } } : {}),
      baseURL: connection.baseUrl,
      organization: null,
      project: null,
      fetch: fetcher,
      maxRetries: 0,
      timeout: sdkTimeoutMs,
      logLevel: "off",
    });
  }
  return {
    chat: async (body, fetcher, signal, headers) =>
      readWire(await (await client(fetcher)).chat.completions.create(body, { signal, headers }).asResponse(), chatWire),
    responses: async (body, fetcher, signal) =>
      readWire(await (await client(fetcher)).responses.create(body, { signal }).asResponse(), responsesWire),
    async *models(signal) {
      yield* (await client(boundedFetch(connection.fetch))).models.list({ signal });
    },
  };
}

function overRest(connection: Connection): OpenAITransport {
  const key: Record<string, string> = connection.key === null ? {} : { authorization: `Bearer ${connection.key}` };
  const root = trimEnd(connection.baseUrl, "/");
  return {
    chat: async (body, fetcher, signal, headers) =>
      readWire(await openStream(fetcher, { url: `${root}/chat/completions`, headers: { ...key, ...headers }, body, signal }), chatWire),
    responses: async (body, fetcher, signal) =>
      readWire(await openStream(fetcher, { url: `${root}/responses`, headers: key, body, signal }), responsesWire),
    async *models(signal) {
      const { data } = await askJson(boundedFetch(connection.fetch), { url: `${root}/models`, headers: key, signal });
      for (const model of Array.isArray(data) ? data : [])
        if (isRecord(model) && typeof model["id"] === "string") yield { ...model, id: model["id"] };
    },
  };
}

const failure: WireFormat["failure"] = (value, name) => {
  if (value["error"] !== undefined && value["error"] !== null) return reported(value["error"]);
  // An `error` event of the Responses API contains its own message and is read with the answer.
  return name === "error" && value["type"] !== "error" ? reported(value) : null;
};
const chatWire: WireFormat = { schema: chatItem, failure };
const responsesWire: WireFormat = { schema: responsesItem, failure };

function reported(error: unknown): ReportedError {
  if (!isRecord(error)) return new ReportedError("server_error", typeof error === "string" ? error : "");
  const type = [error["code"], error["type"]].filter((part) => typeof part === "string").join(" ");
  return new ReportedError(type === "" ? "server_error" : type, asText(error["message"], ""));
}

/** Models for text; OpenAI's list contains many others. */
const speaksWords = /^(?!.*(audio|realtime|tts|transcribe|image|search|embedding|moderation|whisper|dall-e|imagine|sora))/;

export async function listOpenAIModels(connection: Connection, signal: AbortSignal): ReturnType<Provider["listModels"]> {
  try {
    const found = [];
    for await (const model of openAITransport(connection).models(signal))
      if (connection.kind === "openai_compatible" || connection.kind === "local" || speaksWords.test(model.id))
        found.push({ model: model.id, displayName: model.id, contextWindow: windowOf(model) });
    return found;
  } catch (cause) {
    throw mapError(cause, { connection, model: "", signal });
  }
}

/** The context window, for which servers use different fields (vLLM, OpenRouter, LM Studio, llama-server). */
function windowOf(model: object): number | null {
  const meta: unknown = Reflect.get(model, "meta");
  const named = ["max_model_len", "context_length", "max_context_length", "context_window"].map((key): unknown => Reflect.get(model, key));
  const found = [...named, typeof meta === "object" && meta !== null ? Reflect.get(meta, "n_ctx") : undefined];
  return found.find((value): value is number => typeof value === "number" && Number.isInteger(value) && value > 0) ?? null;
}
