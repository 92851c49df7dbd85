import { type ChildProcess, spawn } from "node:child_process";
import { Duplex } from "node:stream";
import { readMessages, writeMessage } from "./json-lines.ts";

/** How a worker process ended. */
export interface WorkerExit {
  /** `crashed`: it ended by itself, was killed from outside, or could not be started. All others are reasons of the host. */
  why: "crashed" | "stopped" | "unloaded" | "hung" | "invalid_output";
  code: number | null;
  signal: NodeJS.Signals | null;
  /** System error of the start (`EAGAIN`); null when it was started. */
  spawnError: string | null;
  /** The end of its error output. */
  stderr: string;
}

/** One process that holds a model. */
export interface WorkerChild<Message> {
  readonly pid: number | undefined;
  /** Resolves when it has ended. */
  readonly ended: Promise<WorkerExit>;
  send(message: unknown): void;
  listen(listener: (message: Message) => void): () => void;
  kill(why: Exclude<WorkerExit["why"], "crashed">): void;
}

/** Starts a worker process with a pipe of its own. @param parse returns undefined for an invalid message, which ends the process */
export function startWorkerChild<Message>({
  entry,
  env,
  parse,
}: {
  entry: string;
  env: Readonly<Record<string, string | undefined>>;
  parse: (raw: unknown) => Message | undefined;
}): WorkerChild<Message> {
  const listeners = new Set<(message: Message) => void>();
  let why: WorkerExit["why"] = "crashed";
  let stderr = "";
  const child = spawn(process.execPath, [entry], {
    env: childEnv(env),
    stdio: ["ignore", "ignore", "pipe", "overlapped"],
    windowsHide: true,
  });
  const pipe = pipeOf(child);
  // Output may arrive after the exit. It is for the log only, so the exit does not wait for it.
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-2_000);
  });
  const kill = (reason: WorkerExit["why"]) => {
    if (child.exitCode !== null || child.signalCode !== null || why !== "crashed") return;
    why = reason;
    child.kill("SIGKILL");
  };
  if (pipe !== undefined)
    readMessages(
      pipe,
      (raw) => {
        const message = parse(raw);
        if (message === undefined) kill("invalid_output");
        else for (const listener of listeners) listener(message);
      },
      () => kill("invalid_output"),
    );

  const ended = new Promise<WorkerExit>((resolve) => {
    const end = (code: number | null, signal: NodeJS.Signals | null, spawnError: string | null) => {
      pipe?.destroy();
      resolve({ why, code, signal, spawnError, stderr });
    };
    child.once("exit", (code, signal) => end(code, signal, null));
    child.once("error", (error) => {
      // This event also reports a signal that could not be sent; the process still runs then.
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

/** The fourth stream; absent where the process could not be started. */
function pipeOf(child: ChildProcess): Duplex | undefined {
  const pipe = child.stdio[3];
  return pipe instanceof Duplex ? pipe : undefined;
}

/** Only what Node and the native library need: no keys, proxies or owner token. */
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
