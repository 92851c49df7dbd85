import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { LancelotError } from "../contract/errors.ts";
import type { PipeMaker } from "./output-pipes.ts";
import type { ShellCommand, ShellResult } from "./shell-provider.ts";

/** Maximum length of the output that is kept from before the command started. */
const maxProblem = 4_000;
/** Printed to descriptor 4 when processes remain after the command. */
export const leftoverMarker = "left";
/** Timeouts in milliseconds: for the start, and for the last output after the end. */
const readyWithin = 15_000;
const lastOutputWithin = 2_000;

/** Why a command was stopped from here; `limit` covers limits without their own result value: disk space and number of processes. */
export type EndedBy = "timeout" | "stopped" | "memory" | "limit";

/** How a sandbox starts and ends a process. */
export interface GatedProcess {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
  /** Runs as another user; requires root. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
  readonly detached?: boolean;
  readonly pipes: PipeMaker;
  /**
   * Descriptors from 5 on. On descriptor 3, the inner shell reads one line and then starts the command. On 4, it reports that it is ready
   * and whether processes remained at its end.
   */
  readonly descriptors?: readonly (number | "pipe")[];
  readonly onSpawn?: (child: ChildProcess) => void;
  /** Called when the shell is ready: the last check before the command starts. Throw to refuse it. */
  readonly onReady?: (child: ChildProcess) => Promise<void>;
  /** Monitors the running command; returns a function that stops monitoring. */
  readonly watch?: (end: (by: EndedBy) => void) => () => void;
  /** Kills everything the command started. May be called more than once. */
  readonly kill: (child: ChildProcess) => void;
  /** Resolves when no process remains, with whether any had to be killed after the command itself ended. */
  readonly gone: (child: ChildProcess) => Promise<{ killedOrphans: boolean }>;
  /** Whether the memory limit ended the command; called when it failed by itself. */
  readonly overMemory?: () => boolean;
  /** The error for the user when the command could not start. */
  readonly refusal: (said: string, cause: unknown) => LancelotError;
}

/**
 * Runs a command to its end. The shell starts first and waits for a signal; then `onStarted` is called and the command starts. Failures
 * before that point can be retried in another sandbox.
 * @throws LancelotError `unavailable` before `onStarted`.
 */
export async function runGated(command: ShellCommand, how: GatedProcess): Promise<ShellResult> {
  if (command.signal.aborted) return notBegun();
  const pipes = await how.pipes.open();
  const state: { begunAt: number | null; endedBy: EndedBy | null; thrown: unknown } = { begunAt: null, endedBy: null, thrown: null };
  let outputBytes = 0;
  let forwarded = 0;
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
  /** Bytes of the current second; above the limit, the command waits until the next one. */
  const second = { bytes: 0, timer: undefined as NodeJS.Timeout | undefined };
  const pace = (bytes: number) => {
    if (command.bytesPerSecond === undefined) return;
    second.bytes += bytes;
    second.timer ??= setTimeout(() => {
      second.timer = undefined;
      second.bytes = 0;
      for (const { stream } of [pipes.stdout, pipes.stderr]) stream.resume();
    }, 1_000);
    if (second.bytes > command.bytesPerSecond) for (const { stream } of [pipes.stdout, pipes.stderr]) stream.pause();
  };
  const take = (name: "stdout" | "stderr", bytes: Buffer) => {
    if (state.begunAt === null) {
      if (said.length < maxProblem) said += bytes.toString("utf8");
      return;
    }
    outputBytes += bytes.byteLength;
    pace(bytes.byteLength);
    const remaining = command.outputBytes - forwarded;
    if (remaining <= 0 || state.thrown !== null) return;
    const part = bytes.byteLength > remaining ? bytes.subarray(0, remaining) : bytes;
    forwarded += part.byteLength;
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
  // It may have been stopped while the pipes were opened.
  if (command.signal.aborted) stop();

  try {
    how.onSpawn?.(child);
    await atGate(report, exited);
    if (state.endedBy === null) {
      await how.onReady?.(child);
      // The user may have stopped it in the meantime.
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
  const { killedOrphans } = await how.gone(child);
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
    killedOrphans: killedOrphans || reported.includes(leftoverMarker),
  };
}

function notBegun(): ShellResult {
  return { exitCode: null, ended: "stopped", outputBytes: 0, durationMs: 0, killedOrphans: false };
}

/** Resolves when the inner shell is ready; throws when it exits first or takes too long. */
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
