import { trimEnd } from "../../contract/trim-end.ts";
import type { Anthropic } from "@anthropic-ai/sdk";
import type { RawMessageStreamEvent } from "@anthropic-ai/sdk/resources/messages";
import { createAnswerMeter } from "../answer-limits.ts";
import type { ModelEvent } from "../request.ts";
import { readAnswer } from "./anthropic-answer.ts";
import { optionalParts, toRequest, type AnthropicRequest } from "./anthropic-request.ts";
import { boundedFetch, sdkTimeoutMs, watchFetch } from "./connection.ts";
import type { Connection } from "./types.ts";
import { mapError, mapErrors } from "./error-mapping.ts";
import { ReportedError } from "./stream-errors.ts";
import type { Provider } from "./types.ts";
import { asText, isRecord } from "./is-record.ts";
import { askJson, openStream } from "./rest.ts";
import { withoutRefused } from "./server-memory.ts";
import { bareAnswer } from "./response-schema.ts";
import { readWire, type WireFormat } from "./wire-events.ts";
import { anthropicItem } from "./wire-formats.ts";

/** The transport of a mode. */
interface Transport {
  /** Resolves when the server begins its answer. */
  open(request: AnthropicRequest, fetcher: typeof fetch, signal: AbortSignal): Promise<AsyncIterable<RawMessageStreamEvent>>;
  listModels(signal: AbortSignal): AsyncIterable<ListedModel>;
}

interface ListedModel {
  id: string;
  display_name: string;
  max_input_tokens: number | null;
  lifecycle?: string | null;
}

/** Claude through the Messages API. */
export function createAnthropic(connection: Connection): Provider {
  const transport = connection.mode === "api" ? overRest(connection) : overSdk(connection);
  return {
    stream(request, call, signal) {
      const watched = watchFetch(connection.fetch, call.onActivity);
      const events = async function* (): AsyncGenerator<ModelEvent> {
        const { answer, answerTool } = await withoutRefused(connection, call.model, optionalParts, async (may) => {
          const built = toRequest(request, call, may);
          return { answer: await transport.open(built, watched.fetch, signal), answerTool: built.answerTool };
        });
        yield* bareAnswer(readAnswer(answer, call.meter ?? createAnswerMeter()), request, answerTool);
      };
      return mapErrors(events, { connection, model: call.model, signal, retryAfterMs: watched.retryAfterMs });
    },
    async listModels(signal) {
      try {
        const found = [];
        for await (const model of transport.listModels(signal))
          if (model.lifecycle !== "retired")
            found.push({ model: model.id, displayName: model.display_name, contextWindow: model.max_input_tokens });
        return found;
      } catch (cause) {
        throw mapError(cause, { connection, model: "", signal });
      }
    },
  };
}

/** The SDK adds /v1 itself; users enter the address with or without it. */
function rootOf(connection: Connection): string {
  return trimEnd(connection.baseUrl, "/").replace(/\/v1$/, "");
}

function overSdk(connection: Connection): Transport {
  async function client(fetcher: typeof fetch): Promise<Anthropic> {
    const sdk = await import("@anthropic-ai/sdk");
    return new sdk.Anthropic({
      apiKey: connection.key,
      authToken: null,
      baseURL: rootOf(connection),
      fetch: fetcher,
      maxRetries: 0,
      timeout: sdkTimeoutMs,
      logLevel: "off",
      openTelemetry: false,
    });
  }
  return {
    async open({ body, headers }, fetcher, signal) {
      return readItems(await (await client(fetcher)).messages.create(body, { signal, headers }).asResponse());
    },
    async *listModels(signal) {
      for await (const model of (await client(boundedFetch(connection.fetch))).models.list({ limit: 100 }, { signal }))
        yield { ...model, max_input_tokens: model.max_input_tokens ?? null };
    },
  };
}

/** The API version of the SDK, so that both modes get the same answers. */
const apiVersion = "2026-10-21";

function overRest(connection: Connection): Transport {
  const fixed = { "anthropic-version": apiVersion, ...(connection.key === null ? {} : { "x-api-key": connection.key }) };
  return {
    async open({ body, headers }, fetcher, signal) {
      const url = `${rootOf(connection)}/v1/messages`;
      return readItems(await openStream(fetcher, { url, headers: { ...fixed, ...headers }, body, signal }));
    },
    async *listModels(signal) {
      const bounded = boundedFetch(connection.fetch);
      for (let after: string | null = null; ; ) {
        const url = `${rootOf(connection)}/v1/models?limit=100${after === null ? "" : `&after_id=${encodeURIComponent(after)}`}`;
        const page = await askJson(bounded, { url, headers: fixed, signal });
        const models: ListedModel[] = Array.isArray(page["data"]) ? page["data"].flatMap(toListed) : [];
        yield* models;
        after = page["has_more"] === true ? (models.at(-1)?.id ?? null) : null;
        if (after === null) return;
      }
    },
  };
}

const wire: WireFormat = {
  schema: anthropicItem,
  failure(value, name) {
    if (name !== "error" && value["type"] !== "error") return null;
    const error = isRecord(value["error"]) ? value["error"] : value;
    return new ReportedError(asText(error["type"], "api_error"), asText(error["message"], ""));
  },
};

function readItems(response: Response): AsyncIterable<RawMessageStreamEvent> {
  return readWire<RawMessageStreamEvent>(response, wire);
}

function toListed(model: unknown): ListedModel[] {
  if (!isRecord(model) || typeof model["id"] !== "string") return [];
  const { id, display_name, max_input_tokens, lifecycle } = model;
  return [
    {
      id,
      display_name: typeof display_name === "string" ? display_name : id,
      max_input_tokens: typeof max_input_tokens === "number" ? max_input_tokens : null,
      lifecycle: typeof lifecycle === "string" ? lifecycle : null,
    },
  ];
}
