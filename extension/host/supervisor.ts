import { LancelotError } from "../../agent-server/contract/errors.ts";
import type { HostState } from "../../agent-server/contract/webview.ts";
import type { Backoff } from "./backoff.ts";

/** One run of the agent host, from a completed handshake to its end. */
export interface Session {
  readonly pid: number | undefined;
  request(method: string, params: unknown, signal: AbortSignal | undefined): Promise<unknown>;
  /** Shuts the process down, then kills it if it does not exit. */
  stop(): Promise<void>;
  /** Resolves with the reason when the process has ended. */
  readonly ended: Promise<string>;
}

/** A failed start that a retry cannot fix. Its message is for the user. */
export class StartRefused extends Error {
  override readonly name = "StartRefused";
}

export interface SupervisorDeps {
  connect(signal: AbortSignal): Promise<Session>;
  backoff: Backoff;
  /** Calls `run` after `ms`; the returned function cancels it. */
  schedule(ms: number, run: () => void): () => void;
  now(): number;
  onState(state: HostState): void;
  messages: {
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
  /** Stops the host if it runs, then starts it again. Of several calls at a time, the last one counts. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  /**
   * Sends a request to the host; waits while it starts.
   * @throws LancelotError `unavailable` without a host, `cancelled`, and the host's own errors.
   */
  request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown>;
}

/** Keeps one agent host running: starts it, restarts it with backoff, and reports its state. */
export function createSupervisor(deps: SupervisorDeps): Supervisor {
  let state: HostState = { state: "stopped", detail: deps.messages.stopped };
  let session: Session | null = null;
  /** Incremented with each start and stop, so that callbacks of an earlier run are ignored. */
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
    if (state.state !== "restarting") enter({ state: "starting", detail: deps.messages.starting });
    let started: Session;
    try {
      started = await deps.connect(abort.signal);
    } catch (error) {
      if (mine !== generation) return;
      const reason = error instanceof Error ? error.message : String(error);
      if (error instanceof StartRefused) enter({ state: "failed", detail: reason });
      else scheduleRestart(reason, 0);
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
    scheduleRestart(reason, deps.now() - since);
  };

  const scheduleRestart = (reason: string, livedMs: number) => {
    const delay = deps.backoff.next(livedMs);
    if (delay === null) {
      enter({ state: "failed", detail: deps.messages.failed(reason) });
      return;
    }
    enter({ state: "restarting", detail: deps.messages.restarting(reason, delay / 1000) });
    unschedule = deps.schedule(delay, () => void begin());
  };

  /** The end of the last sessions. The next one waits for it: two hosts of one editor would contend for the data folder. */
  let ending: Promise<unknown> = Promise.resolve();

  /** @returns false when another start or stop came in the meantime */
  const end = async (): Promise<boolean> => {
    generation += 1;
    const mine = generation;
    unschedule?.();
    unschedule = null;
    abort.abort();
    const last = session;
    session = null;
    ending = Promise.allSettled([ending, last?.stop()]);
    await ending;
    return mine === generation;
  };

  const changed = (signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        waiting.delete(wake);
        reject(new LancelotError("cancelled", "The request was canceled."));
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
      if (!(await end())) return;
      deps.backoff.reset();
      state = { state: "stopped", detail: deps.messages.stopped };
      void begin();
    },
    async stop() {
      if (await end()) enter({ state: "stopped", detail: deps.messages.stopped });
    },
    async request(method, params, signal) {
      for (;;) {
        if (session !== null) return session.request(method, params, signal);
        if (signal?.aborted === true) throw new LancelotError("cancelled", "The request was canceled.");
        if (state.state === "failed" || state.state === "stopped") throw new LancelotError("unavailable", state.detail);
        await changed(signal);
      }
    },
  };
}
