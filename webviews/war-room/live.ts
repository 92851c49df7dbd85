import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { LancelotError } from "../../agent-server/contract/errors.ts";
import type { Topic } from "../../agent-server/contract/events.ts";
import { type Bridge, isCancelled, problemOf } from "../shared/bridge.ts";
import type { Store } from "../shared/store.ts";

export interface LiveProblem {
  readonly text: string;
  /** The flag that switches this part off; null for any other problem. */
  readonly flag: string | null;
}

/** What a panel shows of the host: read once when it is first looked at, and again when an event says that it changed. */
export interface Live<T> {
  readonly value: ReadonlySignal<T | null>;
  readonly problem: ReadonlySignal<LiveProblem | null>;
  readonly loading: ReadonlySignal<boolean>;
  refresh(): void;
}

export interface LiveOptions<T> {
  readonly bridge: Bridge;
  readonly store: Pick<Store, "generation">;
  /** True while the panel is on screen; nothing is read for a panel that is not. */
  readonly shown: ReadonlySignal<boolean>;
  /** Events after which what was read is stale. */
  readonly topics: readonly Topic[];
  readonly read: (signal: AbortSignal) => Promise<T>;
  /** Milliseconds between two reads at least; for topics that come in bursts. */
  readonly restMs?: number;
}

/** The owner's words for a failed read; a flag that is off is named, so that the panel can offer to switch it on. */
export function liveProblem(error: unknown): LiveProblem {
  const flag = error instanceof LancelotError && error.code === "disabled" ? error.data?.["flag"] : undefined;
  return { text: problemOf(error), flag: typeof flag === "string" ? flag : null };
}

export function createLive<T>({ bridge, store, shown, topics, read, restMs = 0 }: LiveOptions<T>): Live<T> {
  const value = signal<T | null>(null);
  const problem = signal<LiveProblem | null>(null);
  const loading = signal(false);
  const wanted = new Set<Topic>(topics);
  let stale = true;
  let reading: AbortController | undefined;
  let resting: ReturnType<typeof setTimeout> | undefined;

  async function fetchNow(): Promise<void> {
    stale = false;
    const mine = new AbortController();
    reading = mine;
    loading.value = true;
    try {
      const result = await read(mine.signal);
      if (reading !== mine) return;
      value.value = result;
      problem.value = null;
    } catch (error) {
      if (reading === mine && !isCancelled(error)) problem.value = liveProblem(error);
    }
    if (reading !== mine) return;
    reading = undefined;
    loading.value = false;
    if (restMs > 0) {
      resting = setTimeout(() => {
        resting = undefined;
        attempt();
      }, restMs);
    } else attempt();
  }

  /** Reads when it is due; else what ends the waiting (answer, rest, panel shown) comes back here. */
  function attempt(): void {
    if (!stale || reading !== undefined || resting !== undefined || !shown.peek() || store.generation.peek() === 0) return;
    void fetchNow();
  }

  function refresh(): void {
    stale = true;
    attempt();
  }

  bridge.onEvent((event) => {
    if (wanted.has(event.topic)) refresh();
  });
  // Another host process, or events that were missed: an answer on its way may be of before, and is not waited for.
  store.generation.subscribe((generation) => {
    if (generation === 0) return;
    reading?.abort();
    reading = undefined;
    clearTimeout(resting);
    resting = undefined;
    refresh();
  });
  effect(() => {
    if (shown.value) attempt();
  });
  return { value, problem, loading, refresh };
}
