import { createAnswerMeter } from "../answer-limits.ts";
import type { ModelEvent, ModelRequest } from "../request.ts";
import { watchFetch } from "./connection.ts";
import type { Connection } from "./types.ts";
import { mapErrors } from "./error-mapping.ts";
import { readAnswer } from "./openai-chat-answer.ts";
import { optionalParts, toBody } from "./openai-chat-request.ts";
import { listOpenAIModels, openAITransport, type OpenAITransport } from "./openai-transport.ts";
import type { Provider, ProviderCall } from "./types.ts";
import { withoutRefused } from "./server-memory.ts";
import { bareAnswer } from "./response-schema.ts";

/** Every OpenAI-compatible server (Ollama, llama-server, LM Studio, vLLM, …) through chat completions. */
export function createOpenAIChat(connection: Connection): Provider {
  const transport = openAITransport(connection);
  return {
    stream(request, call, signal) {
      const watched = watchFetch(connection.fetch, call.onActivity);
      const events = async function* (): AsyncGenerator<ModelEvent> {
        const answer = await answerByChat(connection, transport, request, call, watched.fetch, signal);
        yield* bareAnswer(answer, request);
      };
      return mapErrors(events, { connection, model: call.model, signal, retryAfterMs: watched.retryAfterMs });
    },
    listModels: (signal) => listOpenAIModels(connection, signal),
  };
}

/** One answer by chat completions; resolves when the server has agreed to give it. */
export async function answerByChat(
  connection: Connection,
  transport: OpenAITransport,
  request: ModelRequest,
  call: ProviderCall,
  fetcher: typeof fetch,
  signal: AbortSignal,
): Promise<AsyncIterable<ModelEvent>> {
  // xAI routes a conversation to the machine that has its beginning by this header.
  const headers: Record<string, string> =
    connection.kind === "xai" && request.cacheKey !== undefined ? { "x-grok-conv-id": request.cacheKey } : {};
  const chunks = await withoutRefused(connection, call.model, optionalParts, (may) =>
    transport.chat(toBody(request, call, connection.kind, may), fetcher, signal, headers),
  );
  return readAnswer(chunks, connection.kind, call.meter ?? createAnswerMeter());
}
