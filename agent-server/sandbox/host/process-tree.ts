import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Interval in milliseconds and number of rounds, after which a command that keeps starting processes is given up on. */
const between = 20;
const rounds = 100;

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
}

/**
 * All processes of a command that still run after its first process ended: its group, its descendants and, on Linux, those with its
 * marker in the environment, which finds a daemon that left its group and parents. A daemon that also drops its environment is found only
 * while a process between it and the command is alive.
 */
export function findCommandProcesses(
  root: number,
  mark: string,
  entries: readonly ProcessEntry[],
  environmentOf: (pid: number) => string,
): number[] {
  const found = new Set<number>();
  // A process with this number may be an unrelated new one, and then its group is unrelated too.
  const reused = entries.some(({ pid }) => pid === root);
  if (!reused) for (const { pid, group } of entries) if (group === root) found.add(pid);
  for (const { pid } of entries) if (!found.has(pid) && environmentOf(pid).includes(mark)) found.add(pid);
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const { pid, parent } of entries) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}

/** Live processes of this machine. */
async function listProcesses(): Promise<ProcessEntry[]> {
  if (process.platform === "linux") {
    return readdirSync("/proc").flatMap((name) => {
      if (!/^\d+$/.test(name)) return [];
      try {
        const [state, parent, group] = readFileSync(`/proc/${name}/stat`, "latin1")
          .replace(/^.*\) /s, "")
          .split(" ");
        return state === "Z" || state === "X" ? [] : [{ pid: Number(name), parent: Number(parent), group: Number(group) }];
      } catch {
        return [];
      }
    });
  }
  const { stdout } = await run("ps", ["-axo", "pid=,ppid=,pgid=,stat="], { maxBuffer: 16 << 20 });
  return stdout.split("\n").flatMap((line) => {
    const [pid, parent, group, state = "Z"] = line.trim().split(/\s+/);
    return pid === undefined || pid === "" || state.startsWith("Z")
      ? []
      : [{ pid: Number(pid), parent: Number(parent), group: Number(group) }];
  });
}

function environmentOf(pid: number): string {
  if (process.platform !== "linux") return "";
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1");
  } catch {
    return "";
  }
}

/**
 * Kills everything a command started. Stops all processes first, so that none can start new ones during the search.
 * @returns whether there were any
 */
export async function killProcessTree(root: number, mark: string): Promise<boolean> {
  let any = false;
  for (let round = 0; round < rounds; round += 1) {
    const left = findCommandProcesses(root, mark, await listProcesses(), environmentOf);
    if (left.length === 0) return any;
    any = true;
    for (const signal of ["SIGSTOP", "SIGKILL"] as const) for (const pid of left) signalQuietly(pid, signal);
    await new Promise((resolve) => setTimeout(resolve, between));
  }
  return any;
}

/** Sends a signal to a process or, with a negative id, to its group. Ignores processes that no longer exist. */
export function signalQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process no longer exists, or its number now belongs to another user.
  }
}
