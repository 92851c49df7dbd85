import { type ChildProcess, fork } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { LancelotError } from "../../contract/errors.ts";
import { type Done, FromModel, type Generate, type Load, type ToModel } from "./messages.ts";

export interface ModelProcessDeps {
  /** File to run. */
  entry: string;
  /** What to load, asked anew for each start. */
  load: () => Load;
  env: Readonly<Record<string, string | undefined>>;
  /** Unload after so long without a request. Milliseconds. */
  idleMs: number;
  /** Wait before a start after a crash; doubles with each in a row. Milliseconds. */
  backoffMs: number;
  onChange: (state: "loading" | "loaded" | "unloaded") => void;
}

export type GenerateEvent = { type: "text"; text: string } | Done;

/** The process that holds the model: started on first use, one request at a time, restarted after a crash by the next request. */
export interface ModelProcess {
  /** Starts and loads if need be. Resolves with the size of the context. @throws LancelotError */
  ready(signal: AbortSignal): Promise<{ contextSize: number }>;
  /** Waits for its turn, then streams. Ends with `done`. @throws LancelotError, `data.retryable` after a crash. */
  generate(request: Omit<Generate, "type" | "id">, signal: AbortSignal): AsyncGenerator<GenerateEvent, void>;
  /** The process's id while there is one. */
  pid(): number | undefined;
  close(): Promise<void>;
}

interface Running {
  child: ChildProcess;
  loaded: Promise<{ contextSize: number }>;
  /** Settles when the process has ended. */
  ended: Promise<void>;
}

/** How long a process may take to stop a reply before it is ended; a step of a prompt takes a second or two. Milliseconds. */
const stopMs = 15_000;

export function createModelProcess(deps: ModelProcessDeps): ModelProcess {
  let current: Running | undefined;
  let starting: Promise<Running> | undefined;
  let busy = 0;
  let crashes = 0;
  let lastCrash = 0;
  let nextId = 1;
  let queue: Promise<unknown> = Promise.resolve();
  let idle: NodeJS.Timeout | undefined;
  const closing = new AbortController();

  function start(): Promise<Running> {
    if (current !== undefined) return Promise.resolve(current);
    starting ??= startNow().finally(() => {
      starting = undefined;
    });
    return starting;
  }

  async function startNow(): Promise<Running> {
    const wait = crashes === 0 ? 0 : lastCrash + Math.min(deps.backoffMs * 2 ** (crashes - 1), 30_000) - Date.now();
    if (wait > 0) await delay(wait, undefined, { signal: closing.signal });
    const load = deps.load();
    const child = fork(deps.entry, [], {
      env: childEnv(deps.env),
      execArgv: [],
      serialization: "json",
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let lastWords = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      lastWords = (lastWords + text).slice(-2_000);
    });
    const ended = new Promise<void>((resolve) => {
      child.once("exit", () => {
        if (!child.killed) {
          crashes++;
          lastCrash = Date.now();
        }
        if (current?.child === child) {
          current = undefined;
          deps.onChange("unloaded");
        }
        resolve();
      });
      child.once("error", () => resolve());
    });
    deps.onChange("loading");
    const loaded = new Promise<{ contextSize: number }>((resolve, reject) => {
      child.on("message", (raw) => {
        const message = FromModel.parse(raw);
        if (message.type === "loaded") {
          deps.onChange("loaded");
          resolve({ contextSize: message.contextSize });
        } else if (message.type === "failed" && message.id === null) {
          reject(new LancelotError("unavailable", `The local model could not be loaded: ${message.message}`, { cause: lastWords }));
        }
      });
      void ended.then(() => reject(crashed(child, lastWords)));
    });
    // Those who wait for it hear of a failure; when nobody does, the next one will.
    loaded.catch(() => drop(child));
    current = { child, loaded, ended };
    send(child, load);
    return current;
  }

  function crashed(child: ChildProcess, lastWords: string): LancelotError {
    const how = child.signalCode === null ? `code ${child.exitCode}` : child.signalCode;
    return new LancelotError("unavailable", `The local model's process ended unexpectedly (${how}). The next request starts it again.`, {
      data: { retryable: true, retryAfterMs: deps.backoffMs * 2 ** Math.max(0, crashes - 1) },
      cause: lastWords,
    });
  }

  /** Ends a process on purpose; from here on it is nobody's. */
  function drop(child: ChildProcess): void {
    child.kill("SIGKILL");
    if (current?.child !== child) return;
    current = undefined;
    deps.onChange("unloaded");
  }

  /** Begins to count the time without a request. */
  function rest(): void {
    clearTimeout(idle);
    if (busy > 0) return;
    idle = setTimeout(() => current !== undefined && drop(current.child), deps.idleMs);
    idle.unref();
  }

  /** Runs after all earlier ones have ended; a caller that gives up leaves the queue at once. */
  async function turn(signal: AbortSignal): Promise<() => void> {
    const before = queue;
    const mine = Promise.withResolvers<void>();
    queue = before.then(() => mine.promise);
    const aborted = rejectOn(signal);
    try {
      await Promise.race([before, aborted.promise]);
      return mine.resolve;
    } catch (error) {
      mine.resolve();
      throw error;
    } finally {
      aborted.release();
    }
  }

  async function* generate(request: Omit<Generate, "type" | "id">, caller: AbortSignal): AsyncGenerator<GenerateEvent, void> {
    const signal = AbortSignal.any([caller, closing.signal]);
    const release = await turn(signal);
    clearTimeout(idle);
    busy++;
    const aborted = rejectOn(signal);
    let unfinished: { running: Running; id: number; settled: Promise<void> } | undefined;
    try {
      const running = await Promise.race([start(), aborted.promise]);
      await Promise.race([running.loaded, aborted.promise]);
      const id = nextId++;
      const inbox = createInbox(running, id, () => crashed(running.child, ""));
      unfinished = { running, id, settled: inbox.settled };
      send(running.child, { type: "generate", id, ...request });
      for (;;) {
        const message = await Promise.race([inbox.next(), aborted.promise]);
        if (message.type === "done") {
          crashes = 0;
          unfinished = undefined;
          yield message;
          return;
        }
        yield message;
      }
    } finally {
      aborted.release();
      // The reply nobody reads any more is stopped; the next request waits until it has been.
      if (unfinished === undefined) release();
      else void stop(unfinished).then(release);
      busy--;
      rest();
    }
  }

  async function stop({ running, id, settled }: { running: Running; id: number; settled: Promise<void> }): Promise<void> {
    send(running.child, { type: "abort", id });
    const timer = new AbortController();
    const late = delay(stopMs, "late", { signal: timer.signal, ref: false }).catch(() => "stopped");
    const outcome = await Promise.race([settled.then(() => "stopped"), late]);
    timer.abort();
    if (outcome === "late") drop(running.child);
  }

  return {
    async ready(caller) {
      const signal = AbortSignal.any([caller, closing.signal]);
      clearTimeout(idle);
      busy++;
      const aborted = rejectOn(signal);
      try {
        const running = await Promise.race([start(), aborted.promise]);
        return await Promise.race([running.loaded, aborted.promise]);
      } finally {
        aborted.release();
        busy--;
        rest();
      }
    },
    generate,
    pid: () => current?.child.pid,
    async close() {
      closing.abort();
      clearTimeout(idle);
      const running = current;
      if (running !== undefined) drop(running.child);
      await running?.ended;
    },
  };
}

/** The messages of one request, in order; rejects when the process ends or the request failed. */
function createInbox({ child, ended }: Running, id: number, crash: () => LancelotError) {
  const messages: GenerateEvent[] = [];
  let failure: LancelotError | undefined;
  let wake = Promise.withResolvers<void>();
  const settled = Promise.withResolvers<void>();
  const finish = () => {
    child.off("message", onMessage);
    settled.resolve();
    wake.resolve();
  };
  function onMessage(raw: unknown) {
    const message = FromModel.parse(raw);
    if (message.type === "loaded" || message.id !== id) return;
    if (message.type === "failed") {
      failure = new LancelotError(message.code, message.message, message.data === undefined ? {} : { data: message.data });
      return finish();
    }
    messages.push(message.type === "text" ? { type: "text", text: message.text } : message);
    if (message.type === "done") finish();
    else wake.resolve();
  }
  child.on("message", onMessage);
  const crashed = () => {
    failure ??= crash();
    finish();
  };
  void ended.then(crashed);
  return {
    settled: settled.promise,
    async next(): Promise<GenerateEvent> {
      for (;;) {
        const message = messages.shift();
        if (message !== undefined) return message;
        if (failure !== undefined) throw failure;
        await wake.promise;
        wake = Promise.withResolvers<void>();
      }
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

function send(child: ChildProcess, message: ToModel): void {
  // A process that ends meanwhile is noticed by its exit.
  if (child.connected) child.send(message, () => undefined);
}

/** Only what Node and the native library need; no keys, no proxies, no owner token. */
function childEnv(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const names = [
    "PATH",
    "HOME",
    "LANG",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SystemRoot",
    "windir",
    "USERPROFILE",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
  ];
  const kept = names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  return { ...Object.fromEntries(kept), ...(process.versions["electron"] !== undefined && { ELECTRON_RUN_AS_NODE: "1" }) };
}
