import { LancelotError } from "../../contract/errors.ts";

/** The last problem with the model, for the user. */
export interface LocalProblem {
  problem: string;
  nextStep: string | null;
  /** Requests fail at once until the next attempt is allowed. */
  held: boolean;
}

/** After so many crashes in a row, requests fail for a while instead of restarting the process. */
const crashesHeld = 3;
const firstHoldMs = 30_000;
const longestHoldMs = 600_000;

/**
 * Remembers the last failure until the model is loaded again. Requests for a model that cannot be loaded or crashes repeatedly fail at once,
 * for half a minute at first and twice as long each time, or until something else is to be loaded.
 */
export function createFailureBackoff(deps: { onChange: () => void; now?: () => number }) {
  const now = deps.now ?? Date.now;
  let last: { error: LancelotError; key: string; until: number } | null = null;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;

  function hold(): number {
    const ms = Math.min(firstHoldMs * 2 ** Math.max(0, failures - crashesHeld), longestHoldMs);
    clearTimeout(timer);
    timer = setTimeout(deps.onChange, ms);
    timer.unref();
    return now() + ms;
  }

  return {
    /** @param key identifies model and settings: another key clears the failure */
    failed(error: LancelotError, key: string): void {
      const retryable = error.data?.["retryable"] === true;
      failures = retryable ? failures + 1 : Math.max(failures + 1, crashesHeld);
      last = { error, key, until: failures >= crashesHeld ? hold() : 0 };
    },
    /** Clears the problem after a load. Crashes are counted until an answer is complete. */
    loaded(): void {
      last = null;
    },
    answered(): void {
      failures = 0;
      last = null;
    },
    /** The user tries again. */
    release(): void {
      if (last !== null) last.until = 0;
    },
    now(key: string): LocalProblem | null {
      return last === null || last.key !== key ? null : { ...localProblemOf(last.error), held: now() < last.until };
    },
    close: () => clearTimeout(timer),
  };
}

/** Splits an error into problem and next step. */
export function localProblemOf(error: unknown): LocalProblem {
  if (!(error instanceof LancelotError)) return { problem: "It failed. See the log for details.", nextStep: "Try again.", held: false };
  const next = error.data?.["next"];
  const nextStep = typeof next === "string" ? next : null;
  const { message } = error;
  const problem = nextStep !== null && message.endsWith(nextStep) ? message.slice(0, -nextStep.length).trimEnd() : message;
  return { problem, nextStep, held: false };
}
