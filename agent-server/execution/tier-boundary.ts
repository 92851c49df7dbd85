import { LancelotError } from "../contract/errors.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Untold } from "./verification-store.ts";
import type { Verifications } from "./verifications.ts";

/** How long (ms) an action of T2 or T3 waits for the verifications of what was done before it. */
export const boundaryTimeout = 10_000;

/**
 * Stands before every action of T2 and T3: what was done before is on the record and verified.
 * With `stop`, also nothing of the task failed its verification without the model knowing.
 * @throws LancelotError `unavailable` when that takes too long, `conflict` when something failed (the model is told by this, once,
 *   and may go on then), `cancelled` (signal).
 */
export type Boundary = (of: { questId: string | null; signal: AbortSignal; stop: boolean }) => Promise<void>;

export function createBoundary(deps: { ledger: Pick<Ledger, "flush">; verifications: Verifications; timeoutMs?: number }): Boundary {
  const { ledger, verifications } = deps;
  const timeoutMs = deps.timeoutMs ?? boundaryTimeout;
  return async ({ questId, signal, stop }) => {
    ledger.flush();
    if (!(await verifications.drain({ timeoutMs, questId, signal }))) {
      throw new LancelotError(
        "unavailable",
        `What was done before could not be verified within ${Math.round(timeoutMs / 1000)} seconds, so nothing more is done for now. Try again, or look at the files first.`,
      );
    }
    if (stop && questId !== null && verifications.hasFailed(questId)) {
      throw new LancelotError(
        "conflict",
        `${toldWords(verifications.take(questId))} This was not done. Look at the files, then decide how to go on.`,
      );
    }
  };
}

/** What became of earlier actions, for the model. */
export function toldWords(untold: readonly Untold[]): string {
  return untold.map(({ words }) => words).join("\n");
}
