import { readdirSync, readFileSync, statfsSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxLimits } from "../shell.ts";

/** Milliseconds between two looks. */
const every = 100;
/** Entries looked at to find what was written; more than that, and the disk's word is taken. */
const maxEntries = 200_000;

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
 * Looks after a command that runs: that it does not fill the disk and, where no control group does that, that its processes
 * together keep to the limits on memory and their number.
 * @param pid the first process of the command. @param end called once, with what was overstepped.
 * @returns how to stop looking.
 */
export function watchCommand(
  pid: number,
  workspace: string,
  limits: SandboxLimits,
  counted: boolean,
  end: (why: "memory" | "processes" | "disk") => void,
): () => void {
  const startedAt = Date.now();
  const free = () => {
    const { bavail, bsize } = statfsSync(workspace);
    return bavail * bsize;
  };
  const before = free();
  // A disk that is nearly full is not filled either.
  const allowed = Math.min(limits.workspaceBytes, before * 0.9);
  let over = false;
  let looking = false;
  let measuredAt = 0;
  const finish = (why: "memory" | "processes" | "disk") => {
    if (over) return;
    over = true;
    end(why);
  };
  const look = async () => {
    if (!counted) {
      const tree = treeOf(pid);
      // A little above what the kernel refuses by itself, for where it does not.
      if (tree.length > limits.processes * 1.5 + 8) return finish("processes");
      if (sum(tree, memoryOf) > limits.memoryBytes && sum(tree, shareOf) > limits.memoryBytes) return finish("memory");
    }
    // Others write to the disk as well: only when so much is gone is it looked who took it.
    if (before - free() > allowed && performance.now() - measuredAt > every * 5) {
      const written = await writtenSince(workspace, startedAt, allowed);
      measuredAt = performance.now();
      if (written > allowed) finish("disk");
    }
  };
  const timer = setInterval(() => {
    if (looking || over) return;
    looking = true;
    void look()
      .catch(() => {})
      .finally(() => (looking = false));
  }, every);
  return () => {
    over = true;
    clearInterval(timer);
  };
}

function sum(pids: readonly number[], of: (pid: number) => number): number {
  return pids.reduce((total, pid) => total + of(pid), 0);
}

/** Bytes on the disk of files below `folder` that changed since then (ms); stops counting at `enough`. */
async function writtenSince(folder: string, since: number, enough: number): Promise<number> {
  let bytes = 0;
  let seen = 0;
  const waiting = [folder];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const entries = await readdir(at, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      seen += 1;
      if (seen > maxEntries) return Number.POSITIVE_INFINITY;
      const path = join(at, entry.name);
      if (entry.isDirectory()) waiting.push(path);
      else if (entry.isFile()) {
        const stats = await lstat(path).catch(() => null);
        // The clock of a disk may lag a little.
        if (stats !== null && stats.ctimeMs >= since - 1_000) bytes += stats.blocks * 512;
        if (bytes > enough) return bytes;
      }
    }
  }
  return bytes;
}
