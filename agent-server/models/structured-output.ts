import * as z from "zod";
import { LancelotError } from "../contract/errors.ts";
import type { ModelEvent, ModelRequest } from "./request.ts";

type StructuredRequest = ModelRequest & { responseSchema: NonNullable<ModelRequest["responseSchema"]> };

export function isStructured(request: ModelRequest): request is StructuredRequest {
  return request.responseSchema !== undefined;
}

/**
 * Streams an answer and checks it against the request's schema. An invalid answer is discarded with a `retry` event and requested once
 * more with the problem. Answers that call tools are not final and pass unchecked.
 * @throws LancelotError `unavailable`, `data.reason: "answer"`, when the second answer is invalid too
 */
export async function* checkedAnswer(
  request: StructuredRequest,
  ask: (request: ModelRequest) => Promise<AsyncIterable<ModelEvent>>,
): AsyncGenerator<ModelEvent> {
  const schema = readSchema(request.responseSchema.schema);
  let asked: ModelRequest = request;
  for (let attempt = 1; ; attempt++) {
    let problem: string | null = null;
    let text = "";
    for await (const event of await ask(asked)) {
      if (event.type === "done" && event.stop !== "refused" && !event.content.some((part) => part.type === "tool_call")) {
        text = event.content.map((part) => (part.type === "text" ? part.text : "")).join("");
        ({ problem } = checkJson(text, schema));
        if (problem !== null) break;
      }
      yield event;
    }
    if (problem === null) return;
    const message = `The answer does not match the requested format: ${problem}`;
    if (attempt > 1)
      throw new LancelotError("unavailable", message, { data: { reason: "answer", retryable: false, action: "choose_model" } });
    yield { type: "retry", attempt: 2, delayMs: 0, reason: message };
    asked = withCorrection(request, text, problem);
  }
}

/** @throws LancelotError `invalid_params` for an invalid JSON Schema */
export function readSchema(schema: Record<string, unknown>): z.ZodType {
  try {
    return z.fromJSONSchema(schema);
  } catch (cause) {
    throw new LancelotError("invalid_params", "The JSON Schema of the answer is invalid.", { cause });
  }
}

/** Parses an answer and checks it against its schema. `problem` is null for a valid one. */
export function checkJson(text: string, schema: z.ZodType): { value: unknown; problem: string | null } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { value: null, problem: "it is not JSON." };
  }
  const parsed = schema.safeParse(value);
  return parsed.success
    ? { value: parsed.data, problem: null }
    : { value: null, problem: `${z.prettifyError(parsed.error).slice(0, 500)}.` };
}

/** Characters of an invalid answer that its correction repeats. */
const correctedCharacters = 20_000;

/** The request again, followed by the invalid answer and its problem. */
export function withCorrection<T extends StructuredRequest>(request: T, text: string, problem: string): T {
  const correction = `This does not match the schema ${request.responseSchema.name}: ${problem} Answer again with the JSON only.`;
  return {
    ...request,
    messages: [
      ...request.messages,
      { role: "assistant", content: [{ type: "text", text: text === "" ? "(nothing)" : text.slice(0, correctedCharacters) }] },
      { role: "user", content: [{ type: "text", text: correction }] },
    ],
  };
}
