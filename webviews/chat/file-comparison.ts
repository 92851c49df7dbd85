import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Receipt } from "../../agent-server/contract/receipts.ts";
import { type Bridge, isCancelled } from "../shared/bridge.ts";
import type { Store } from "../shared/store.ts";

/** The state to compare with: before a whole task, or before one action. */
export type Baseline = { readonly questId: string } | { readonly id: string };

/** Paths whose content differs from the baseline; null while unknown. */
export type ChangedPaths = ReadonlySet<string> | null;

/** Compares files with their content before a task or action, to tell an applied change from an undone one. */
export interface FileComparison {
  changedPaths(baseline: Baseline): ReadonlySignal<ChangedPaths>;
  /** Keeps `changedPaths(baseline)` up to date until the returned function is called. */
  watch(baseline: Baseline): () => void;
}

/** Delays in milliseconds before the next comparison. Other effects wait longer than a restore, because a running task has many. */
const restoreDelayMs = 200;
const effectDelayMs = 2000;

interface Watch {
  readonly baseline: Baseline;
  readonly paths: Signal<ChangedPaths>;
  watchers: number;
  reading: AbortController | null;
}

/** Returns the delay in milliseconds after a receipt that may have changed files; null for any other receipt. */
function delayAfter({ status, riskTier, actionType, actionName }: Receipt): number | null {
  if (status === "pending") return null;
  if (actionName.endsWith("_restore")) return restoreDelayMs;
  return riskTier !== "T0" && (actionType === "file_op" || actionType === "tool_call") ? effectDelayMs : null;
}

export function createFileComparison(bridge: Bridge, store: Pick<Store, "generation">): FileComparison {
  const all = new Map<string, Watch>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  function entry(baseline: Baseline): Watch {
    const key = "id" in baseline ? `id ${baseline.id}` : `quest ${baseline.questId}`;
    const known = all.get(key);
    if (known !== undefined) return known;
    const made: Watch = { baseline, paths: signal<ChangedPaths>(null), watchers: 0, reading: null };
    all.set(key, made);
    return made;
  }

  async function read(watch: Watch): Promise<void> {
    watch.reading?.abort();
    const mine = new AbortController();
    watch.reading = mine;
    try {
      const { files } = await bridge.call("checkpoints.diff", watch.baseline, mine.signal);
      if (watch.reading === mine) watch.paths.value = new Set(files.map(({ path }) => path));
    } catch (error) {
      // An unknown state must not show a change as undone.
      if (watch.reading === mine && !isCancelled(error)) watch.paths.value = null;
    }
  }

  /** Runs comparisons one at a time and only for visible cards, because each reads files. */
  async function readAll(): Promise<void> {
    for (const watch of all.values()) if (watch.watchers > 0) await read(watch);
  }

  /** Marks all comparisons as unknown and reads them again after a delay. */
  function refresh(afterMs: number): void {
    for (const watch of all.values()) {
      watch.reading?.abort();
      watch.paths.value = null;
    }
    clearTimeout(timer);
    timer = setTimeout(() => void readAll(), afterMs);
  }

  bridge.onEvent((event) => {
    if (event.topic === "change") refresh(effectDelayMs);
    if (event.topic !== "receipt") return;
    const delay = delayAfter(event.payload);
    if (delay !== null) refresh(delay);
  });
  store.generation.subscribe((generation) => {
    if (generation > 0) refresh(0);
  });

  return {
    changedPaths: (baseline) => entry(baseline).paths,
    watch(baseline) {
      const watch = entry(baseline);
      watch.watchers += 1;
      if (watch.watchers === 1 && store.generation.peek() > 0) void read(watch);
      return () => {
        watch.watchers -= 1;
      };
    },
  };
}
