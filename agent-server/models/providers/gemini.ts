import type { GenerateContentConfig, GoogleGenAI } from "@google/genai/web";
import { createAnswerMeter } from "../answer-limits.ts";
import type { ModelEvent } from "../request.ts";
import { boundedFetch, watchFetch } from "./connection.ts";
import type { Connection } from "./types.ts";
import { mapError, mapErrors } from "./error-mapping.ts";
import { ReportedError, StatusError } from "./stream-errors.ts";
import { readAnswer, type GeminiChunk } from "./gemini-answer.ts";
import { apiRoot, geminiCaches, hostRoot, keyHeader, versionOf } from "./gemini-caches.ts";
import { optionalParts, toRequest, type GeminiRequest } from "./gemini-request.ts";
import type { Provider } from "./types.ts";
import { asText, isRecord } from "./is-record.ts";
import { askJson, openStream } from "./rest.ts";
import { createServerMemory, withoutRefused } from "./server-memory.ts";
import { bareAnswer } from "./response-schema.ts";
import { readWire, type WireFormat } from "./wire-events.ts";
import { geminiItem } from "./wire-formats.ts";

interface Sent {
  request: GeminiRequest;
  /** The name of the cache that replaces tools and system prompt. */
  cached: string | null;
  continuationToken?: string;
}

/** The transport of a mode. */
interface Transport {
  /** Resolves when the server begins its answer. */
  open(sent: Sent, fetcher: typeof fetch, signal: AbortSignal): Promise<AsyncIterable<GeminiChunk>>;
  listModels(signal: AbortSignal): AsyncIterable<ListedModel>;
}

interface ListedModel {
  name?: string | undefined;
  displayName?: string | undefined;
  inputTokenLimit?: number | undefined;
  /** The supported methods. */
  actions?: readonly string[] | undefined;
}

/** Google Gemini through the Gemini API. */
export function createGemini(connection: Connection): Provider {
  const transport = connection.mode === "api" ? overRest(connection) : overSdk(connection);
  const caches = geminiCaches(connection.memory ?? createServerMemory());
  return {
    stream(request, call, signal) {
      const watched = watchFetch(connection.fetch, call.onActivity);
      const events = async function* (): AsyncGenerator<ModelEvent> {
        let written = 0;
        const { first, built, cached } = await withoutRefused(connection, call.model, optionalParts, async (may) => {
          const built = toRequest(request, call, may);
          const used = caches.use(connection, built, request.cacheKey);
          written += used?.writtenTokens ?? 0;
          const isKnown = used !== null && may("cached");
          // The server no longer has the cache.
          if (used !== null && !isKnown) caches.forget(used.name);
          const cached = isKnown ? used.name : null;
          return { first: await transport.open({ request: built, cached }, watched.fetch, signal), built, cached };
        });
        const goOn = (continuationToken: string) => transport.open({ request: built, cached, continuationToken }, watched.fetch, signal);
        for await (const event of bareAnswer(readAnswer(first, goOn, call.meter ?? createAnswerMeter()), request)) {
          if (event.type === "done" && cached === null) caches.answered(connection, built, request.cacheKey, event.usage);
          yield event.type === "done" ? withWritten(event, written) : event;
        }
      };
      return mapErrors(events, { connection, model: call.model, signal, retryAfterMs: watched.retryAfterMs });
    },
    async listModels(signal) {
      try {
        const found = [];
        for await (const { name, displayName, inputTokenLimit, actions } of transport.listModels(signal)) {
          if (name === undefined || actions?.includes("generateContent") === false) continue;
          const id = name.replace(/^models\//, "");
          found.push({ model: id, displayName: displayName ?? id, contextWindow: inputTokenLimit ?? null });
        }
        return found;
      } catch (cause) {
        throw mapError(cause, { connection, model: "", signal });
      }
    },
  };
}

type Done = Extract<ModelEvent, { type: "done" }>;

/** The tokens of a cache's creation are counted with the first answer that used it. */
function withWritten(done: Done, written: number): Done {
  const { usage } = done;
  return written === 0
    ? done
    : { ...done, usage: { ...usage, inputTokens: usage.inputTokens + written, cacheWriteTokens: usage.cacheWriteTokens + written } };
}

function overSdk(connection: Connection): Transport {
  async function client(fetcher: typeof fetch): Promise<GoogleGenAI> {
    const sdk = await import("@google/genai/web");
    const version = versionOf(connection);
    return new sdk.GoogleGenAI({
      apiKey: connection.key ?? "",
      vertexai: false,
      // The SDK adds the API version itself, unless the address contains one. It does not retry by default.
      httpOptions: { baseUrl: hostRoot(connection), fetch: fetcher, ...(version === undefined ? {} : { apiVersion: version }) },
    });
  }
  return {
    async open({ request, cached, continuationToken }, fetcher, signal) {
      const config: GenerateContentConfig = {
        ...request.generation,
        ...(cached === null ? request.prefix : { cachedContent: cached }),
        abortSignal: signal,
        // gemini-answer.ts continues a truncated answer, so that both modes do it alike.
        automaticContinuation: false,
        ...(continuationToken === undefined ? {} : { continuationToken }),
      };
      return (await client(checkedItems(fetcher))).models.generateContentStream({
        model: request.model,
        contents: request.contents,
        config,
      });
    },
    async *listModels(signal) {
      const pager = await (await client(boundedFetch(connection.fetch))).models.list({ config: { pageSize: 100, abortSignal: signal } });
      for await (const { name, displayName, inputTokenLimit, supportedActions } of pager)
        yield { name, displayName, inputTokenLimit, actions: supportedActions };
    },
  };
}

/** The SDK supports only events with one `data` line and items that it expects, so it gets those that `readWire` has read. */
function checkedItems(inner: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, init);
    if (!response.ok) return response;
    const items = readWire<GeminiChunk>(response, wire);
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await items.next();
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(`data: ${JSON.stringify(value)}\n\n`));
      },
      async cancel() {
        await items.return(undefined);
      },
    });
    return new Response(body, { status: response.status, headers: response.headers });
  };
}

function overRest(connection: Connection): Transport {
  const root = apiRoot(connection);
  const headers = keyHeader(connection);
  return {
    async open({ request, cached, continuationToken }, fetcher, signal) {
      const body = {
        contents: request.contents,
        ...(cached === null ? request.prefix : { cachedContent: cached }),
        generationConfig: request.generation,
        ...(continuationToken === undefined ? {} : { continuationToken }),
      };
      const url = `${root}/models/${encodeURIComponent(request.model)}:streamGenerateContent?alt=sse`;
      return readWire(await openStream(fetcher, { url, headers, body, signal }), wire);
    },
    async *listModels(signal) {
      const bounded = boundedFetch(connection.fetch);
      for (let token = ""; ; ) {
        const url = `${root}/models?pageSize=100${token === "" ? "" : `&pageToken=${encodeURIComponent(token)}`}`;
        const page = await askJson(bounded, { url, headers, signal });
        for (const model of Array.isArray(page["models"]) ? page["models"] : [])
          if (isRecord(model)) {
            const actions = model["supportedGenerationMethods"];
            yield { ...(model as ListedModel), actions: Array.isArray(actions) ? actions.map(String) : undefined };
          }
        if (typeof page["nextPageToken"] !== "string" || page["nextPageToken"] === "") return;
        token = page["nextPageToken"];
      }
    },
  };
}

const wire: WireFormat = {
  schema: geminiItem,
  failure({ error }) {
    if (!isRecord(error)) return null;
    const { code } = error;
    if (typeof code === "number" && code >= 400) return new StatusError(code, { error });
    return new ReportedError(asText(error["status"], "server_error"), asText(error["message"], ""));
  },
};
