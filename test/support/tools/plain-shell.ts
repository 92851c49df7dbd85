import { spawn } from "node:child_process";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { ProviderHealth } from "../../../agent-server/contract/providers.ts";
import type { ShellCommand, ShellProvider, ShellResult } from "../../../agent-server/sandbox/shell-provider.ts";

/** What goes wrong with a place for commands. */
export type Fault =
  | "none"
  /** Says that it is down. */
  | "down"
  /** Never says how it is. */
  | "silent"
  /** Breaks when it is asked how it is. */
  | "broken_probe"
  /** Says that it is well and cannot begin anything. */
  | "liar"
  /** Breaks in a way of its own before it begins. */
  | "bug"
  /** Never begins, and ends when it is told to. */
  | "slow"
  /** Never begins, and does not listen. */
  | "deaf"
  /** Begins, and fails. */
  | "fails_begun"
  /** Begins, and breaks in a way of its own. */
  | "bug_begun"
  /** Begins, and goes away. */
  | "lost";

export interface PlainShell extends ShellProvider {
  fault: Fault;
  /** Commands it began. */
  readonly begun: string[];
  probes: number;
}

/** Bash without a sandbox, for tests of what chooses among places, with faults to be had. */
export function plainShell(id: string, of: { fault?: Fault; place?: ShellProvider["place"] } = {}): PlainShell {
  const shell: PlainShell = {
    id,
    title: `Shell ${id}`,
    place: of.place ?? "os_sandbox",
    fault: of.fault ?? "none",
    begun: [],
    probes: 0,
    version: () => "1.0",
    containment: () => "watched",
    async probe(): Promise<ProviderHealth> {
      shell.probes += 1;
      const checkedAt = new Date().toISOString();
      if (shell.fault === "silent") return new Promise(() => undefined);
      if (shell.fault === "broken_probe") throw new Error("probe");
      if (shell.fault === "down") return { status: "down", message: `${id} is not running.`, nextStep: `Start ${id}.`, checkedAt };
      return { status: "ok", message: `${id} works.`, nextStep: null, checkedAt };
    },
    run: (command) => run(shell, command),
    close: () => Promise.resolve(),
  };
  return shell;
}

async function run(shell: PlainShell, command: ShellCommand): Promise<ShellResult> {
  switch (shell.fault) {
    case "liar":
    case "down":
    case "silent":
    case "broken_probe":
      throw new LancelotError("unavailable", `${shell.id} cannot begin.`);
    case "bug":
      throw new TypeError("undefined is not a function");
    case "slow":
      await new Promise((resolve) => command.signal.addEventListener("abort", resolve, { once: true }));
      command.onStarted();
      break;
    case "deaf":
      return new Promise(() => undefined);
    case "none":
    case "fails_begun":
    case "bug_begun":
    case "lost":
      break;
  }
  command.onStarted();
  shell.begun.push(command.command);
  if (shell.fault === "fails_begun") throw new LancelotError("unavailable", `${shell.id} broke.`);
  if (shell.fault === "bug_begun") throw new TypeError("undefined is not a function");
  if (shell.fault === "lost") return { exitCode: null, ended: "lost", outputBytes: 0, durationMs: 1, killedOrphans: false };
  const started = performance.now();
  const child = spawn("bash", ["-c", command.command], {
    cwd: command.cwd,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env["PATH"] ?? "" },
  });
  let bytes = 0;
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      command.onOutput(name, chunk);
    });
  }
  const stop = (): void => void child.kill("SIGKILL");
  command.signal.addEventListener("abort", stop, { once: true });
  const exitCode = await new Promise<number | null>((resolve) => child.once("close", resolve));
  const ended = command.signal.aborted ? "stopped" : "exit";
  return { exitCode, ended, outputBytes: bytes, durationMs: performance.now() - started, killedOrphans: false };
}
