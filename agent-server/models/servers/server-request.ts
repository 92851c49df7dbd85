import type * as z from "zod";

/** Requests JSON of a shape from a server: GET, or POST with a body. Null for any other response, or none in time. */
export type Ask = <T>(path: string, shape: z.ZodType<T>, body?: unknown) => Promise<T | null>;

/** Characters; longer than any list of models. */
const longest = 4_000_000;

/** @param fetch reaches only the origin */
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
      // No server, a different one, or one that is too slow.
      return null;
    }
  };
}

/** The body; null when it exceeds the limit. */
export async function readText(response: Response): Promise<string | null> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(piece, { stream: true });
    // Leaving the loop closes the connection.
    if (text.length > longest) return null;
  }
  return text + decoder.decode();
}
