/** A rate limit with a sliding window over accepted requests. */
export interface RateLimit {
  /** Null when accepted; else how many seconds to wait (at least 1). */
  take(nowMs: number): number | null;
}

/**
 * @param limit requests in each window
 * @param windowMs length of the window in milliseconds
 */
export function createRateLimit(limit: number, windowMs = 60_000): RateLimit {
  const times: number[] = [];
  return {
    take(nowMs) {
      while (times[0] !== undefined && times[0] <= nowMs - windowMs) times.shift();
      if (times.length >= limit) return Math.max(1, Math.ceil(((times[0] ?? nowMs) + windowMs - nowMs) / 1000));
      times.push(nowMs);
      return null;
    },
  };
}

/** `LANCELOT_RATE_LIMIT`: `60` or `60/60` (requests/seconds). @throws Error on anything else. */
export function parseRateLimit(text: string | undefined): { limit: number; windowMs: number } {
  if (text === undefined || text.trim() === "") return { limit: 60, windowMs: 60_000 };
  const found = /^(\d{1,7})(?:\s*\/\s*(\d{1,5})(?:\s*s)?)?$/.exec(text.trim());
  const limit = Number(found?.[1]);
  const seconds = Number(found?.[2] ?? 60);
  if (!found || limit < 1 || seconds < 1)
    throw new Error(`LANCELOT_RATE_LIMIT is "${text}"; write it as requests/seconds, for example 60/60.`);
  return { limit, windowMs: seconds * 1000 };
}
