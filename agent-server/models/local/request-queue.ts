import { LancelotError } from "../../contract/errors.ts";

/** Runs the requests of one model one at a time, first in, first out. */
export interface RequestQueue {
  /**
   * Resolves when it is the caller's turn, with a function that ends the turn.
   * @throws LancelotError `cancelled` when the signal fires first, `rate_limited` when the queue is full
   */
  take(signal: AbortSignal): Promise<() => void>;
  /** Number of waiting requests. */
  waiting(): number;
}

/** @param maxWaiting number of requests that may wait */
export function createRequestQueue(maxWaiting: number): RequestQueue {
  const waiters: (() => void)[] = [];
  let taken = false;

  function turn(): () => void {
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const next = waiters.shift();
      if (next === undefined) taken = false;
      else next();
    };
  }

  return {
    waiting: () => waiters.length,
    take(signal) {
      if (signal.aborted) return Promise.reject(stopped());
      if (!taken) {
        taken = true;
        return Promise.resolve(turn());
      }
      if (waiters.length >= maxWaiting) {
        const message = `${maxWaiting} requests are already waiting for the local model. Try again when some of them are answered.`;
        return Promise.reject(new LancelotError("rate_limited", message, { data: { retryable: true, retryAfterMs: 5_000 } }));
      }
      return new Promise((resolve, reject) => {
        const begin = () => {
          signal.removeEventListener("abort", cancel);
          resolve(turn());
        };
        const cancel = () => {
          waiters.splice(waiters.indexOf(begin), 1);
          reject(stopped());
        };
        signal.addEventListener("abort", cancel, { once: true });
        waiters.push(begin);
      });
    },
  };
}

function stopped(): LancelotError {
  return new LancelotError("cancelled", "Stopped.");
}
