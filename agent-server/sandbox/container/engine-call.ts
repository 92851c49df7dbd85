import { LancelotError } from "../../contract/errors.ts";

/** How long the engine may take for a call that is quick when it is well, ms. */
export const callWithin = 10_000;

/** Status of an engine's refusal; null when it did not answer at all. */
export function statusOf(error: unknown): number | null {
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === "number" ? status : null;
}

/** The engine's own words for a refusal, one line without its prefix. */
export function engineMessage(error: unknown): string {
  const json = (error as { json?: { message?: unknown } } | null)?.json;
  const words = typeof json?.message === "string" ? json.message : error instanceof Error ? error.message : String(error);
  return (words.split("\n")[0] ?? "")
    .replace(/^\(HTTP code \d+\) [^-]*- /, "")
    .trim()
    .slice(0, 300);
}

/** Thrown when the engine did not answer in time or its connection broke: nothing is known about what was asked. */
export class EngineSilent extends Error {}

/**
 * One call of the engine, with an end: an engine that hangs or goes away is an error, never a wait without end.
 * What streams may not be given the signal: it would end with the call.
 * @throws EngineSilent when there was no answer; what the engine refused is thrown as dockerode does, with `statusCode`.
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

/** The same error as what the owner reads when a command cannot be run here. */
export function unavailable(message: string, cause?: unknown): LancelotError {
  return new LancelotError("unavailable", message, cause === undefined ? {} : { cause });
}

/** What an engine names containers and commands by. */
export const isId = (id: unknown): id is string => typeof id === "string" && /^[0-9a-f]{12,128}$/i.test(id);
