import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import type Dockerode from "dockerode";
import * as z from "zod";
import type { ShellCommand, ShellResult } from "../shell-provider.ts";
import { ask, EngineSilent, isId, statusOf } from "./engine-call.ts";
import { createHostTermination, type HostTermination } from "./host-termination.ts";
import { hasEnded, killCommand, killOrphanedProcesses, pause } from "./process-termination.ts";
import { createFrames } from "./stream-frames.ts";
import { runVariable } from "./container-scripts.ts";
import type { WarmContainer } from "./warm-container.ts";

/** Thrown before the command started: this container cannot run it, but another one may. */
export class NotRunning extends Error {}

const Inspected = z.object({ Running: z.boolean(), ExitCode: z.number().nullable() });

export interface CommandDeps {
  readonly warm: WarmContainer;
  /** Working folder by its path inside the container. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Calls `exceeded` once the command added more than `workspaceBytes`. Returns a function that ends the watch. */
  readonly watchGrowth: (exceeded: () => void) => () => void;
  readonly workspaceBytes: number;
  /** Limits concurrent starts, since each one costs the engine considerable CPU time. */
  readonly starting: <T>(work: () => Promise<T>) => Promise<T>;
  /** The processes of the container are visible on this machine. */
  readonly hasLocalProcesses: boolean;
  /** Called when the end of the command cannot be confirmed. Resolves when it has ended. */
  readonly settle: (host: HostTermination) => Promise<void>;
}

/** Output is complete after this time (ms) without any, once the command's process has ended. */
const lastOutput = 200;
const startWithin = 30_000;
/** Polling interval (ms) for the command's process: its stream does not end while a child process holds it open. */
const looks = { first: 100, longest: 2_000 };
const memoryWords = 400;

/**
 * Runs one command in a warm container, until it and all its processes have ended.
 * @throws NotRunning before `onStarted`
 */
export async function runCommand(deps: CommandDeps, command: ShellCommand): Promise<ShellResult> {
  const { warm } = deps;
  const mark = randomBytes(8).toString("hex");
  await warm.enter();
  warm.active.add(mark);
  try {
    return await deps
      .starting(() => begin(deps, command, mark))
      .then((begun) => (begun === null ? notBegun() : follow(deps, command, mark, begun)));
  } finally {
    warm.active.delete(mark);
  }
}

interface Begun {
  /** The container's out-of-memory kills before this command. */
  readonly killsBefore: Promise<number | null>;
  readonly exec: Dockerode.Exec;
  readonly stream: Duplex | null;
  readonly at: number;
}

async function begin(deps: CommandDeps, command: ShellCommand, mark: string): Promise<Begun | null> {
  const { warm } = deps;
  let exec: Dockerode.Exec;
  const killsBefore = warm.supervisor.killsForMemory().catch(() => null);
  try {
    exec = await ask(
      (abortSignal) =>
        warm.engine.docker.getContainer(warm.id).exec({
          Cmd: [warm.shell, "-c", "--", command.command],
          User: warm.user,
          WorkingDir: deps.cwd,
          Env: [...Object.entries(deps.env).map(([name, value]) => `${name}=${value}`), `${runVariable}=${mark}`],
          AttachStdout: true,
          AttachStderr: true,
          abortSignal,
        }),
      undefined,
      command.signal,
    );
    if (!isId(exec.id)) throw new EngineSilent("The container engine returned an invalid response.");
  } catch (error) {
    if (command.signal.aborted) return null;
    throw new NotRunning("The container does not accept commands.", { cause: error });
  }
  if (command.signal.aborted) return null;
  command.onStarted();
  const at = performance.now();
  try {
    const stream = await ask(() => exec.start({ hijack: true, stdin: false }), startWithin);
    return { exec, stream, at, killsBefore };
  } catch {
    // Whether the command started is unknown.
    return { exec, stream: null, at, killsBefore };
  }
}

type Why = "ended" | "timeout" | "stopped" | "disk" | "lost";

async function follow(deps: CommandDeps, command: ShellCommand, mark: string, begun: Begun): Promise<ShellResult> {
  const { warm } = deps;
  const { exec, stream, at } = begun;
  const state = { outputBytes: 0, handedOn: 0, thrown: null as unknown, over: false, silent: stream === null, lastAt: 0 };
  const { promise: asked, resolve: end } = Promise.withResolvers<Why>();
  const take = (name: "stdout" | "stderr", bytes: Uint8Array) => {
    state.outputBytes += bytes.byteLength;
    state.lastAt = performance.now();
    const remaining = command.outputBytes - state.handedOn;
    if (remaining <= 0 || state.thrown !== null) return;
    const part = bytes.subarray(0, remaining);
    state.handedOn += part.byteLength;
    try {
      command.onOutput(name, part);
    } catch (error) {
      state.thrown = error;
      end("stopped");
    }
  };
  const { promise: streamOver, resolve: endStream } = Promise.withResolvers<void>();
  void streamOver.then(() => (state.silent = true));
  if (stream === null) end("lost");
  else listen(stream, take, endStream, () => end("lost"));
  /** Waits for the end of the output, or for a silent period, because a remaining process may hold the stream open. */
  const quiet = async () => {
    const from = performance.now();
    while (!state.silent && performance.now() - Math.max(from, state.lastAt) < lastOutput)
      await Promise.race([streamOver, pause(lastOutput)]);
  };
  const clock = setTimeout(() => end("timeout"), Math.max(0, command.timeoutMs - (performance.now() - at)));
  const stop = () => end("stopped");
  if (command.signal.aborted) stop();
  command.signal.addEventListener("abort", stop, { once: true });
  const stopWatching = deps.watchGrowth(() => end("disk"));
  const look = inspector(exec);

  let why: Why;
  let exitCode: number | null = null;
  try {
    why = await Promise.race([
      asked,
      warm.supervisor.over.then(() => "lost" as const),
      streamOver.then(() => ended(look, () => state.over)),
      ended(look, () => state.over, looks.first),
    ]);
  } finally {
    state.over = true;
    clearTimeout(clock);
    stopWatching();
    command.signal.removeEventListener("abort", stop);
  }
  let killedOrphans = false;
  let isOver: boolean;
  let outcome: ShellResult["ended"];
  if (why === "ended") {
    await quiet();
    exitCode = look.exitCode;
    outcome = await outcomeOf(warm, begun, exitCode);
    ({ killed: killedOrphans, isOver } = await killOrphanedProcesses(warm, mark));
  } else {
    isOver =
      why === "lost" && !warm.supervisor.alive
        ? await hasEnded(warm)
        : await killCommand(warm, mark, async () => stream === null || (await look.over()) !== false);
    // Without confirmation that it ended, the outcome differs from the requested one.
    if (!isOver) why = "lost";
    outcome = why === "lost" ? await outcomeOf(warm, begun, null) : why === "disk" ? "stopped" : why;
  }
  const host = createHostTermination(mark, deps.hasLocalProcesses);
  isOver ||= (await host.kill()) || (await warm.remove());
  await quiet();
  stream?.destroy();
  if (state.thrown !== null) throw state.thrown;
  if (why === "disk") {
    const words = `\nlancelot: stopped because it added more than ${Math.round(deps.workspaceBytes / (1 << 20))} MB to the workspace.\n`;
    command.onOutput("stderr", Buffer.from(words));
  }
  return {
    exitCode: outcome === "exit" ? exitCode : null,
    ended: outcome,
    outputBytes: state.outputBytes,
    durationMs: performance.now() - at,
    killedOrphans,
    ...(isOver ? {} : { stillRunning: deps.settle(host) }),
  };
}

/** How a command ended that was not stopped from here; null when it did not end by itself. */
async function outcomeOf(warm: WarmContainer, begun: Begun, exitCode: number | null): Promise<ShellResult["ended"]> {
  if (exitCode === 0) return "exit";
  const before = await begun.killsBefore;
  const now = before === null ? null : await warm.supervisor.killsForMemory().catch(() => null);
  if (before !== null && now !== null && now > before) return "memory";
  // Killed alone or with its container, possibly for memory. The engine reports these events separately from the exit, in any order.
  if (exitCode === 137 || exitCode === null) {
    const until = performance.now() + memoryWords;
    while (warm.supervisor.alive && warm.outOfMemoryAt < begun.at && performance.now() < until) await pause(10);
    if (!warm.supervisor.alive && warm.outOfMemoryAt < begun.at) return "lost";
  }
  if (warm.outOfMemoryAt >= begun.at) return "memory";
  return exitCode === null ? "lost" : "exit";
}

function listen(stream: Duplex, take: (name: "stdout" | "stderr", bytes: Uint8Array) => void, end: () => void, broken: () => void): void {
  const frames = createFrames(take);
  stream.on("data", (chunk: Buffer) => {
    try {
      frames(chunk);
    } catch {
      stream.destroy();
      broken();
    }
  });
  for (const event of ["end", "close", "error"]) stream.on(event, end);
}

interface Inspector {
  /** True once the command's own process has ended; null when the engine does not report it. */
  over(): Promise<boolean | null>;
  readonly exitCode: number | null;
}

function inspector(exec: Dockerode.Exec): Inspector {
  let exitCode: number | null = null;
  return {
    async over() {
      try {
        const seen = Inspected.parse(await ask((abortSignal) => exec.inspect({ abortSignal })));
        if (!seen.Running) exitCode = seen.ExitCode;
        return !seen.Running && seen.ExitCode !== null;
      } catch (error) {
        // 404: the engine no longer knows the command, because its container is gone.
        return statusOf(error) === 404 ? false : null;
      }
    },
    get exitCode() {
      return exitCode;
    },
  };
}

/** Resolves when the command's own process has ended, or after several failed attempts to reach the engine. */
async function ended(look: Inspector, over: () => boolean, first = 0): Promise<Why> {
  let wait = first;
  let silent = 0;
  for (;;) {
    if (wait > 0) await pause(wait);
    if (over()) return "ended";
    const said = await look.over();
    if (said === true) return "ended";
    silent = said === null ? silent + 1 : 0;
    if (silent >= 5) return "lost";
    wait = Math.min(looks.longest, Math.max(2, wait * 2));
  }
}

export function notBegun(): ShellResult {
  return { exitCode: null, ended: "stopped", outputBytes: 0, durationMs: 0, killedOrphans: false };
}
