import { LancelotError } from "../../contract/errors.ts";

/** Coordinates writers of the workspace: many tools with declared writes at once, or one command that may write anywhere. */
export interface Turns {
  /** Runs together with other declared writers, never during a command. @throws LancelotError `cancelled` while waiting. */
  share<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  /** Waits for exclusive access and resolves with the function that ends it. @throws LancelotError `cancelled` while waiting. */
  alone(signal: AbortSignal): Promise<() => void>;
}

interface Waiting {
  readonly alone: boolean;
  readonly start: () => void;
}

/**
 * Read-write lock within this process. Shared holders overtake waiting commands: a shared holder may wait for a file lock of another
 * shared holder, so queuing it behind a waiting command could deadlock all three.
 */
export function createTurns(): Turns {
  let sharing = 0;
  let alone = false;
  const queue: Waiting[] = [];

  function admit(): void {
    if (alone) return;
    for (const one of queue.filter((waiting) => !waiting.alone)) {
      queue.splice(queue.indexOf(one), 1);
      sharing += 1;
      one.start();
    }
    const next = queue[0];
    if (sharing > 0 || next === undefined) return;
    queue.shift();
    alone = true;
    next.start();
  }

  async function enter(kind: Pick<Waiting, "alone">, signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw stopped();
    await new Promise<void>((resolve, reject) => {
      const waiting: Waiting = {
        alone: kind.alone,
        start: () => {
          signal.removeEventListener("abort", abort);
          resolve();
        },
      };
      const abort = (): void => {
        queue.splice(queue.indexOf(waiting), 1);
        reject(stopped());
      };
      signal.addEventListener("abort", abort, { once: true });
      queue.push(waiting);
      admit();
    });
  }

  return {
    async share(signal, work) {
      await enter({ alone: false }, signal);
      try {
        return await work();
      } finally {
        sharing -= 1;
        admit();
      }
    },

    async alone(signal) {
      await enter({ alone: true }, signal);
      let over = false;
      return () => {
        if (over) return;
        over = true;
        alone = false;
        admit();
      };
    },
  };
}

function stopped(): LancelotError {
  return new LancelotError("cancelled", "Stopped while waiting for a command to finish. Nothing was changed.");
}
