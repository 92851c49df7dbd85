import { readdirSync, readFileSync } from "node:fs";
import { treeOf } from "./process-watch.ts";

/** How often the processes are listed before they count as impossible to stop, and the wait (ms) between two lists. */
const maxPasses = 400;
const between = 2;
/** After this many passes, processes that wait for a child that they share memory with (vfork) are let go on for a moment. */
const passesPerTry = 8;

/** Processes that were stopped. */
export interface PausedProcesses {
  /** Lets them continue. @returns false when one of them ran in the meantime */
  resume(): boolean;
}

interface Seen {
  /** Identifies processes, threads, states and how often each thread ran. */
  readonly facts: string;
  readonly running: number[];
  readonly stopped: number[];
}

/**
 * Stops every process below the first process of a pid namespace. No such process can continue by itself: it would need a signal of a
 * timer or of a file, which the filter of background commands denies (seccomp.ts). A pass counts when it finds what the one before found,
 * so that no process can hide by moving to another parent.
 * @returns null when they cannot be stopped; the caller then ends them
 */
export async function pauseProcesses(first: number): Promise<PausedProcesses | null> {
  /** Processes that were stopped already are left so. */
  const ownStops = new Set(look(first).stopped);
  const stopped = new Set<number>();
  const resumeAll = (): void => {
    for (const pid of stopped) send(pid, "SIGCONT");
    stopped.clear();
  };
  let last: string | null = null;
  for (let pass = 1; pass <= maxPasses; pass += 1) {
    const seen = look(first);
    if (seen.running.length === 0 && seen.facts === last) {
      const { facts } = seen;
      return {
        resume() {
          const same = look(first).facts === facts;
          resumeAll();
          return same;
        },
      };
    }
    last = seen.running.length === 0 ? seen.facts : null;
    for (const pid of seen.running) {
      send(pid, "SIGSTOP");
      if (!ownStops.has(pid)) stopped.add(pid);
    }
    if (pass % passesPerTry === 0) resumeAll();
    await new Promise((resolve) => setTimeout(resolve, between));
  }
  resumeAll();
  return null;
}

/** The processes below one, with the state of each of their threads. */
function look(first: number): Seen {
  const facts: string[] = [];
  const running: number[] = [];
  const stopped: number[] = [];
  for (const pid of treeOf(first)) {
    const threads = threadsOf(pid);
    facts.push(`${pid} ${threads.map(({ facts: of }) => of).join()}`);
    // A process that has ended stays in the list until its parent collects it.
    const isOver = threads.every(({ state }) => state === "Z" || state === "X");
    if (isOver) continue;
    const isStopped = threads.every(({ state }) => state === "T" || state === "t" || state === "Z" || state === "X");
    (isStopped ? stopped : running).push(pid);
  }
  return { facts: facts.join("\n"), running, stopped };
}

function threadsOf(pid: number): { state: string; facts: string }[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
      const status = read(`/proc/${pid}/task/${thread}/status`);
      if (status === null) return [];
      const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(status)?.[1] ?? "";
      const state = field("State");
      return [{ state, facts: `${thread}${state}${field("voluntary_ctxt_switches")}.${field("nonvoluntary_ctxt_switches")}` }];
    });
  } catch {
    return [];
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

function send(pid: number, signal: "SIGSTOP" | "SIGCONT"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process ended in the meantime.
  }
}
