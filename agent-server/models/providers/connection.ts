import { ReportedError, UnusableAnswerError } from "./stream-errors.ts";

/** Effectively no SDK timeout: resilience/timeouts.ts limits every call (ms). */
export const sdkTimeoutMs = 86_400_000;

export interface WatchedFetch {
  fetch: typeof fetch;
  /** Delay that the last rejection asked for (ms). */
  retryAfterMs: () => number | undefined;
}

/**
 * A `fetch` for a streamed answer: reports every chunk, keeps `Retry-After`, and rejects a response that is not a stream, such as the web page
 * of a proxy, or a JSON text.
 */
export function watchFetch(inner: typeof fetch, onActivity: (() => void) | undefined): WatchedFetch {
  let retryAfterMs: number | undefined;
  const watched: typeof fetch = async (input, init) => {
    const response = await inner(input, init);
    onActivity?.();
    if (!response.ok) {
      retryAfterMs = readRetryAfter(response.headers, Date.now());
      return withBody(response, await readBounded(response, maxErrorText));
    }
    const stream = await streamOf(response);
    if (stream === null || onActivity === undefined) return stream === response.body ? response : withBody(response, stream);
    const body = stream.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          onActivity();
          controller.enqueue(chunk);
        },
      }),
    );
    return withBody(response, body);
  };
  return { fetch: watched, retryAfterMs: () => retryAfterMs };
}

/** Characters of a response that are examined for its error. */
export const maxErrorText = 64_000;

/**
 * The stream of a response. Where the content type is a different one, the first bytes decide, since some servers mislabel streams.
 * @throws UnusableAnswerError, ReportedError for a response that is not a stream
 */
async function streamOf(response: Response): Promise<ReadableStream<Uint8Array> | null> {
  const { body } = response;
  if (body === null || (response.headers.get("content-type") ?? "").toLowerCase().includes("text/event-stream")) return body;
  const reader = body.getReader();
  const first = await reader.read();
  const rest = new ReadableStream<Uint8Array>({
    start(controller) {
      if (first.value !== undefined) controller.enqueue(first.value);
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  const beginning = new TextDecoder().decode(first.value).trimStart();
  // An empty body is a broken connection, which the reader of the stream detects.
  if (beginning === "" || /^(data|event|id|retry)?:/.test(beginning)) return rest;
  const text = await readBounded(withBody(response, rest), maxErrorText);
  if (beginning.startsWith("<")) throw new UnusableAnswerError("page");
  throw reportedIn(text) ?? new UnusableAnswerError("no_stream");
}

function withBody(response: Response, body: ReadableStream<Uint8Array> | string | null): Response {
  const hasNoBody = response.status === 204 || response.status === 205 || response.status === 304;
  return new Response(hasNoBody ? null : body, { status: response.status, statusText: response.statusText, headers: response.headers });
}

/** The error in a body with status 200, if it is one. */
function reportedIn(text: string): ReportedError | null {
  try {
    const body: unknown = JSON.parse(text);
    const error: unknown = typeof body === "object" && body !== null ? Reflect.get(body, "error") : undefined;
    if (typeof error === "string") return new ReportedError("server_error", error);
    if (typeof error !== "object" || error === null) return null;
    const [type, message]: unknown[] = [Reflect.get(error, "type") ?? Reflect.get(error, "code"), Reflect.get(error, "message")];
    return new ReportedError(typeof type === "string" ? type : "server_error", typeof message === "string" ? message : "");
  } catch {
    return null;
  }
}

/** Characters of a list of models, all of its pages together. */
const maxListText = 8_000_000;

/**
 * A `fetch` for lists of models, whose responses together have a limit.
 * @throws UnusableAnswerError
 */
export function boundedFetch(inner: typeof fetch): typeof fetch {
  let left = maxListText;
  return async (input, init) => {
    const response = await inner(input, init);
    const text = await readBounded(response, response.ok ? left : maxErrorText);
    // An empty page counts too, so that a list ends.
    left -= text.length + 10_000;
    if (left <= 0) throw new UnusableAnswerError("too_long");
    return withBody(response, text);
  };
}

/** The beginning of a body as text; the rest is not read. */
export async function readBounded(response: Response, length: number): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(piece, { stream: true });
    // Leaving the loop closes the connection.
    if (text.length >= length) break;
  }
  return text.slice(0, length);
}

/** Delay in ms of `retry-after-ms` or `Retry-After` (seconds or a date), if any. */
export function readRetryAfter(headers: Headers, now: number): number | undefined {
  const exact = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (Number.isFinite(exact)) return Math.max(0, exact);
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  const seconds = Number(text);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - now;
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}
