import { readFileSync } from "node:fs";
import { release } from "node:os";

/** Timeout for the processes of a namespace to end, ms. */
const goneWithin = 10_000;

/** Since Linux 5.14, the process limit counts only the sandbox's processes; before, all of the user's. */
export function countsByNamespace(): boolean {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}

/** Start time of a process in ticks; null when it no longer exists or is a zombie. */
export function startTimeOf(pid: number): string | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
      .replace(/^.*\) /s, "")
      .split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}

export function killQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process no longer exists, or belongs to the user of bubblewrap: then it ends with its parent.
  }
}

/** Waits for the first process of a namespace, whose end implies the end of all others. */
export async function untilGone(first: { readonly pid: number; readonly startedAt: string } | null): Promise<void> {
  if (first === null) return;
  const deadline = Date.now() + goneWithin;
  for (let wait = 1; startTimeOf(first.pid) === first.startedAt && Date.now() < deadline; wait = Math.min(wait * 2, 20)) {
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
