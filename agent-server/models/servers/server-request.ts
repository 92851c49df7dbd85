import type * as z from "zod";

/** Asks a server for JSON of a shape: by GET, or by POST of a body. Null for anything else that comes, or nothing in time. */
export type Ask = <T>(path: string, shape: z.ZodType<T>, body?: unknown) => Promise<T | null>;

/** Characters; no list of models is longer. */
const longest = 4_000_000;

/** @param fetch reaches the origin and nothing else */
export function createAsk(origin: string, fetch: typeof globalThis.fetch, signal: AbortSignal): Ask {
  return async (path, shape, body) => {
    try {
      const response = await fetch(`${origin}${path}`, {
        signal,
        redirect: "error",
        headers: { accept: "application/json", ...(body !== undefined && { "content-type": "application/json" }) },
        ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
      });
      const text = await readText(response);
      if (!response.ok || text === null) return null;
      const parsed = shape.safeParse(JSON.parse(text));
      return parsed.success ? parsed.data : null;
    } catch {
      // Nobody there, somebody else, or too slow: no server that could be used.
      return null;
    }
  };
}

/** The body; null when it is longer than anything that is asked for. */
export async function readText(response: Response): Promise<string | null> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(piece, { stream: true });
    // Leaving the loop ends the connection.
    if (text.length > longest) return null;
  }
  return text + decoder.decode();
}
