import { LancelotError } from "../../agent-server/contract/errors.ts";
import type { HostState } from "../../agent-server/contract/webview.ts";
import type { Backoff } from "./backoff.ts";

/** One run of the agent host, from its answered handshake to its end. */
export interface Session {
  readonly pid: number | undefined;
  request(method: string, params: unknown, signal: AbortSignal | undefined): Promise<unknown>;
  /** Asks it to end, then makes it end. */
  stop(): Promise<void>;
  /** Resolves with the reason when the process is gone. */
  readonly ended: Promise<string>;
}

/** A start that failed in a way that another try will not mend; its message is for the owner. */
export class StartRefused extends Error {
  override readonly name = "StartRefused";
}

export interface SupervisorDeps {
  connect(signal: AbortSignal): Promise<Session>;
  backoff: Backoff;
  /** Calls back after `ms`; the returned function takes it back. */
  schedule(ms: number, run: () => void): () => void;
  now(): number;
  onState(state: HostState): void;
  words: {
    starting: string;
    stopped: string;
    restarting(reason: string, seconds: number): string;
    failed(reason: string): string;
  };
}

export interface Supervisor {
  readonly state: HostState;
  readonly pid: number | undefined;
  start(): void;
  /** Ends what runs and starts anew, whatever the state. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  /**
   * Sends a request to the running host; waits for one that is starting.
   * @throws LancelotError `unavailable` when there is none, `cancelled`; else what the host answered.
   */
  request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown>;
}

/** Keeps one agent host running: starts it, waits longer between starts that fail, and says how it is. */
export function createSupervisor(deps: SupervisorDeps): Supervisor {
  let state: HostState = { state: "stopped", detail: deps.words.stopped };
  let session: Session | null = null;
  /** Raised with each start and stop, so that what belongs to an earlier one is not taken for the present. */
  let generation = 0;
  let abort = new AbortController();
  let unschedule: (() => void) | null = null;
  const waiting = new Set<() => void>();

  const enter = (next: HostState) => {
    state = next;
    deps.onState(next);
    for (const wake of [...waiting]) wake();
  };

  const begin = async () => {
    unschedule = null;
    const mine = ++generation;
    abort = new AbortController();
    if (state.state !== "restarting") enter({ state: "starting", detail: deps.words.starting });
    let started: Session;
    try {
      started = await deps.connect(abort.signal);
    } catch (error) {
      if (mine !== generation) return;
      const reason = error instanceof Error ? error.message : String(error);
      if (error instanceof StartRefused) enter({ state: "failed", detail: reason });
      else again(reason, 0);
      return;
    }
    if (mine !== generation) {
      await started.stop();
      return;
    }
    session = started;
    const since = deps.now();
    enter({ state: "ready", detail: "" });
    const reason = await started.ended;
    if (mine !== generation) return;
    session = null;
    again(reason, deps.now() - since);
  };

  const again = (reason: string, livedMs: number) => {
    const delay = deps.backoff.next(livedMs);
    if (delay === null) {
      enter({ state: "failed", detail: deps.words.failed(reason) });
      return;
    }
    enter({ state: "restarting", detail: deps.words.restarting(reason, delay / 1000) });
    unschedule = deps.schedule(delay, () => void begin());
  };

  const end = async () => {
    generation += 1;
    unschedule?.();
    unschedule = null;
    abort.abort();
    const ending = session;
    session = null;
    await ending?.stop();
  };

  const changed = (signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        waiting.delete(wake);
        reject(new LancelotError("cancelled", "The call was cancelled."));
      };
      const wake = () => {
        waiting.delete(wake);
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      waiting.add(wake);
      signal?.addEventListener("abort", onAbort, { once: true });
    });

  return {
    get state() {
      return state;
    },
    get pid() {
      return session?.pid;
    },
    start() {
      if (state.state === "stopped") void begin();
    },
    async restart() {
      await end();
      deps.backoff.reset();
      state = { state: "stopped", detail: deps.words.stopped };
      void begin();
    },
    async stop() {
      await end();
      enter({ state: "stopped", detail: deps.words.stopped });
    },
    async request(method, params, signal) {
      for (;;) {
        if (session !== null) return session.request(method, params, signal);
        if (signal?.aborted === true) throw new LancelotError("cancelled", "The call was cancelled.");
        if (state.state === "failed" || state.state === "stopped") throw new LancelotError("unavailable", state.detail);
        await changed(signal);
      }
    },
  };
}
