import { createAnswerMeter } from "../answer-limits.ts";
import type { ModelEvent } from "../request.ts";
import { watchFetch } from "./connection.ts";
import type { Connection } from "./types.ts";
import { mapErrors } from "./error-mapping.ts";
import { readAnswer } from "./openai-responses-answer.ts";
import { optionalParts, toBody } from "./openai-responses-request.ts";
import { listOpenAIModels, openAITransport } from "./openai-transport.ts";
import type { Provider } from "./types.ts";
import { withoutRefused } from "./server-memory.ts";
import { bareAnswer } from "./response-schema.ts";

/** OpenAI through the Responses API without storage: reasoning is replayed from its encrypted content. */
export function createOpenAIResponses(connection: Connection): Provider {
  const transport = openAITransport(connection);
  return {
    stream(request, call, signal) {
      const watched = watchFetch(connection.fetch, call.onActivity);
      const events = async function* (): AsyncGenerator<ModelEvent> {
        const answer = await withoutRefused(connection, call.model, optionalParts, (may) =>
          transport.responses(toBody(request, call, connection.kind, may), watched.fetch, signal),
        );
        yield* bareAnswer(readAnswer(answer, connection.kind, call.meter ?? createAnswerMeter()), request);
      };
      return mapErrors(events, { connection, model: call.model, signal, retryAfterMs: watched.retryAfterMs });
    },
    listModels: (signal) => listOpenAIModels(connection, signal),
  };
}
