import type { Memory } from "./types.ts";

/** Milliseconds after the start, and between two checks. Jobs are due by the hour and by the day. */
const times = { first: 120_000, next: 600_000 };

/** Runs the maintenance jobs that are due, periodically, until it is closed. */
export function startMaintenance(memory: Pick<Memory, "maintain">): { close(): Promise<void> } {
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let timer = setTimeout(look, times.first).unref();

  function look(): void {
    running = memory.maintain(stop.signal).finally(() => {
      if (!stop.signal.aborted) timer = setTimeout(look, times.next).unref();
    });
  }

  return {
    async close() {
      clearTimeout(timer);
      stop.abort();
      await running;
    },
  };
}
