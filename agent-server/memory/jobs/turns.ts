import { setImmediate } from "node:timers/promises";
import { LancelotError } from "../../contract/errors.ts";

/** What the work of a job is given: it calls `turn` between two batches. */
export interface JobTurns {
  readonly signal: AbortSignal;
  /**
   * Lets others have the event loop.
   * @throws LancelotError `cancelled` when the job is to stop, `conflict` when another window took it over.
   */
  turn(): Promise<void>;
}

/** @param renew keeps the job for this window; false when another one has it */
export function createTurns(signal: AbortSignal, renew: () => boolean): JobTurns {
  return {
    signal,
    turn: async () => {
      await setImmediate();
      if (signal.aborted) throw new LancelotError("cancelled", "It was stopped before its end and goes on the next time.");
      if (!renew()) throw new LancelotError("conflict", "Another window is at the jobs of this workspace.");
    },
  };
}

/** What came of a job: in words, and in numbers for its receipt. */
export interface JobResult {
  /** False when it ran to its end and found what must not be: it counts as failed then. */
  readonly ok: boolean;
  readonly detail: string;
  readonly facts: Readonly<Record<string, unknown>>;
}
