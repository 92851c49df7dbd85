import type { Approval } from "../contract/governance.ts";

/** Milliseconds between checks for answers given in another window; runs only while an approval is awaited. */
const pollInterval = 500;

/** The callers that wait for approvals. */
export interface ApprovalWaiters {
  /** Resolves with the ended approval. Aborting cancels it. */
  readonly wait: (id: string, signal: AbortSignal) => Promise<Approval>;
  /** Checks at once, because the approval was answered in this host. */
  readonly wake: (id: string) => void;
  readonly has: (id: string) => boolean;
}

/** `ended` returns the approval once it has ended, else null; an error it throws ends the wait. */
export function createApprovalWaiters(deps: { ended: (id: string) => Approval | null; cancel: (id: string) => void }): ApprovalWaiters {
  const checks = new Map<string, Set<() => void>>();
  let poll: NodeJS.Timeout | null = null;

  const wake = (id: string): void => {
    for (const check of checks.get(id) ?? []) check();
  };

  return {
    wake,
    has: (id) => checks.has(id),
    wait: (id, signal) =>
      new Promise((resolve, reject) => {
        const attempt = (work: () => void): void => {
          try {
            work();
          } catch (error) {
            stop();
            reject(error instanceof Error ? error : new Error(String(error)));
          }
        };
        const check = (): void =>
          attempt(() => {
            const approval = deps.ended(id);
            if (approval === null) return;
            stop();
            resolve(approval);
          });
        const onAbort = (): void => {
          attempt(() => deps.cancel(id));
          check();
        };
        const stop = (): void => {
          signal.removeEventListener("abort", onAbort);
          const mine = checks.get(id);
          mine?.delete(check);
          if (mine?.size === 0) checks.delete(id);
          if (checks.size > 0 || poll === null) return;
          clearInterval(poll);
          poll = null;
        };
        checks.set(id, (checks.get(id) ?? new Set()).add(check));
        signal.addEventListener("abort", onAbort, { once: true });
        poll ??= setInterval(() => {
          for (const each of checks.keys()) wake(each);
        }, pollInterval);
        if (signal.aborted) onAbort();
        else check();
      }),
  };
}
