const delays = [1000, 2000, 4000, 8000, 16_000, 30_000] as const;

/** A host that ran this long (ms) resets the count of quick failures. */
const steadyMs = 60_000;
const quickFailures = 5;

export interface Backoff {
  /**
   * Records that the host ended.
   * @param livedMs time that it was ready; 0 for never
   * @returns milliseconds to wait before the next start; null to give up
   */
  next(livedMs: number): number | null;
  reset(): void;
}

/** Waits 1, 2, 4 … 30 s between restarts and gives up after five failures in quick succession. */
export function createBackoff(): Backoff {
  let failures = 0;
  return {
    next(livedMs) {
      if (livedMs >= steadyMs) failures = 0;
      failures += 1;
      if (failures > quickFailures) return null;
      return delays[Math.min(failures, delays.length) - 1] ?? null;
    },
    reset() {
      failures = 0;
    },
  };
}
