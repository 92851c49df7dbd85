import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { runVariable } from "./container-scripts.ts";
import { pause } from "./process-termination.ts";

const goneWithin = 3_000;

/** Ends the processes of one command from this machine, when its engine does not. */
export interface HostTermination {
  /** Never throws. @returns true when processes of the command were found here, now or earlier, and none of them is left. */
  kill(): Promise<boolean>;
}

/**
 * Finds a command by its marker in the environment of its processes, and kills every process of the same PID namespace, since a process can
 * drop its environment but not its namespace.
 * @param mark the marker of the command
 * @param hasLocalProcesses false when the engine runs on another machine or in a virtual one
 */
export function createHostTermination(mark: string, hasLocalProcesses: boolean): HostTermination {
  const namespaces = new Set<string>();
  const own = hasLocalProcesses ? namespaceOf("self") : null;
  const marker = `${runVariable}=${mark}\0`;

  return {
    async kill() {
      if (own === null) return false;
      const end = performance.now() + goneWithin;
      for (;;) {
        const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
        for (const pid of all) {
          const namespace = hasMarker(pid, marker) ? namespaceOf(pid) : null;
          if (namespace !== null && namespace !== own) namespaces.add(namespace);
        }
        if (namespaces.size === 0) return false;
        const left = all.filter((pid) => namespaces.has(namespaceOf(pid) ?? "") && !isZombie(pid));
        if (left.length === 0) return true;
        if (performance.now() > end) return false;
        for (const pid of left) killQuietly(Number(pid));
        await pause(20);
      }
    },
  };
}

/** The PID namespace of a process; null when it ended, or when it belongs to somebody else. */
function namespaceOf(pid: string): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return null;
  }
}

function hasMarker(pid: string, marker: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`).includes(marker);
  } catch {
    return false;
  }
}

function isZombie(pid: string): boolean {
  try {
    return /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
  } catch {
    return true;
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended, or belongs to another user, as the container's own process does.
  }
}
