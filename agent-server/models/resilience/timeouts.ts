import type { ProviderKind } from "../../contract/models.ts";
import { LancelotError } from "../../contract/errors.ts";

/** Limits of one try, in ms. */
export interface Limits {
  /** Silence allowed before the first words (or thoughts). */
  firstTokenMs: number;
  /** Silence allowed after them. */
  idleMs: number;
  /** The whole try, however much it says. */
  totalMs: number;
}

/** A server that only ever says that it lives does not answer. */
const firstTokenCapMs = 900_000;

/** Aborts its signal when nothing was heard for too long, or the answer takes too long as a whole. */
export function watchTimeouts(
  about: { provider: string; displayName: string; kind: ProviderKind; model: string; limits: Limits },
  hasToken: () => boolean,
) {
  const controller = new AbortController();
  const { firstTokenMs, idleMs, totalMs } = about.limits;
  let over = false;
  const expire = (): void => controller.abort();
  const cap = setTimeout(() => hasToken() || expire(), Math.max(firstTokenCapMs, firstTokenMs));
  const total = setTimeout(() => {
    over = true;
    expire();
  }, totalMs);
  let timer = setTimeout(expire, firstTokenMs);
  let limit = firstTokenMs;
  return {
    signal: controller.signal,
    heard: (): void => {
      if (controller.signal.aborted) return;
      const wanted = hasToken() ? idleMs : firstTokenMs;
      // `refresh` costs nothing, and this is called for every piece of a stream.
      if (wanted === limit) timer.refresh();
      else {
        clearTimeout(timer);
        timer = setTimeout(expire, wanted);
        limit = wanted;
      }
    },
    end: (): void => {
      clearTimeout(cap);
      clearTimeout(total);
      clearTimeout(timer);
      controller.abort();
    },
    error: (began: boolean): LancelotError => {
      const data = { provider: about.displayName, model: about.model, reason: "timeout" };
      if (over) {
        const message = `${about.displayName} was not done after ${inWords(totalMs)}, so it was stopped.`;
        // As long again would most likely end the same way.
        return new LancelotError("unavailable", message, { data: { ...data, retryable: false } });
      }
      const message = began
        ? `${about.displayName} fell silent for ${inWords(idleMs)} in the middle of an answer.`
        : `${about.displayName} did not begin to answer within ${inWords(firstTokenMs)}.`;
      return new LancelotError("unavailable", message, { data: { ...data, retryable: about.kind !== "local" } });
    },
  };
}

function inWords(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  return seconds >= 180 ? `${Math.round(seconds / 60)} minutes` : `${seconds} s`;
}
