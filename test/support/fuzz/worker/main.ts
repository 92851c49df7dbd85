import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { setImmediate } from "node:timers/promises";
import { runInNewContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import { createInputs } from "../inputs.ts";
import { shrink } from "../shrink.ts";
import type { Call, Target } from "../target.ts";
import { type Group, targetsOf } from "../targets.ts";

// Runs inputs of the targets of a group, one after the other. The numbers of the running target and input are in `at`, so that they are known
// when this thread does not come back from one.

/** What a worker is asked to do. */
export interface Order {
  readonly group: Group;
  /** Only targets whose name contains it. */
  readonly part: string;
  readonly seed: number;
  /** The target and its input to begin with. */
  readonly from: readonly [target: number, input: number];
  /** When that target began, in seconds of the epoch; 0 for now. */
  readonly since: number;
  /** Inputs of each target; more of them for `forMs`. */
  readonly count: number;
  readonly forMs: number;
  /** Ends after the first target. */
  readonly only: boolean;
  readonly folder: string;
  readonly at: SharedArrayBuffer;
}

/** An input that broke what holds for all of them. */
export interface Fault {
  readonly target: string;
  readonly kind: "threw" | "slow" | "large" | "kept" | "hung" | "ended";
  readonly detail: string;
  readonly input: string;
}

/** How a target came out. */
export interface Report {
  readonly target: string;
  readonly inputs: number;
  readonly faults: readonly Fault[];
  /** The most work on one input, ms of this thread's processor time. */
  readonly slowestMs: number;
}

/** The most work on one input where the target says nothing else: processor time, so that a busy machine changes nothing. */
const usualMs = 1_000;
/** The most memory that one input may have in buffers, and that all of them may leave behind, bytes. */
const mostBytes = 256 * 1024 * 1024;
const mostKept = 96 * 1024 * 1024;
const mostFaults = 4;
/** Inputs after which a target has loaded and cached what it needs. */
const warmUp = 20;

const order = workerData as Order;
const running = new Int32Array(order.at);
// What the targets put into temporary folders goes with the folder of this run, even if the thread is ended.
process.env["TMPDIR"] = order.folder;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const heldBytes = (): number => {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

interface Outcome {
  readonly fault: Pick<Fault, "kind" | "detail"> | null;
  readonly ms: number;
}

async function attempt(target: Target, call: Call, text: string): Promise<Outcome> {
  const before = process.threadCpuUsage();
  let thrown: unknown = null;
  try {
    await call(text);
  } catch (error) {
    thrown = error ?? new Error("threw nothing");
  }
  const { user, system } = process.threadCpuUsage(before);
  const ms = (user + system) / 1_000;
  if (thrown !== null && !isExpected(target, thrown)) return { fault: { kind: "threw", detail: describe(thrown) }, ms };
  if (ms > (target.mostMs ?? usualMs)) return { fault: { kind: "slow", detail: `${Math.round(ms)} ms` }, ms };
  const bytes = ms > 5 ? process.memoryUsage().arrayBuffers : 0;
  return { fault: bytes > mostBytes ? { kind: "large", detail: `${Math.round(bytes / 1_048_576)} MB` } : null, ms };
}

/** The best of three attempts counts: the first one may load code, and collect what others left. */
async function settled(target: Target, call: Call, text: string): Promise<Outcome> {
  let best = await attempt(target, call, text);
  for (let again = 0; again < 2 && (best.fault?.kind === "slow" || best.fault?.kind === "large"); again += 1) {
    collect();
    const next = await attempt(target, call, text);
    if (next.ms < best.ms || next.fault === null) best = next;
  }
  return best;
}

function isExpected({ throws = [] }: Target, error: unknown): boolean {
  return error instanceof Error && ["LancelotError", ...throws].includes(error.name);
}

/** The error and where it was thrown, which is what faults of one cause have in common. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return `not an error: ${typeof error}`;
  const frame = /\n\s+at [^\n]*?((?:agent-server|extension|webviews|node_modules)\/[^\s)]+)/.exec(error.stack ?? "")?.[1] ?? "";
  return `${error.name}: ${error.message.slice(0, 200)} (${frame})`;
}

const causeOf = ({ kind, detail }: Pick<Fault, "kind" | "detail">): string => (kind === "threw" ? `threw ${detail.slice(0, 60)}` : kind);

async function fuzzTarget(target: Target, from: number, since: number): Promise<Report> {
  Atomics.store(running, 3, since);
  const untilMs = since * 1_000 + order.forMs;
  const call = await target.open(mkdtempSync(join(order.folder, "target-")));
  const input = createInputs(target, order.seed);
  const faults: Fault[] = [];
  let index = from;
  let slowestMs = 0;
  let before = 0;
  for (; (index < order.count || Date.now() < untilMs) && faults.length < mostFaults; index += 1) {
    if (index === from + warmUp) before = heldBytes();
    Atomics.store(running, 1, index);
    const text = input(index);
    // What an input leaves for later, such as effects of a view, gets its turn.
    if (index % 10 === 0) await setImmediate();
    const { fault, ms } = await settled(target, call, text);
    slowestMs = Math.max(slowestMs, ms);
    if (fault === null || faults.some((known) => causeOf(known) === causeOf(fault))) continue;
    const alike = async (shorter: string): Promise<boolean> => {
      Atomics.add(running, 2, 1);
      const { fault: found } = await attempt(target, call, shorter);
      return found !== null && causeOf(found) === causeOf(fault);
    };
    const shortest = await shrink(text, alike, fault.kind === "threw" ? 400 : 12);
    faults.push({ target: target.name, ...fault, input: shortest });
  }
  const kept = before === 0 ? 0 : heldBytes() - before;
  if (kept > mostKept)
    faults.push({
      target: target.name,
      kind: "kept",
      detail: `${Math.round(kept / 1_048_576)} MB after ${index - from} inputs`,
      input: "",
    });
  return { target: target.name, inputs: index - from, faults, slowestMs: Math.round(slowestMs) };
}

async function work(): Promise<void> {
  const targets = await targetsOf(order.group, order.part);
  const [first, from] = order.from;
  for (let at = first; at < (order.only ? first + 1 : targets.length); at += 1) {
    const target = targets[at];
    if (target === undefined) break;
    Atomics.store(running, 1, at === first ? from : 0);
    Atomics.store(running, 0, at);
    const since = at === first && order.since > 0 ? order.since : Math.floor(Date.now() / 1_000);
    parentPort?.postMessage(await fuzzTarget(target, at === first ? from : 0, since));
  }
  parentPort?.postMessage(null);
}

await work();
