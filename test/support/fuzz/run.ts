import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { createInputs } from "./inputs.ts";
import { type Group, targetsOf } from "./targets.ts";
import type { Order, Report } from "./worker/main.ts";

/**
 * A worker that uses so much processor time for one input is ended; then it gets the second time for that input alone, to be sure of a hang.
 */
const hangMs = [10_000, 60_000] as const;
/** A worker that neither works nor goes on is ended after this time by the clock. Nothing is known of one that is still loading its code. */
const idleMs = 300_000;
/** As in the product's processes, where a deep recursion ends earlier than in a thread. */
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64, stackSizeMb: 1 };

export interface FuzzOptions {
  readonly seed: number;
  /** Inputs of each target; more of them for `forMs`. */
  readonly count: number;
  readonly forMs?: number;
  /** Only targets whose name contains it. */
  readonly part?: string;
  /** Called with each report as it comes. */
  readonly onReport?: (report: Report) => void;
}

/**
 * Fuzzes the targets of a group. Each input must end as its target says, within a bound of work and memory; a worker that hangs is ended and
 * its input reported.
 */
export async function fuzz(
  group: Group,
  { seed, count, forMs = 0, part = "", onReport = () => undefined }: FuzzOptions,
): Promise<Report[]> {
  const targets = await targetsOf(group, part);
  const reports: Report[] = [];
  const take = (report: Report): void => {
    reports.push(report);
    onReport(report);
  };
  let from: Order["from"] = [0, 0];
  let since = 0;
  while (from[0] < targets.length) {
    const order = { group, part, seed, count, forMs };
    const stopped = await runWorker({ ...order, from, since, only: false }, hangMs[0], take);
    if (stopped === null) break;
    const [at, index] = stopped.at;
    since = 0;
    const target = targets[at];
    if (target === undefined) throw new Error(`A worker of ${group} ended before its first target: ${stopped.why}`);
    // Alone, with more time, it decides.
    const again = await runWorker({ ...order, from: [at, index], since, count: index + 1, forMs: 0, only: true }, hangMs[1], take);
    if (again === null) {
      from = [at, index + 1];
      since = stopped.since;
      continue;
    }
    const kind = again.why === "" ? "hung" : "ended";
    const fault = { target: target.name, kind, detail: again.why, input: createInputs(target, seed)(index) } as const;
    take({ target: target.name, inputs: index, faults: [fault], slowestMs: Number.POSITIVE_INFINITY });
    from = [at + 1, 0];
  }
  return reports;
}

/**
 * The target and input in which a worker ended, when it began that target, and why; `why` is empty when it did not come back. Null when it
 * did all it was to do.
 */
type End = { readonly at: Order["from"]; readonly since: number; readonly why: string } | null;

/** Of the whole process: while a worker runs, its parent waits. */
function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

async function runWorker(order: Omit<Order, "at" | "folder">, patienceMs: number, take: (report: Report) => void): Promise<End> {
  // Target, input, attempts at a shorter input, second in which the target began.
  const at = new SharedArrayBuffer(16);
  const running = new Int32Array(at).fill(-1);
  const folder = mkdtempSync(join(tmpdir(), "lancelot-fuzz-"));
  const worker = new Worker(new URL("worker/main.ts", import.meta.url), {
    workerData: { ...order, folder, at } satisfies Order,
    resourceLimits,
    stderr: true,
  });
  const where = (): Order["from"] => [running[0] ?? 0, running[1] ?? 0];
  try {
    return await new Promise<End>((resolve) => {
      const stop = (why: string): void => resolve({ at: where(), since: running[3] ?? 0, why });
      let last = "";
      let since = { clock: Date.now(), used: usedMs() };
      const watch = setInterval(() => {
        const now = running.join(" ");
        if (now !== last) {
          last = now;
          since = { clock: Date.now(), used: usedMs() };
        } else if (Date.now() - since.clock > idleMs || (where()[0] >= 0 && usedMs() - since.used > patienceMs)) stop("");
      }, 500);
      worker.on("message", (report: Report | null) => (report === null ? resolve(null) : take(report)));
      worker.once("error", (error) => stop(`${error.name}: ${error.message}`));
      worker.once("exit", (code) => {
        clearInterval(watch);
        stop(`the thread ended with ${code}`);
      });
    });
  } finally {
    await worker.terminate();
    rmSync(folder, { recursive: true, force: true });
  }
}
