import { maxErrorText, readBounded } from "./connection.ts";
import { StatusError, UnusableAnswerError } from "./stream-errors.ts";

interface RestRequest {
  url: string;
  headers: Record<string, string>;
  /** Sent as JSON by POST, unless `method` says otherwise; absent: GET. */
  body?: unknown;
  method?: "PATCH" | "DELETE";
  signal: AbortSignal;
}

/**
 * Requests a stream; resolves when the server begins its answer.
 * @throws StatusError when it rejects the request
 */
export function openStream(fetcher: typeof fetch, request: RestRequest): Promise<Response> {
  return send(fetcher, request, "text/event-stream");
}

/** Requests JSON. @throws StatusError, UnusableAnswerError */
export async function askJson(fetcher: typeof fetch, request: RestRequest): Promise<Record<string, unknown>> {
  const response = await send(fetcher, request, "application/json");
  const text = await response.text();
  try {
    const value: unknown = text === "" ? {} : JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new UnusableAnswerError(/^\s*</.test(text) ? "page" : "no_stream");
}

async function send(fetcher: typeof fetch, request: RestRequest, accept: string): Promise<Response> {
  const { url, headers, body, signal } = request;
  const response = await fetcher(url, {
    method: request.method ?? (body === undefined ? "GET" : "POST"),
    headers: { accept, ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal,
  });
  if (response.ok) return response;
  const text = await readBounded(response, maxErrorText);
  throw new StatusError(response.status, parsedOr(text));
}

function parsedOr(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    // Gemini wraps the error of a stream in an array.
    return Array.isArray(value) ? value[0] : value;
  } catch {
    return text;
  }
}
