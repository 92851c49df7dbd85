import { setTimeout as delay } from "node:timers/promises";
import { LancelotError } from "../../contract/errors.ts";
import { endingError, loadError } from "./exit-errors.ts";
import { createInbox } from "./inbox.ts";
import type { Done, Generate, Load, Loaded } from "./model-protocol.ts";
import { type ModelChild, startModelChild } from "./model-child.ts";
import { createTurns } from "./request-queue.ts";

export interface ModelProcessDeps {
  /** File to run. */
  entry: string;
  /** What to load, asked anew for each request: another answer than before ends the process and starts it with the new one. */
  load: (signal: AbortSignal) => Load | Promise<Load>;
  env: Readonly<Record<string, string | undefined>>;
  /** Unload after so long without a request. Milliseconds. */
  idleMs: number;
  /** Wait before a start after a crash; doubles with each in a row. Milliseconds. */
  backoffMs: number;
  /** A process that is asked for a sign of life so often, and gives none so many times, hangs. */
  watch?: { everyMs: number; misses: number };
  /** Requests that may wait. */
  waiting?: number;
  /** `trouble`: why it could not be loaded, or ended by itself; null when all is well. */
  onChange: (state: "loading" | "loaded" | "unloaded", trouble: LancelotError | null) => void;
  /** After every answer that came to its end. */
  onAnswer?: () => void;
}

export type GenerateEvent = { type: "text"; text: string } | Done;

export interface ProcessHealth {
  contextSize: number;
  threads: number;
  gpuLayers: number;
  gpu: Loaded["gpu"];
  memoryBytes: number;
  idleMs: number;
  queued: number;
  /** Of the last answer. */
  tokensPerSecond: number | null;
}

/** The process that holds the model: started on first use, one request at a time, restarted after a crash by the next request. */
export interface ModelProcess {
  /** Starts and loads if need be. @throws LancelotError */
  ready(signal: AbortSignal): Promise<Loaded>;
  /** Waits for its turn, then streams. Ends with `done`. @throws LancelotError, `data.retryable` after a crash. */
  generate(request: Omit<Generate, "type" | "id">, signal: AbortSignal): AsyncGenerator<GenerateEvent, void>;
  /** Of a loaded process. */
  health(): ProcessHealth | null;
  /** The process's id while there is one. */
  pid(): number | undefined;
  /** Ends the process and what it does; the next request starts it again. */
  unload(): Promise<void>;
  close(): Promise<void>;
}

interface Running {
  child: ModelChild;
  load: Load;
  loaded: Promise<Loaded>;
  report: Loaded | undefined;
}

/** How long a process may take to stop a reply before it is ended; a step of a prompt takes a second or two. Milliseconds. */
const stopMs = 15_000;
const longestBackoffMs = 30_000;
/** Its event loop is free while the library computes, but not while it works out the chat template (seconds on a busy machine) or brings up a GPU. */
const defaultWatch = { everyMs: 5_000, misses: 6 };

export function createModelProcess(deps: ModelProcessDeps): ModelProcess {
  const turns = createTurns(deps.waiting ?? 32);
  const closing = new AbortController();
  let current: Running | undefined;
  let busy = 0;
  let crashes = 0;
  let lastCrash = 0;
  let nextId = 1;
  let lastUsed = Date.now();
  let tokensPerSecond: number | null = null;
  let memoryBytes = 0;
  let idle: NodeJS.Timeout | undefined;

  /** The process with what is to be loaded now. Inside a turn, and waited for to its end: two at once would start two. */
  async function ensure(signal: AbortSignal): Promise<Running> {
    try {
      const load = await deps.load(signal);
      signal.throwIfAborted();
      if (current !== undefined && JSON.stringify(current.load) !== JSON.stringify(load)) {
        const { child } = current;
        child.kill("dropped");
        await child.ended;
      }
      return current ?? (await start(load, signal));
    } catch (error) {
      if (signal.aborted) throw new LancelotError("cancelled", "Stopped.", { cause: error });
      throw error;
    }
  }

  async function start(load: Load, signal: AbortSignal): Promise<Running> {
    const wait = crashes === 0 ? 0 : lastCrash + Math.min(deps.backoffMs * 2 ** (crashes - 1), longestBackoffMs) - Date.now();
    if (wait > 0) await delay(wait, undefined, { signal });
    const child = startModelChild(deps);
    const loaded = Promise.withResolvers<Loaded>();
    // Those who wait for it hear of a failure; when nobody does, the next one will.
    loaded.promise.catch(() => undefined);
    const running: Running = { child, load, loaded: loaded.promise, report: undefined };
    let failure: LancelotError | null = null;
    child.listen((message) => {
      if (message.type === "loaded") {
        running.report = message;
        ({ memoryBytes } = message);
        tokensPerSecond = null;
        lastUsed = Date.now();
        loaded.resolve(message);
        deps.onChange("loaded", null);
      } else if (message.type === "failed" && message.id === null) {
        failure = loadError(message.message);
        loaded.reject(failure);
        child.kill("dropped");
      }
    });
    void child.ended.then((ending) => {
      const byItself = ending.why !== "dropped" && ending.why !== "unloaded";
      if (byItself) {
        crashes++;
        lastCrash = Date.now();
      }
      const error = endingError(ending, deps.backoffMs * 2 ** Math.max(0, crashes - 1));
      if (current === running) current = undefined;
      loaded.reject(error);
      deps.onChange("unloaded", failure ?? (byItself ? error : null));
    });
    current = running;
    deps.onChange("loading", null);
    child.send(load);
    return running;
  }

  /** Asks a process at work for signs of life, and ends one that gives none. Counted, not timed: a machine that slept is no reason. */
  function watch({ child }: Running): () => void {
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

  /** Begins to count the time without a request. */
  function rest(): void {
    clearTimeout(idle);
    if (busy > 0) return;
    idle = setTimeout(() => current?.child.kill("dropped"), deps.idleMs);
    idle.unref();
  }

  /** One request in its turn: sent when the model is loaded, its messages up to the last. */
  async function* generate(request: Omit<Generate, "type" | "id">, caller: AbortSignal): AsyncGenerator<GenerateEvent, void> {
    const signal = AbortSignal.any([caller, closing.signal]);
    const release = await turns.take(signal);
    clearTimeout(idle);
    busy++;
    const aborted = rejectOn(signal);
    let unfinished: { running: Running; id: number; settled: Promise<void> } | undefined;
    let unwatch: () => void = () => undefined;
    try {
      const running = await ensure(signal);
      unwatch = watch(running);
      await Promise.race([running.loaded, aborted.promise]);
      const id = nextId++;
      const inbox = createInbox(running.child, id, (ending) => endingError(ending, deps.backoffMs * 2 ** Math.max(0, crashes - 1)));
      unfinished = { running, id, settled: inbox.settled };
      running.child.send({ type: "generate", id, ...request });
      for (;;) {
        const message = await Promise.race([inbox.next(), aborted.promise]);
        if (message.type !== "text") {
          crashes = 0;
          ({ memoryBytes } = message);
          if (message.outputTokens > 1 && message.generateMs > 0)
            tokensPerSecond = ((message.outputTokens - 1) * 1_000) / message.generateMs;
          unfinished = undefined;
          deps.onAnswer?.();
          yield message;
          return;
        }
        yield message;
      }
    } finally {
      aborted.release();
      // The reply nobody reads any more is stopped; the next request waits until it has been.
      void (unfinished === undefined ? Promise.resolve() : stop(unfinished)).then(() => {
        unwatch();
        release();
      });
      busy--;
      lastUsed = Date.now();
      rest();
    }
  }

  async function stop({ running, id, settled }: { running: Running; id: number; settled: Promise<void> }): Promise<void> {
    running.child.send({ type: "abort", id });
    const timer = new AbortController();
    const late = delay(stopMs, "late", { signal: timer.signal, ref: false }).catch(() => "stopped");
    const outcome = await Promise.race([settled.then(() => "stopped"), late]);
    timer.abort();
    if (outcome === "late") running.child.kill("hung");
  }

  return {
    async ready(caller) {
      if (current?.report !== undefined) return current.report;
      const signal = AbortSignal.any([caller, closing.signal]);
      const release = await turns.take(signal);
      clearTimeout(idle);
      busy++;
      const aborted = rejectOn(signal);
      let unwatch: () => void = () => undefined;
      try {
        const running = await ensure(signal);
        unwatch = watch(running);
        return await Promise.race([running.loaded, aborted.promise]);
      } finally {
        unwatch();
        aborted.release();
        release();
        busy--;
        rest();
      }
    },
    generate,
    health: () =>
      current?.report === undefined
        ? null
        : {
            contextSize: current.report.contextSize,
            threads: current.load.threads,
            gpuLayers: current.report.gpuLayers,
            gpu: current.report.gpu,
            memoryBytes,
            idleMs: busy > 0 ? 0 : Date.now() - lastUsed,
            queued: turns.waiting(),
            tokensPerSecond,
          },
    pid: () => current?.child.pid,
    async unload() {
      const running = current;
      running?.child.kill("unloaded");
      await running?.child.ended;
    },
    async close() {
      closing.abort();
      clearTimeout(idle);
      const running = current;
      running?.child.kill("dropped");
      await running?.child.ended;
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
