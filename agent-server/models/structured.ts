import * as z from "zod";
import { LancelotError } from "../contract/errors.ts";
import type { ModelEvent, ModelRequest } from "./request.ts";

/**
 * The answer of `run`, checked against the request's schema where it has one. An answer that does not hold it is taken back, with
 * a `retry` event, and asked for once more with what was wrong. Answers that call tools are no final ones and pass.
 * @throws LancelotError `unavailable`, `data.reason: "answer"`, when the second one does not hold it either
 */
export async function* checkedAnswer(
  request: ModelRequest,
  run: (request: ModelRequest) => AsyncIterable<ModelEvent>,
): AsyncGenerator<ModelEvent> {
  if (request.responseSchema === undefined) return yield* run(request);
  const schema = readSchema(request.responseSchema.schema);
  let asked = request;
  for (let attempt = 1; ; attempt++) {
    let wrong: string | null = null;
    let text = "";
    for await (const event of run(asked)) {
      if (event.type === "done" && event.stop !== "refused" && !event.content.some((part) => part.type === "tool_call")) {
        text = event.content.map((part) => (part.type === "text" ? part.text : "")).join("");
        wrong = whatIsWrong(text, schema);
        if (wrong !== null) break;
      }
      yield event;
    }
    if (wrong === null) return;
    const words = `The answer is not what was asked for: ${wrong}`;
    if (attempt > 1)
      throw new LancelotError("unavailable", words, { data: { reason: "answer", retryable: false, action: "choose_model" } });
    yield { type: "retry", attempt: 2, delayMs: 0, reason: words };
    asked = {
      ...request,
      messages: [
        ...request.messages,
        { role: "assistant", content: [{ type: "text", text: text === "" ? "(nothing)" : text }] },
        {
          role: "user",
          content: [
            {
              type: "text",
              text: `This does not hold the schema ${request.responseSchema.name}: ${wrong} Answer again, with the JSON alone.`,
            },
          ],
        },
      ],
    };
  }
}

function readSchema(schema: Record<string, unknown>): z.ZodType {
  try {
    return z.fromJSONSchema(schema);
  } catch (cause) {
    throw new LancelotError("invalid_params", "The schema of the answer cannot be read.", { cause });
  }
}

function whatIsWrong(text: string, schema: z.ZodType): string | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "it is not JSON.";
  }
  const parsed = schema.safeParse(value);
  return parsed.success ? null : `${z.prettifyError(parsed.error).slice(0, 500)}.`;
}
