import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Receipt } from "../../agent-server/contract/receipts.ts";
import { type Bridge, isCancelled } from "../shared/bridge.ts";
import type { Store } from "../shared/store.ts";

/** Before what: a whole task, or one action of it. */
export type Before = { readonly questId: string } | { readonly id: string };

/** Paths that differ now from what they were before; null while that is not known. */
export type DifferingPaths = ReadonlySet<string> | null;

/** Which files differ from before. Tells an accepted change, or what a command wrote, from one that was undone since. */
export interface Differing {
  of(before: Before): ReadonlySignal<DifferingPaths>;
  /** Keeps `of(before)` true until the returned function is called. */
  watch(before: Before): () => void;
}

/** Milliseconds after a restore, and after any other effect, before files are looked at again: a task at work has many. */
const restoreRestMs = 200;
const effectRestMs = 2000;

interface Watched {
  readonly before: Before;
  readonly paths: Signal<DifferingPaths>;
  watchers: number;
  reading: AbortController | null;
}

/** How long to rest after a finished action that may have changed files; null for any other receipt. */
function restAfter({ status, riskTier, actionType, actionName }: Receipt): number | null {
  if (status === "pending") return null;
  if (actionName.endsWith("_restore")) return restoreRestMs;
  return riskTier !== "T0" && (actionType === "file_op" || actionType === "tool_call") ? effectRestMs : null;
}

export function createDiffering(bridge: Bridge, store: Pick<Store, "generation">): Differing {
  const all = new Map<string, Watched>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  function entry(before: Before): Watched {
    const key = "id" in before ? `id ${before.id}` : `quest ${before.questId}`;
    const known = all.get(key);
    if (known !== undefined) return known;
    const made: Watched = { before, paths: signal<DifferingPaths>(null), watchers: 0, reading: null };
    all.set(key, made);
    return made;
  }

  async function read(watched: Watched): Promise<void> {
    watched.reading?.abort();
    const mine = new AbortController();
    watched.reading = mine;
    try {
      const { files } = await bridge.call("checkpoints.diff", watched.before, mine.signal);
      if (watched.reading === mine) watched.paths.value = new Set(files.map(({ path }) => path));
    } catch (error) {
      // Then it is not said that anything was undone.
      if (watched.reading === mine && !isCancelled(error)) watched.paths.value = null;
    }
  }

  /** One after the other, and none for cards that are out of sight: each lookup reads files. */
  async function readAll(): Promise<void> {
    for (const watched of all.values()) if (watched.watchers > 0) await read(watched);
  }

  /** What was read is of before now: nothing is said until it was read again. */
  function refresh(afterMs: number): void {
    for (const watched of all.values()) {
      watched.reading?.abort();
      watched.paths.value = null;
    }
    clearTimeout(timer);
    timer = setTimeout(() => void readAll(), afterMs);
  }

  bridge.onEvent((event) => {
    if (event.topic === "change") refresh(effectRestMs);
    if (event.topic !== "receipt") return;
    const rest = restAfter(event.payload);
    if (rest !== null) refresh(rest);
  });
  store.generation.subscribe((generation) => {
    if (generation > 0) refresh(0);
  });

  return {
    of: (before) => entry(before).paths,
    watch(before) {
      const watched = entry(before);
      watched.watchers += 1;
      if (watched.watchers === 1 && store.generation.peek() > 0) void read(watched);
      return () => {
        watched.watchers -= 1;
      };
    },
  };
}
