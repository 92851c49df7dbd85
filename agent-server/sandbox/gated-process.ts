import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { LancelotError } from "../contract/errors.ts";
import type { PipeMaker } from "./output-pipes.ts";
import type { ShellCommand, ShellResult } from "./shell-provider.ts";

/** Longest text kept of what was said before the command began. */
const maxProblem = 4_000;
/** What the shell inside says on descriptor 4 when something runs on after the command. */
export const leftoverMarker = "left";
/** Milliseconds for everything to stand ready, and for the last output after the end. */
const readyWithin = 15_000;
const lastOutputWithin = 2_000;

/** Why a command was ended from here; `limit` is one that a result has no word of its own for: the disk, the number of processes. */
export type EndedBy = "timeout" | "stopped" | "memory" | "limit";

/** How a place starts and ends what it runs. */
export interface GatedProcess {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
  /** Runs as somebody else; only root can. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
  readonly detached?: boolean;
  readonly pipes: PipeMaker;
  /** Descriptors from 5 on. 3 is the gate: the shell inside reads one line there and begins; on 4 it says that it is ready, and at its end whether something was left. */
  readonly descriptors?: readonly (number | "pipe")[];
  readonly onSpawn?: (child: ChildProcess) => void;
  /** It stands at the gate: last look before the first byte of the command runs. A throw refuses it. */
  readonly onReady?: (child: ChildProcess) => Promise<void>;
  /** Looks after it while it runs; returns how to stop looking. */
  readonly watch?: (end: (by: EndedBy) => void) => () => void;
  /** Ends everything it started, at once. May be called more than once. */
  readonly kill: (child: ChildProcess) => void;
  /** Resolves when nothing it started is left; says whether something had to be ended after the command itself had. */
  readonly gone: (child: ChildProcess) => Promise<{ leftovers: boolean }>;
  /** Whether it was the limit on memory that ended it; asked when it ended badly by itself. */
  readonly overMemory?: () => boolean;
  /** The sentence for the owner when it could not even begin. */
  readonly refusal: (said: string, cause: unknown) => LancelotError;
}

/**
 * Runs a command to its end. The process is started first and waits at a gate; then `onStarted` is called and the gate opened, so
 * that whatever fails before can be tried in another place.
 * @throws LancelotError `unavailable` before `onStarted`.
 */
export async function runGated(command: ShellCommand, how: GatedProcess): Promise<ShellResult> {
  if (command.signal.aborted) return notBegun();
  const pipes = await how.pipes.open();
  const state: { begunAt: number | null; endedBy: EndedBy | null; thrown: unknown } = { begunAt: null, endedBy: null, thrown: null };
  let outputBytes = 0;
  let handedOn = 0;
  let said = "";
  let timer: NodeJS.Timeout | undefined;
  let stopWatching = (): void => {};

  let child: ChildProcess;
  try {
    child = spawn(how.file, [...how.args], {
      cwd: how.cwd,
      env: how.env,
      detached: how.detached ?? false,
      windowsHide: true,
      stdio: ["ignore", pipes.stdout.writeEnd, pipes.stderr.writeEnd, "pipe", "pipe", ...(how.descriptors ?? [])],
      ...how.owner,
    });
  } catch (error) {
    for (const { stream } of [pipes.stdout, pipes.stderr]) stream.destroy();
    throw new LancelotError("unavailable", "The command could not be started. Try again.", { cause: error });
  } finally {
    pipes.release();
  }
  const end = (by: EndedBy) => {
    state.endedBy ??= by;
    how.kill(child);
  };
  const take = (name: "stdout" | "stderr", bytes: Buffer) => {
    if (state.begunAt === null) {
      if (said.length < maxProblem) said += bytes.toString("utf8");
      return;
    }
    outputBytes += bytes.byteLength;
    const room = command.outputBytes - handedOn;
    if (room <= 0 || state.thrown !== null) return;
    const part = bytes.byteLength > room ? bytes.subarray(0, room) : bytes;
    handedOn += part.byteLength;
    try {
      command.onOutput(name, part);
    } catch (error) {
      state.thrown = error;
      end("stopped");
    }
  };
  pipes.stdout.stream.on("data", (bytes: Buffer) => take("stdout", bytes));
  pipes.stderr.stream.on("data", (bytes: Buffer) => take("stderr", bytes));
  const outputOver = Promise.all([closed(pipes.stdout.stream), closed(pipes.stderr.stream)]);
  const exited = new Promise<{ code: number | null; signal: string | null; error?: unknown }>((resolve) => {
    child.once("error", (error) => resolve({ code: null, signal: null, error }));
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  const gate = child.stdio[3] as Writable | null;
  const report = child.stdio[4] as Readable | null;
  gate?.on("error", () => {});
  let reported = "";
  report?.on("data", (bytes: Buffer) => (reported = `${reported}${bytes.toString("latin1")}`.slice(0, 200)));
  const reportOver = report === null ? Promise.resolve() : closed(report);
  const stop = () => end("stopped");
  command.signal.addEventListener("abort", stop);

  try {
    how.onSpawn?.(child);
    await atGate(report, exited);
    if (state.endedBy === null) {
      await how.onReady?.(child);
      // The owner may have stopped it meanwhile.
      if (!command.signal.aborted) {
        command.onStarted();
        state.begunAt = performance.now();
        timer = setTimeout(() => end("timeout"), command.timeoutMs);
        stopWatching = how.watch?.(end) ?? stopWatching;
        gate?.end("go\n");
      }
    }
  } catch (error) {
    how.kill(child);
    await exited;
    await how.gone(child);
    await within(outputOver, lastOutputWithin);
    for (const { stream } of [pipes.stdout, pipes.stderr]) stream.destroy();
    if (state.endedBy !== null && state.begunAt === null) return notBegun();
    throw error instanceof LancelotError || state.begunAt !== null ? error : how.refusal(said, error);
  } finally {
    if (state.begunAt === null) command.signal.removeEventListener("abort", stop);
  }

  const { code, signal } = await exited;
  clearTimeout(timer);
  stopWatching();
  command.signal.removeEventListener("abort", stop);
  const overMemory = state.begunAt !== null && state.endedBy === null && code !== 0 && (how.overMemory?.() ?? false);
  const { leftovers } = await how.gone(child);
  await within(Promise.all([outputOver, reportOver]), lastOutputWithin);
  for (const { stream } of [pipes.stdout, pipes.stderr]) stream.destroy();
  if (state.begunAt === null) return notBegun();
  if (state.thrown !== null) throw state.thrown;
  const ended = state.endedBy === "limit" ? "stopped" : (state.endedBy ?? (overMemory ? "memory" : signal === null ? "exit" : "lost"));
  return {
    exitCode: ended === "exit" ? code : null,
    ended,
    outputBytes,
    durationMs: performance.now() - state.begunAt,
    leftovers: leftovers || reported.includes(leftoverMarker),
  };
}

function notBegun(): ShellResult {
  return { exitCode: null, ended: "stopped", outputBytes: 0, durationMs: 0, leftovers: false };
}

/** Resolves when the shell inside says that it is ready; throws when it ends before, or takes too long. */
async function atGate(report: Readable | null, exited: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const failed = Promise.race([
    exited.then(() => "ended"),
    new Promise((resolve) => {
      timer = setTimeout(() => resolve("late"), readyWithin);
    }),
  ]).then((why) => {
    throw new Error(`It ${String(why)} before it was ready.`);
  });
  try {
    await Promise.race([new Promise((resolve) => report?.once("data", resolve)), failed]);
  } finally {
    clearTimeout(timer);
    failed.catch(() => {});
  }
}

function closed(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    stream.once("close", () => resolve());
    stream.once("error", () => resolve());
  });
}

async function within(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([
    promise,
    new Promise((resolve) => {
      timer = setTimeout(resolve, ms);
    }),
  ]);
  clearTimeout(timer);
}
