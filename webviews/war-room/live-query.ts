import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { LancelotError } from "../../agent-server/contract/errors.ts";
import type { Topic } from "../../agent-server/contract/events.ts";
import { type Bridge, isCancelled, problemOf } from "../shared/bridge.ts";
import type { Store } from "../shared/store.ts";

export interface QueryProblem {
  readonly text: string;
  /** The flag that disables this part; null for any other problem. */
  readonly flag: string | null;
}

/** Data that a panel reads from the host: when the panel is first visible, and again after an event that changes the data. */
export interface LiveQuery<T> {
  readonly value: ReadonlySignal<T | null>;
  readonly problem: ReadonlySignal<QueryProblem | null>;
  readonly loading: ReadonlySignal<boolean>;
  refresh(): void;
}

export interface LiveQueryOptions<T> {
  readonly bridge: Bridge;
  readonly store: Pick<Store, "generation">;
  /** True while the panel is visible; a hidden panel reads nothing. */
  readonly shown: ReadonlySignal<boolean>;
  /** Topics of the events that make the data stale. */
  readonly topics: readonly Topic[];
  readonly read: (signal: AbortSignal) => Promise<T>;
  /** Minimum milliseconds between two reads, for topics that come in bursts. */
  readonly minIntervalMs?: number;
}

/** Returns the message of a failed read. Names a disabled flag, so that the panel can offer to enable it. */
export function queryProblem(error: unknown): QueryProblem {
  const flag = error instanceof LancelotError && error.code === "disabled" ? error.data?.["flag"] : undefined;
  return { text: problemOf(error), flag: typeof flag === "string" ? flag : null };
}

export function createLiveQuery<T>({ bridge, store, shown, topics, read, minIntervalMs = 0 }: LiveQueryOptions<T>): LiveQuery<T> {
  const value = signal<T | null>(null);
  const problem = signal<QueryProblem | null>(null);
  const loading = signal(false);
  const topicSet = new Set<Topic>(topics);
  let stale = true;
  let reading: AbortController | undefined;
  let pause: ReturnType<typeof setTimeout> | undefined;

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
      if (reading === mine && !isCancelled(error)) problem.value = queryProblem(error);
    }
    if (reading !== mine) return;
    reading = undefined;
    loading.value = false;
    if (minIntervalMs > 0) {
      pause = setTimeout(() => {
        pause = undefined;
        attempt();
      }, minIntervalMs);
    } else attempt();
  }

  /** Reads if the data is stale and nothing blocks the read. Every event that ends a block calls this again. */
  function attempt(): void {
    if (!stale || reading !== undefined || pause !== undefined || !shown.peek() || store.generation.peek() === 0) return;
    void fetchNow();
  }

  function refresh(): void {
    stale = true;
    attempt();
  }

  bridge.onEvent((event) => {
    if (topicSet.has(event.topic)) refresh();
  });
  // A new host process or missed events: a pending response may be outdated, so it is dropped.
  store.generation.subscribe((generation) => {
    if (generation === 0) return;
    reading?.abort();
    reading = undefined;
    clearTimeout(pause);
    pause = undefined;
    refresh();
  });
  effect(() => {
    if (shown.value) attempt();
  });
  return { value, problem, loading, refresh };
}
