import type { ProviderKind } from "../../contract/models.ts";

/** What a provider needs to know of its server. */
export interface Connection {
  readonly kind: ProviderKind;
  readonly displayName: string;
  readonly baseUrl: string;
  /** Null where the server needs none. */
  readonly key: string | null;
  /** Reaches the server's origin and nothing else. */
  readonly fetch: typeof fetch;
}

/** No SDK gives up by itself within a day: timeouts are the room's (ms). */
export const sdkTimeoutMs = 86_400_000;

export interface WatchedFetch {
  fetch: typeof fetch;
  /** Milliseconds the last refusal asked to wait. */
  retryAfterMs: () => number | undefined;
}

/** A `fetch` that tells of every piece of an answer as it comes, and keeps what `Retry-After` said. */
export function watchFetch(inner: typeof fetch, onActivity: (() => void) | undefined): WatchedFetch {
  let retryAfterMs: number | undefined;
  const watched: typeof fetch = async (input, init) => {
    const response = await inner(input, init);
    onActivity?.();
    if (!response.ok) retryAfterMs = readRetryAfter(response.headers, Date.now());
    if (response.body === null || onActivity === undefined || !response.ok) return response;
    const body = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          onActivity();
          controller.enqueue(chunk);
        },
      }),
    );
    return new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers });
  };
  return { fetch: watched, retryAfterMs: () => retryAfterMs };
}

/** Milliseconds that `retry-after-ms` or `Retry-After` (seconds or a date) asks to wait, if any. */
export function readRetryAfter(headers: Headers, now: number): number | undefined {
  const exact = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (Number.isFinite(exact)) return Math.max(0, exact);
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  const seconds = Number(text);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - now;
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}
