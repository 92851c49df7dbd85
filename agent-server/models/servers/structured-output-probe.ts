import * as z from "zod";
import { readText } from "./server-request.ts";

/** Includes loading the model (ms). */
const timeoutMs = 30_000;

const Completion = z.object({ choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })).min(1) });
const Sample = z.strictObject({ city: z.string(), inhabitants: z.number() });

/**
 * Whether a model of a server supports JSON schemas. Some servers reject them, some templates fail, and some servers ignore them. Null when
 * unknown: no answer in time, or a different failure.
 */
export async function holdsSchema(
  url: string,
  model: string,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal,
): Promise<boolean | null> {
  const schema = {
    type: "object",
    properties: { city: { type: "string" }, inhabitants: { type: "integer" } },
    required: ["city", "inhabitants"],
    additionalProperties: false,
  };
  try {
    const response = await fetch(`${url}/chat/completions`, {
      method: "POST",
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model,
        messages: [{ role: "user", content: "Name a large city and how many people live there." }],
        max_tokens: 100,
        temperature: 0,
        response_format: { type: "json_schema", json_schema: { name: "city", strict: true, schema } },
      }),
    });
    const text = await readText(response);
    if (response.status === 400 || response.status === 422 || response.status === 501) return false;
    if (!response.ok || text === null) return null;
    const [choice] = Completion.parse(JSON.parse(text)).choices;
    return isSample(choice?.message.content ?? "");
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

function isSample(content: string): boolean {
  try {
    return Sample.safeParse(JSON.parse(content)).success;
  } catch {
    return false;
  }
}
