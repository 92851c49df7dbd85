import type { Approval } from "../contract/governance.ts";

/** How soon a host notices an answer that was given in another window, in ms; it looks only while something waits. */
const pollInterval = 500;

/** Those who wait for an answer to a question. */
export interface Waiting {
  /** Resolves when `ended` gives the question back. Aborting withdraws it. */
  readonly wait: (id: string, signal: AbortSignal) => Promise<Approval>;
  /** Looks at once, because the question was answered here. */
  readonly wake: (id: string) => void;
  readonly has: (id: string) => boolean;
}

/** `ended` looks whether a question has ended (null while it is open); what it throws ends the wait. */
export function createWaiting(deps: { ended: (id: string) => Approval | null; withdraw: (id: string) => void }): Waiting {
  const looks = new Map<string, Set<() => void>>();
  let poll: NodeJS.Timeout | null = null;

  const wake = (id: string): void => {
    for (const look of looks.get(id) ?? []) look();
  };

  return {
    wake,
    has: (id) => looks.has(id),
    wait: (id, signal) =>
      new Promise((resolve, reject) => {
        const attempt = (work: () => void): void => {
          try {
            work();
          } catch (error) {
            leave();
            reject(error instanceof Error ? error : new Error(String(error)));
          }
        };
        const look = (): void =>
          attempt(() => {
            const approval = deps.ended(id);
            if (approval === null) return;
            leave();
            resolve(approval);
          });
        const onAbort = (): void => {
          attempt(() => deps.withdraw(id));
          look();
        };
        const leave = (): void => {
          signal.removeEventListener("abort", onAbort);
          const mine = looks.get(id);
          mine?.delete(look);
          if (mine?.size === 0) looks.delete(id);
          if (looks.size > 0 || poll === null) return;
          clearInterval(poll);
          poll = null;
        };
        looks.set(id, (looks.get(id) ?? new Set()).add(look));
        signal.addEventListener("abort", onAbort, { once: true });
        poll ??= setInterval(() => {
          for (const each of looks.keys()) wake(each);
        }, pollInterval);
        if (signal.aborted) onAbort();
        else look();
      }),
  };
}
