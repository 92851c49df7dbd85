import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { WrittenBytes } from "../container/disk-usage.ts";
import type { SandboxLimits } from "../shell-provider.ts";

/** Interval of checks in milliseconds. */
const every = 100;

/** Descendants of a process, itself included, as the kernel lists them. */
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
      // The process ended in the meantime.
    }
  }
  return found;
}

/** Private memory of a process in bytes, plus its share of shared pages; 0 when it no longer exists. */
function memoryOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? "0") * 1024;
    return field("RssAnon") + field("RssShmem") + field("VmSwap");
  } catch {
    return 0;
  }
}

/** Proportional memory of a process, in which shared pages count once in total; slower. */
function shareOf(pid: number): number {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1] ?? "0") * 1024;
    return field("Pss_Anon") + field("Pss_Shmem") + field("SwapPss");
  } catch {
    return 0;
  }
}

/** Counts the bytes that a process and those below it wrote, ended ones included; null without the kernel's count. */
export function writtenBy(pid: number): WrittenBytes | null {
  let [files, all] = [0, 0];
  for (const one of treeOf(pid)) {
    try {
      const counts = readFileSync(`/proc/${one}/io`, "utf8");
      const [output = 0, written = 0] = ["wchar", "write_bytes"].map((name) =>
        Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(counts)?.[1] ?? "0"),
      );
      files += written;
      all += Math.max(output, written);
    } catch {
      // A process that ended in the meantime is counted with its parent.
      if (existsSync(`/proc/${one}`)) return null;
    }
  }
  return { files, all };
}

/**
 * Monitors a command without a control group: its processes together must respect the limits on memory and number of
 * processes.
 * @param pid the first process of the command @param end called once, with the exceeded limit
 * @returns a function that stops monitoring
 */
export function watchProcesses(
  pid: number,
  limits: Pick<SandboxLimits, "memoryBytes" | "processes">,
  end: (why: "memory" | "processes") => void,
): () => void {
  const timer = setInterval(() => {
    const tree = treeOf(pid);
    // Slightly above the kernel's own limit, for cases where the kernel does not enforce it.
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
