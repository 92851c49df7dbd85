/** The place of one run in the queue. */
export interface RunPlace {
  /** True when other runs come first. */
  readonly isQueued: boolean;
  /** Resolves when the run may start. Rejects with the reason of the signal when the run is stopped first. */
  ready(signal: AbortSignal): Promise<void>;
  /** The run waits for the user: its place is free for another one until it continues. */
  pause(): void;
  /** The run continues at once, even if that makes one too many for a while: its user has waited long enough. */
  continue(): void;
  /** Frees the place, and starts the next run. It may be called more than once. */
  leave(): void;
}

/** Lets at most so many runs of this host work at a time. Further ones start in the order in which they came. */
export interface RunQueue {
  /** @param of `bypass`: the run starts at once and takes no place, because it works for a run that has one */
  enter(of?: { bypass?: boolean }): RunPlace;
  /** Starts runs that wait, after the limit was raised. */
  refresh(): void;
}

/** @param limit how many runs may work at a time; read again whenever a place is asked for or gets free */
export function createRunQueue(limit: () => number): RunQueue {
  const waiting: { readonly start: () => void }[] = [];
  let working = 0;

  function startNext(): void {
    while (working < limit()) {
      const next = waiting.shift();
      if (next === undefined) return;
      working++;
      next.start();
    }
  }

  return {
    refresh: startNext,

    enter({ bypass = false } = {}) {
      if (bypass) return { isQueued: false, ready: () => Promise.resolve(), pause() {}, continue() {}, leave() {} };
      const started = Promise.withResolvers<void>();
      let state: "queued" | "working" | "paused" | "left" = "queued";
      const entry = {
        start: (): void => {
          state = "working";
          started.resolve();
        },
      };
      const free = (): void => {
        working--;
        startNext();
      };
      waiting.push(entry);
      startNext();
      const leave = (): void => {
        const before = state;
        state = "left";
        if (before === "queued") waiting.splice(waiting.indexOf(entry), 1);
        else if (before === "working") free();
      };
      return {
        get isQueued() {
          return state === "queued";
        },
        async ready(signal) {
          const stopped = Promise.withResolvers<never>();
          const stop = (): void => {
            leave();
            stopped.reject(signal.reason);
          };
          if (signal.aborted) {
            leave();
            throw signal.reason;
          }
          signal.addEventListener("abort", stop, { once: true });
          try {
            await Promise.race([started.promise, stopped.promise]);
          } finally {
            signal.removeEventListener("abort", stop);
          }
        },
        pause() {
          if (state !== "working") return;
          state = "paused";
          free();
        },
        continue() {
          if (state !== "paused") return;
          state = "working";
          working++;
        },
        leave,
      };
    },
  };
}
