import type { OpenAI } from "openai";
import { sdkTimeoutMs, type Connection } from "./connection.ts";
import { wordError } from "./errors.ts";
import type { Provider } from "./provider.ts";

/** The SDK for OpenAI and for every server that speaks its formats. */
export async function openAIClient(connection: Connection, fetcher: typeof fetch): Promise<OpenAI> {
  const sdk = await import("openai");
  return new sdk.OpenAI({
    // The SDK wants a key; a server that needs none is told so by a header taken away again.
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

/** Models that answer in words; OpenAI's own list has many that do not. */
const speaksWords = /^(?!.*(audio|realtime|tts|transcribe|image|search|embedding|moderation|whisper|dall-e|imagine|sora))/;

export async function listOpenAIModels(connection: Connection, signal: AbortSignal): ReturnType<Provider["listModels"]> {
  try {
    const found = [];
    for await (const model of (await openAIClient(connection, connection.fetch)).models.list({ signal }))
      if (connection.kind === "openai_compatible" || connection.kind === "local" || speaksWords.test(model.id))
        found.push({ model: model.id, displayName: model.id, contextWindow: windowOf(model) });
    return found;
  } catch (cause) {
    throw wordError(cause, { connection, model: "", signal });
  }
}

/** Servers that tell the window do it each in its own field (vLLM, OpenRouter, LM Studio, llama-server). */
function windowOf(model: object): number | null {
  const meta: unknown = Reflect.get(model, "meta");
  const named = ["max_model_len", "context_length", "max_context_length", "context_window"].map((key): unknown => Reflect.get(model, key));
  const found = [...named, typeof meta === "object" && meta !== null ? Reflect.get(meta, "n_ctx") : undefined];
  return found.find((value): value is number => typeof value === "number" && Number.isInteger(value) && value > 0) ?? null;
}
