import type { ProviderKind } from "../../contract/models.ts";
import { LancelotError } from "../../contract/errors.ts";

/** Time limits of one attempt (ms). */
export interface Limits {
  /** Until the first token of text or reasoning. */
  firstTokenMs: number;
  /** Between tokens. */
  idleMs: number;
  /** For the whole attempt. */
  totalMs: number;
  /** Between reports that the first token has not arrived. */
  progressMs: number;
}

/** Limit for a server that sends keep-alives but no token. */
const firstTokenCapMs = 900_000;

/** Aborts its signal after too long a silence, or when the whole answer takes too long. */
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
      // `refresh` is cheap, and this is called for every chunk of a stream.
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
      const data = { provider: about.displayName, model: about.model, reason: "timeout", action: "choose_model" };
      if (over) {
        const message = `${about.displayName} did not finish within ${formatDuration(totalMs)}. Resume to continue, or choose another model.`;
        // A second attempt would most likely end the same way.
        return new LancelotError("unavailable", message, { data: { ...data, retryable: false } });
      }
      const message = began
        ? `${about.displayName} stopped responding for ${formatDuration(idleMs)} during an answer.`
        : `${about.displayName} did not respond within ${formatDuration(firstTokenMs)}. Check that its server is not busy or stuck, or choose another model.`;
      return new LancelotError("unavailable", message, { data: { ...data, retryable: about.kind !== "local" } });
    },
  };
}

function formatDuration(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  return seconds >= 180 ? `${Math.round(seconds / 60)} minutes` : `${seconds} s`;
}
