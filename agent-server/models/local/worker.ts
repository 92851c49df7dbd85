import { setTimeout as delay } from "node:timers/promises";
import type * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { createRequestQueue } from "./request-queue.ts";
import { startWorkerChild, type WorkerChild, type WorkerExit } from "./worker-child.ts";
import { ControlReply, type LoadReply, type LoadRequest, type WorkerReply } from "./worker-protocol.ts";

export interface WorkerDeps<Load extends LoadRequest, Loaded extends LoadReply, Reply extends WorkerReply> {
  /** The file to run. */
  entry: string;
  env: Readonly<Record<string, string | undefined>>;
  /** What to load, requested again for each request: a different answer restarts the process. @throws LancelotError */
  load: (signal: AbortSignal) => Load | Promise<Load>;
  loaded: z.ZodType<Loaded>;
  reply: z.ZodType<Reply>;
  /** Whether a reply is the last of its request. */
  isLast: (reply: Reply) => boolean;
  /** The user's errors for a process that ended and for a model that could not be loaded. */
  exitError: (exit: WorkerExit, retryAfterMs: number) => LancelotError;
  loadError: (message: string) => LancelotError;
  /** Unload after so long without a request (ms). */
  idleMs: number;
  /** Delay before a restart after a crash; doubles with each in a row (ms). */
  backoffMs: number;
  /** A process that leaves so many pings in a row unanswered hangs. */
  watch?: { everyMs: number; misses: number } | undefined;
  /** How long an aborted request may take to end before its process counts as hung (ms). */
  abortMs: number;
  /** Requests that may wait. */
  maxQueued?: number | undefined;
  /** `error`: why it could not be loaded or crashed; null otherwise. */
  onChange: (state: "loading" | "loaded" | "unloaded", error: LancelotError | null) => void;
}

/** A child process that holds one model: started by the first request, one request at a time, restarted by the next request after a crash. */
export interface Worker<Load, Loaded, Request, Reply> {
  /** Starts and loads if necessary. @throws LancelotError */
  ready(signal: AbortSignal): Promise<Loaded>;
  /** Waits for its turn, then streams the replies. @throws LancelotError, `data.retryable` after a crash */
  request(request: Request, signal: AbortSignal): AsyncGenerator<Reply, void>;
  /** The loaded model; null without one. */
  loaded(): { load: Load; report: Loaded } | null;
  /** How long until a crashed process may be started again (ms); 0 at once. */
  restartDelayMs(): number;
  /** Time since the last request (ms); 0 during one. */
  idleMs(): number;
  queued(): number;
  pid(): number | undefined;
  /** Ends the process and its request; the next request starts it again. */
  unload(): Promise<void>;
  close(): Promise<void>;
}

type Message<Loaded, Reply> =
  | { kind: "loaded"; loaded: Loaded }
  | { kind: "reply"; reply: Reply }
  | { kind: "control"; control: ControlReply };

interface Running<Load, Loaded, Reply> {
  child: WorkerChild<Message<Loaded, Reply>>;
  load: Load;
  loaded: Promise<Loaded>;
  report: Loaded | null;
}

const maxBackoffMs = 30_000;
/** The event loop of a worker is free while the library computes, but not while it prepares a chat template or a GPU (seconds). */
const defaultWatch = { everyMs: 5_000, misses: 6 };

export function createWorker<
  Load extends LoadRequest,
  Loaded extends LoadReply,
  Reply extends WorkerReply,
  Request extends { type: string },
>(deps: WorkerDeps<Load, Loaded, Reply>): Worker<Load, Loaded, Request, Reply> {
  const queue = createRequestQueue(deps.maxQueued ?? 32);
  const closing = new AbortController();
  let current: Running<Load, Loaded, Reply> | undefined;
  let active = 0;
  let crashes = 0;
  let lastCrash = 0;
  let nextId = 1;
  let lastUsed = Date.now();
  let idleTimer: NodeJS.Timeout | undefined;

  function parse(raw: unknown): Message<Loaded, Reply> | undefined {
    const reply = deps.reply.safeParse(raw);
    if (reply.success) return { kind: "reply", reply: reply.data };
    const control = ControlReply.safeParse(raw);
    if (control.success) return { kind: "control", control: control.data };
    const loaded = deps.loaded.safeParse(raw);
    return loaded.success ? { kind: "loaded", loaded: loaded.data } : undefined;
  }

  const backoffMs = (): number => Math.min(deps.backoffMs * 2 ** Math.max(0, crashes - 1), maxBackoffMs);
  const restartDelayMs = (): number => (crashes === 0 ? 0 : Math.max(0, lastCrash + backoffMs() - Date.now()));
  const exitError = (exit: WorkerExit): LancelotError => deps.exitError(exit, backoffMs());

  /** The process with the current load request. Called within a turn of the queue, since two calls at once would start two processes. */
  async function ensure(signal: AbortSignal): Promise<Running<Load, Loaded, Reply>> {
    try {
      const load = await deps.load(signal);
      signal.throwIfAborted();
      if (current !== undefined && JSON.stringify(current.load) !== JSON.stringify(load)) {
        const { child } = current;
        child.kill("stopped");
        await child.ended;
      }
      return current ?? (await start(load, signal));
    } catch (error) {
      if (signal.aborted) throw new LancelotError("cancelled", "Stopped.", { cause: error });
      throw error;
    }
  }

  async function start(load: Load, signal: AbortSignal): Promise<Running<Load, Loaded, Reply>> {
    const wait = restartDelayMs();
    if (wait > 0) await delay(wait, undefined, { signal });
    const child = startWorkerChild({ entry: deps.entry, env: deps.env, parse });
    const loaded = Promise.withResolvers<Loaded>();
    // A request that waits for it reports the failure; without one, the next request does.
    loaded.promise.catch(() => undefined);
    const running: Running<Load, Loaded, Reply> = { child, load, loaded: loaded.promise, report: null };
    let failure: LancelotError | null = null;
    child.listen((message) => {
      if (message.kind === "loaded") {
        running.report = message.loaded;
        lastUsed = Date.now();
        loaded.resolve(message.loaded);
        deps.onChange("loaded", null);
      } else if (message.kind === "control" && message.control.type === "failed" && message.control.id === null) {
        failure = deps.loadError(message.control.message);
        loaded.reject(failure);
        child.kill("stopped");
      }
    });
    void child.ended.then((exit) => {
      const isCrash = exit.why !== "stopped" && exit.why !== "unloaded";
      if (isCrash) {
        crashes++;
        lastCrash = Date.now();
      }
      const error = exitError(exit);
      if (current === running) current = undefined;
      loaded.reject(error);
      deps.onChange("unloaded", failure ?? (isCrash ? error : null));
    });
    current = running;
    deps.onChange("loading", null);
    child.send(load);
    return running;
  }

  /** Pings a busy process and ends one that hangs. Pings are counted instead of timed, so that a machine that slept ends nothing. */
  function watch({ child }: Running<Load, Loaded, Reply>): () => void {
    const { everyMs, misses } = deps.watch ?? defaultWatch;
    let missed = 0;
    const stopListening = child.listen(() => {
      missed = 0;
    });
    const timer = setInterval(() => {
      if (missed >= misses) return child.kill("hung");
      missed++;
      child.send({ type: "ping" });
    }, everyMs);
    timer.unref();
    return () => {
      clearInterval(timer);
      stopListening();
    };
  }

  /** Waits for its turn and runs `work` with a loaded process. */
  async function* inTurn<T>(
    caller: AbortSignal,
    work: (running: Running<Load, Loaded, Reply>, report: Loaded, aborted: Promise<never>) => AsyncGenerator<T, void>,
    afterwards: () => Promise<void>,
  ): AsyncGenerator<T, void> {
    const signal = AbortSignal.any([caller, closing.signal]);
    const release = await queue.take(signal);
    clearTimeout(idleTimer);
    active++;
    const aborted = rejectOn(signal);
    let unwatch: () => void = () => undefined;
    try {
      const running = await ensure(signal);
      unwatch = watch(running);
      yield* work(running, await Promise.race([running.loaded, aborted.promise]), aborted.promise);
    } finally {
      aborted.release();
      void afterwards().then(() => {
        unwatch();
        release();
      });
      active--;
      lastUsed = Date.now();
      clearTimeout(idleTimer);
      if (active === 0) idleTimer = setTimeout(() => current?.child.kill("stopped"), deps.idleMs).unref();
    }
  }

  function request(message: Request, caller: AbortSignal): AsyncGenerator<Reply, void> {
    let unfinished: { child: WorkerChild<Message<Loaded, Reply>>; id: number; settled: Promise<void> } | undefined;
    return inTurn(
      caller,
      async function* ({ child }, _, aborted) {
        const id = nextId++;
        const replies = repliesTo(child, id);
        unfinished = { child, id, settled: replies.settled };
        child.send({ ...message, id });
        for (;;) {
          const reply = await Promise.race([replies.next(), aborted]);
          if (!deps.isLast(reply)) {
            yield reply;
            continue;
          }
          crashes = 0;
          unfinished = undefined;
          yield reply;
          return;
        }
      },
      // The next request waits until the process has stopped this one.
      () => (unfinished === undefined ? Promise.resolve() : stop(unfinished)),
    );
  }

  async function stop({ child, id, settled }: { child: WorkerChild<Message<Loaded, Reply>>; id: number; settled: Promise<void> }) {
    child.send({ type: "abort", id });
    const timer = new AbortController();
    const late = delay(deps.abortMs, "late", { signal: timer.signal, ref: false }).catch(() => "settled");
    const outcome = await Promise.race([settled.then(() => "settled"), late]);
    timer.abort();
    if (outcome === "late") child.kill("hung");
  }

  /** The replies to one request in order. `next` rejects when the request failed or the process ended; then and after the last, `settled` resolves. */
  function repliesTo(child: WorkerChild<Message<Loaded, Reply>>, id: number): { settled: Promise<void>; next(): Promise<Reply> } {
    const replies: Reply[] = [];
    let failure: LancelotError | undefined;
    let wake = Promise.withResolvers<void>();
    const settled = Promise.withResolvers<void>();
    const finish = () => {
      stopListening();
      settled.resolve();
      wake.resolve();
    };
    const stopListening = child.listen((message) => {
      if (message.kind === "reply" && message.reply.id === id) {
        replies.push(message.reply);
        if (deps.isLast(message.reply)) finish();
        else wake.resolve();
      } else if (message.kind === "control" && message.control.type === "failed" && message.control.id === id) {
        const { code, message: text, data } = message.control;
        failure = new LancelotError(code, text, data === undefined ? {} : { data });
        finish();
      }
    });
    void child.ended.then((exit) => {
      failure ??= exitError(exit);
      finish();
    });
    return {
      settled: settled.promise,
      async next() {
        for (;;) {
          const reply = replies.shift();
          if (reply !== undefined) return reply;
          if (failure !== undefined) throw failure;
          await wake.promise;
          wake = Promise.withResolvers<void>();
        }
      },
    };
  }

  async function end(why: "stopped" | "unloaded"): Promise<void> {
    const running = current;
    running?.child.kill(why);
    await running?.child.ended;
  }

  return {
    async ready(caller) {
      if (current !== undefined && current.report !== null) return current.report;
      const loading = inTurn(
        caller,
        async function* (_, report) {
          yield report;
        },
        () => Promise.resolve(),
      );
      for await (const report of loading) return report;
      throw new LancelotError("internal", "The model's process reported nothing.");
    },
    request,
    loaded: () => (current === undefined || current.report === null ? null : { load: current.load, report: current.report }),
    restartDelayMs,
    idleMs: () => (active > 0 ? 0 : Date.now() - lastUsed),
    queued: () => queue.waiting(),
    pid: () => current?.child.pid,
    unload: () => end("unloaded"),
    async close() {
      closing.abort();
      clearTimeout(idleTimer);
      await end("stopped");
    },
  };
}

/** A promise that rejects when the signal aborts. Release it, or it stays on the signal. */
function rejectOn(signal: AbortSignal): { promise: Promise<never>; release: () => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  const abort = () => reject(new LancelotError("cancelled", "Stopped."));
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return { promise, release: () => signal.removeEventListener("abort", abort) };
}
