import { setImmediate } from "node:timers/promises";
import { LancelotError } from "../../contract/errors.ts";

/** Yields for long jobs: they call `turn` between two batches. */
export interface JobYield {
  readonly signal: AbortSignal;
  /**
   * Lets other work of the event loop run.
   * @throws LancelotError `cancelled` when the job was stopped, `conflict` when another window took the lease
   */
  pause(): Promise<void>;
}

/** @param renew renews the lease of this window; false when another one has it */
export function createJobYield(signal: AbortSignal, renew: () => boolean): JobYield {
  return {
    signal,
    pause: async () => {
      await setImmediate();
      if (signal.aborted) throw new LancelotError("cancelled", "It was stopped and continues with the next run.");
      if (!renew()) throw new LancelotError("conflict", "Another window runs the jobs of this workspace.");
    },
  };
}

/** The result of a job: a message, and numbers for its receipt. */
export interface JobResult {
  /** False when the job finished and found a problem; the run then counts as failed. */
  readonly ok: boolean;
  readonly detail: string;
  readonly facts: Readonly<Record<string, unknown>>;
}
