import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { LancelotError } from "../../contract/errors.ts";

/** Time (ms) for a process tree to exit before it is killed. */
const graceMs = 2_000;

export interface GitProcess {
  readonly args: readonly string[];
  readonly cwd: string;
  /** The complete environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Written to its standard input. */
  readonly input?: string;
  /** Is its standard input, instead of `input`. */
  readonly inputFile?: string;
  /** Maximum output in bytes, and the message of the error when it is exceeded. */
  readonly output: { readonly maxBytes: number; readonly message: string };
  /** A limit of time in ms, and the message of the error: in all, or since the last output. */
  readonly time: { readonly ms: number; readonly since: "start" | "output"; readonly message: string };
  /** Called with a function that stops git with an error; returns its end. */
  readonly watch?: (stop: (error: LancelotError) => void) => () => void;
}

export interface GitEnd {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs git in a process group of its own, so that it is stopped with everything it started.
 * @throws LancelotError `cancelled`, `too_large` (output), `unavailable` (time), or the error of `watch`; an Error when git cannot be started.
 */
export async function runGitProcess(of: GitProcess): Promise<GitEnd> {
  const { signal, input, inputFile, output, time } = of;
  if (signal.aborted) throw new LancelotError("cancelled", "Git was stopped.");
  const opened = inputFile === undefined ? null : openSync(inputFile, "r");
  const child = spawn("git", [...of.args], {
    cwd: of.cwd,
    env: of.env,
    stdio: [opened ?? (input === undefined ? "ignore" : "pipe"), "pipe", "pipe"],
    detached: process.platform !== "win32",
    windowsHide: true,
  });
  if (opened !== null) closeSync(opened);
  let problem: LancelotError | null = null;
  let hard: NodeJS.Timeout | undefined;
  const stop = (error: LancelotError): void => {
    if (problem !== null) return;
    problem = error;
    killProcessTree(child.pid, "SIGTERM");
    hard = setTimeout(() => killProcessTree(child.pid, "SIGKILL"), graceMs);
  };
  const onAbort = (): void => stop(new LancelotError("cancelled", "Git was stopped."));
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(() => stop(new LancelotError("unavailable", time.message)), time.ms);
  const unwatch = of.watch?.(stop);
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  let bytes = 0;
  const collect = (into: Buffer[]) => (chunk: Buffer) => {
    bytes += chunk.length;
    if (problem === null) into.push(chunk);
    if (time.since === "output") timer.refresh();
    if (bytes > output.maxBytes) stop(new LancelotError("too_large", output.message));
  };
  child.stdout?.on("data", collect(out));
  child.stderr?.on("data", collect(err));
  // Git may end before it has read everything.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(input);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    if (problem !== null) throw problem;
    return { code, out: Buffer.concat(out).toString("utf8"), err: Buffer.concat(err).toString("utf8") };
  } finally {
    clearTimeout(timer);
    clearTimeout(hard);
    unwatch?.();
    signal.removeEventListener("abort", onAbort);
    // Child processes may outlive it.
    if (problem !== null) killProcessTree(child.pid, "SIGKILL");
  }
}

function killProcessTree(pid: number | undefined, how: NodeJS.Signals): void {
  if (pid === undefined) return;
  if (process.platform === "win32") {
    spawn("taskkill", ["/pid", String(pid), "/T", "/F"], { stdio: "ignore", windowsHide: true });
    return;
  }
  try {
    process.kill(-pid, how);
  } catch {
    // The whole group has already exited.
  }
}
