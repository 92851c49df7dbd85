import { LancelotError } from "../../contract/errors.ts";

/** Requests of one model, one at a time in the order they came. */
export interface Turns {
  /**
   * Resolves when it is the caller's turn, with what ends it.
   * @throws LancelotError `cancelled` when the signal fires first, `rate_limited` when too many wait already.
   */
  take(signal: AbortSignal): Promise<() => void>;
  /** How many wait. */
  waiting(): number;
}

/** @param most how many may wait */
export function createTurns(most: number): Turns {
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
      if (waiters.length >= most) {
        const message = `${most} requests wait for the local model already. Try again when some of them are answered.`;
        return Promise.reject(new LancelotError("rate_limited", message, { data: { retryable: true, retryAfterMs: 5_000 } }));
      }
      return new Promise((resolve, reject) => {
        const begin = () => {
          signal.removeEventListener("abort", leave);
          resolve(turn());
        };
        const leave = () => {
          waiters.splice(waiters.indexOf(begin), 1);
          reject(stopped());
        };
        signal.addEventListener("abort", leave, { once: true });
        waiters.push(begin);
      });
    },
  };
}

function stopped(): LancelotError {
  return new LancelotError("cancelled", "Stopped.");
}
