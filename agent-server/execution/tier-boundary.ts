import { LancelotError } from "../contract/errors.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { UnreportedFailure } from "./verification-store.ts";
import type { Verifications } from "./verifications.ts";

/** How long (ms) an action of T2 or T3 waits for the verifications of earlier actions. */
export const boundaryTimeout = 10_000;

/**
 * Precedes every action of T2 and T3: earlier receipts are durable and earlier effects verified. With `stop`, the model must also
 * know of every failed verification of its quest.
 * @throws LancelotError `unavailable` when the verifications take too long; `conflict` when one failed, which informs the model, so the
 *   next try passes; `cancelled` (signal).
 */
export type TierBoundary = (of: { quest: string | null; signal: AbortSignal; stop: boolean }) => Promise<void>;

export function createTierBoundary(deps: {
  ledger: Pick<Ledger, "flush">;
  verifications: Verifications;
  timeoutMs?: number;
}): TierBoundary {
  const { ledger, verifications } = deps;
  const timeoutMs = deps.timeoutMs ?? boundaryTimeout;
  return async ({ quest, signal, stop }) => {
    ledger.flush();
    if (!(await verifications.drain({ timeoutMs, questId: quest, signal }))) {
      throw new LancelotError(
        "unavailable",
        `Earlier actions could not be verified within ${Math.round(timeoutMs / 1000)} seconds, so this action did not run. Try again, or check the files first.`,
      );
    }
    if (stop && quest !== null && verifications.hasFailed(quest)) {
      throw new LancelotError(
        "conflict",
        `${failureText(verifications.take(quest))} This action did not run. Check the files, then decide what to do.`,
      );
    }
  };
}

/** What verification found, for the model. */
export function failureText(failures: readonly UnreportedFailure[]): string {
  return failures.map(({ message }) => message).join("\n");
}
