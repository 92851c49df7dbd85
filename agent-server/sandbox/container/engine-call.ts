import { LancelotError } from "../../contract/errors.ts";

/** Timeout for engine calls that are normally fast, ms. On a busy machine they take seconds. */
export const callWithin = 30_000;

/** HTTP status of the engine's error; null when it did not respond. */
export function statusOf(error: unknown): number | null {
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === "number" ? status : null;
}

/** The engine's error message on one line, without its prefix. */
export function engineMessage(error: unknown): string {
  const json = (error as { json?: { message?: unknown } } | null)?.json;
  const words = typeof json?.message === "string" ? json.message : error instanceof Error ? error.message : String(error);
  return (words.split("\n")[0] ?? "")
    .replace(/^\(HTTP code \d+\) [^-]*- /, "")
    .trim()
    .slice(0, 300);
}

/** Thrown when the engine did not respond in time or its connection broke: the outcome of the call is unknown. */
export class EngineSilent extends Error {}

/**
 * Calls the engine with a timeout, so that an unresponsive engine causes an error and no endless wait.
 * Streaming calls must not use the signal, because it ends with the call.
 * @throws EngineSilent without a response; dockerode's error with `statusCode` when the engine rejects the call.
 */
export async function ask<T>(call: (abortSignal: AbortSignal) => Promise<T>, ms: number = callWithin, signal?: AbortSignal): Promise<T> {
  const stop = new AbortController();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const give = (why: string) => {
    reject(new EngineSilent(why));
    stop.abort();
  };
  const stopped = () => give("The call was stopped.");
  const clock = setTimeout(() => give(`The container engine did not answer within ${Math.round(ms / 1000)} s.`), ms);
  if (signal?.aborted) stopped();
  signal?.addEventListener("abort", stopped, { once: true });
  try {
    return await Promise.race([late, call(stop.signal)]);
  } catch (error) {
    if (error instanceof EngineSilent || error instanceof LancelotError || statusOf(error) !== null) throw error;
    throw new EngineSilent(engineMessage(error), { cause: error });
  } finally {
    clearTimeout(clock);
    signal?.removeEventListener("abort", stopped);
  }
}

/** Error with a message for the user, when a command cannot run here. */
export function unavailable(message: string, cause?: unknown): LancelotError {
  return new LancelotError("unavailable", message, cause === undefined ? {} : { cause });
}

/** Format of container and command ids. */
export const isId = (id: unknown): id is string => typeof id === "string" && /^[0-9a-f]{12,128}$/i.test(id);
