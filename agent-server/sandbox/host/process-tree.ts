import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Milliseconds between two rounds, and rounds: what makes new processes as fast as they are ended is given up on. */
const between = 20;
const rounds = 100;

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
}

/**
 * Everything a command left that still runs after its first process has ended: its group, what descends from it, and, where the system tells (Linux), what
 * carries its mark in the environment, so that a daemon is found that left its group and its parents. One that also drops its environment is
 * found while anything between it and the command is alive, and not after.
 */
export function findCommandProcesses(
  root: number,
  mark: string,
  entries: readonly ProcessEntry[],
  environmentOf: (pid: number) => string,
): number[] {
  const found = new Set<number>();
  // A process of that number is a new one, which has nothing to do with the command; nor has its group.
  const reused = entries.some(({ pid }) => pid === root);
  if (!reused) for (const { pid, group } of entries) if (group === root) found.add(pid);
  for (const { pid } of entries) if (!found.has(pid) && environmentOf(pid).includes(mark)) found.add(pid);
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const { pid, parent } of entries) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}

/** Processes of this machine that are not over. */
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
 * Ends everything a command started. First it is all stopped, so that nothing is started while it is looked for, then killed.
 * @returns whether there was anything.
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

/** Sends a signal to a process, or with a negative id to its group. What is gone needs none. */
export function signalQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone, or has become somebody else's.
  }
}
