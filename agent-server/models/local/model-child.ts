import { type ChildProcess, spawn } from "node:child_process";
import { Duplex } from "node:stream";
import { readMessages, writeMessage } from "./json-lines.ts";
import { FromModel, type ToModel } from "./model-protocol.ts";

/** How a process of the model ended. */
export interface Ending {
  /** `itself`: neither dropped nor ended for what it did; crashed, killed from outside, or never started. */
  why: "itself" | "dropped" | "unloaded" | "hung" | "garbage";
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Why it could not be started (`EAGAIN`); null when it was. */
  failure: string | null;
  /** The end of what it wrote to its error output. */
  lastWords: string;
}

/** One process that holds a model. */
export interface ModelChild {
  readonly pid: number | undefined;
  /** Resolves when it has ended. */
  readonly ended: Promise<Ending>;
  send(message: ToModel): void;
  listen(listener: (message: FromModel) => void): () => void;
  kill(why: Exclude<Ending["why"], "itself">): void;
}

/** Starts the process, connected by a pipe of its own. */
export function startModelChild({ entry, env }: { entry: string; env: Readonly<Record<string, string | undefined>> }): ModelChild {
  const listeners = new Set<(message: FromModel) => void>();
  let why: Ending["why"] = "itself";
  let lastWords = "";
  const child = spawn(process.execPath, [entry], {
    env: childEnv(env),
    stdio: ["ignore", "ignore", "pipe", "overlapped"],
    windowsHide: true,
  });
  const pipe = pipeOf(child);
  // Its last words may come after its exit; they are for the log alone and are not waited for.
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    lastWords = (lastWords + text).slice(-2_000);
  });
  const kill = (reason: Ending["why"]) => {
    if (child.exitCode !== null || child.signalCode !== null || why !== "itself") return;
    why = reason;
    child.kill("SIGKILL");
  };
  if (pipe !== undefined)
    readMessages(
      pipe,
      (raw) => {
        const message = FromModel.safeParse(raw);
        if (!message.success) kill("garbage");
        else for (const listener of listeners) listener(message.data);
      },
      () => kill("garbage"),
    );

  const ended = new Promise<Ending>((resolve) => {
    const end = (code: number | null, signal: NodeJS.Signals | null, failure: string | null) => {
      pipe?.destroy();
      resolve({ why, code, signal, failure, lastWords });
    };
    child.once("exit", (code, signal) => end(code, signal, null));
    child.once("error", (error) => {
      // Also raised when a signal could not be sent; then the process still runs.
      if (child.pid === undefined) end(null, null, "code" in error && typeof error.code === "string" ? error.code : error.message);
    });
  });
  return {
    pid: child.pid,
    ended,
    send: (message) => {
      if (pipe !== undefined) writeMessage(pipe, message);
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    kill,
  };
}

/** The fourth of its streams; absent where the process could not be started. */
function pipeOf(child: ChildProcess): Duplex | undefined {
  const pipe = child.stdio[3];
  return pipe instanceof Duplex ? pipe : undefined;
}

/** Only what Node and the native library need; no keys, no proxies, no owner token. */
export function childEnv(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
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
