import { readdirSync, readFileSync } from "node:fs";
import type { SandboxLimits } from "../shell-provider.ts";

/** Milliseconds between two looks. */
const every = 100;

/** Processes below one, itself included, as the kernel lists them. */
export function treeOf(pid: number): number[] {
  const found: number[] = [];
  const waiting = [pid];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    found.push(at);
    if (found.length > 100_000) break;
    try {
      for (const task of readdirSync(`/proc/${at}/task`)) {
        for (const child of readFileSync(`/proc/${at}/task/${task}/children`, "utf8").split(" "))
          if (child !== "") waiting.push(Number(child));
      }
    } catch {
      // It ended meanwhile.
    }
  }
  return found;
}

/** Bytes of memory a process has to itself, and its share of what it shares; 0 when it is gone. */
function memoryOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? "0") * 1024;
    return field("RssAnon") + field("RssShmem") + field("VmSwap");
  } catch {
    return 0;
  }
}

/** What a process really has, pages that several share counted once in all; slower. */
function shareOf(pid: number): number {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1] ?? "0") * 1024;
    return field("Pss_Anon") + field("Pss_Shmem") + field("SwapPss");
  } catch {
    return 0;
  }
}

/**
 * Looks after a command that runs where no control group does: that its processes together keep to the limits on memory and their
 * number.
 * @param pid the first process of the command. @param end called once, with what was overstepped.
 * @returns how to stop looking.
 */
export function watchProcesses(
  pid: number,
  limits: Pick<SandboxLimits, "memoryBytes" | "processes">,
  end: (why: "memory" | "processes") => void,
): () => void {
  const timer = setInterval(() => {
    const tree = treeOf(pid);
    // A little above what the kernel refuses by itself, for where it does not.
    const why =
      tree.length > limits.processes * 1.5 + 8
        ? "processes"
        : sum(tree, memoryOf) > limits.memoryBytes && sum(tree, shareOf) > limits.memoryBytes
          ? "memory"
          : null;
    if (why === null) return;
    clearInterval(timer);
    end(why);
  }, every);
  return () => clearInterval(timer);
}

function sum(pids: readonly number[], of: (pid: number) => number): number {
  return pids.reduce((total, pid) => total + of(pid), 0);
}
