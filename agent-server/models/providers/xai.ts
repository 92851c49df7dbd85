import { createAnswerMeter } from "../answer-limits.ts";
import type { ModelEvent } from "../request.ts";
import { watchFetch } from "./connection.ts";
import type { Connection } from "./types.ts";
import { mapErrors } from "./error-mapping.ts";
import { answerByChat } from "./openai-chat.ts";
import { readAnswer } from "./openai-responses-answer.ts";
import { optionalParts, toBody } from "./openai-responses-request.ts";
import { listOpenAIModels, openAITransport } from "./openai-transport.ts";
import type { Provider } from "./types.ts";
import { withoutRefused } from "./server-memory.ts";
import { bareAnswer } from "./response-schema.ts";

/** The error of an address without the Responses API; that of an unknown model differs. */
const parts = { responses: { says: /^(404|405|501)\b(?!.*\bmodel\b)/i }, ...optionalParts };

/**
 * xAI through its Responses API without storage, the only one that returns reasoning for replay. A server with chat completions only is detected
 * and remembered.
 */
export function createXai(connection: Connection): Provider {
  const transport = openAITransport(connection);
  return {
    stream(request, call, signal) {
      const watched = watchFetch(connection.fetch, call.onActivity);
      const events = async function* (): AsyncGenerator<ModelEvent> {
        const answer = await withoutRefused(connection, call.model, parts, async (may) =>
          may("responses")
            ? readAnswer(
                await transport.responses(toBody(request, call, connection.kind, may), watched.fetch, signal),
                connection.kind,
                call.meter ?? createAnswerMeter(),
              )
            : await answerByChat(connection, transport, request, call, watched.fetch, signal),
        );
        yield* bareAnswer(answer, request);
      };
      return mapErrors(events, { connection, model: call.model, signal, retryAfterMs: watched.retryAfterMs });
    },
    listModels: (signal) => listOpenAIModels(connection, signal),
  };
}
