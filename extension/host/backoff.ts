const delays = [1000, 2000, 4000, 8000, 16_000, 30_000] as const;

/** A host that lived this long (ms) is not part of a run of quick failures. */
const steadyMs = 60_000;
const quickFailures = 5;

export interface Backoff {
  /**
   * Told of an end of the host.
   * @param livedMs how long it had been ready; 0 when it never was
   * @returns milliseconds to wait before the next start; null when another try makes no sense
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
