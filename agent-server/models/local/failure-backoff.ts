import { LancelotError } from "../../contract/errors.ts";

/** What went wrong with the model last, as the owner is told it. */
export interface Trouble {
  problem: string;
  nextStep: string | null;
  /** Until it is tried again requests are turned away at once. */
  held: boolean;
}

/** Crashes in a row after which the next request does not start the process again. */
const crashesHeld = 3;
const firstHoldMs = 30_000;
const longestHoldMs = 600_000;

/**
 * Remembers the last failure until the model is loaded again, and holds requests back from a model that cannot be loaded or ends again
 * and again: each would wait for the same failure. A hold ends after half a minute, doubling, or when what is loaded changes.
 */
export function createTroubles(deps: { onChange: () => void; now?: () => number }) {
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
    /** @param key what was loaded: a change of it makes the failure a thing of the past */
    failed(error: LancelotError, key: string): void {
      const retryable = error.data?.["retryable"] === true;
      failures = retryable ? failures + 1 : Math.max(failures + 1, crashesHeld);
      last = { error, key, until: failures >= crashesHeld ? hold() : 0 };
    },
    /** It was loaded: what was wrong is over, but a crash after it counts on until an answer came. */
    loaded(): void {
      last = null;
    },
    answered(): void {
      failures = 0;
      last = null;
    },
    /** The owner tries again. */
    release(): void {
      if (last !== null) last.until = 0;
    },
    now(key: string): Trouble | null {
      return last === null || last.key !== key ? null : { ...troubleOf(last.error), held: now() < last.until };
    },
    close: () => clearTimeout(timer),
  };
}

/** An error as problem and next step, apart. */
export function troubleOf(error: unknown): Trouble {
  if (!(error instanceof LancelotError)) return { problem: "It failed. The log says why.", nextStep: "Try again.", held: false };
  const next = error.data?.["next"];
  const nextStep = typeof next === "string" ? next : null;
  const { message } = error;
  const problem = nextStep !== null && message.endsWith(nextStep) ? message.slice(0, -nextStep.length).trimEnd() : message;
  return { problem, nextStep, held: false };
}
