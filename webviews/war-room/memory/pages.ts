import { computed, type ReadonlySignal } from "@preact/signals";
import type { Bridge } from "../../shared/bridge.ts";
import type { Store } from "../../shared/store.ts";
import { createLive, type Live } from "../live.ts";

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string | undefined;
}

/** A list that is read page by page, and again as far as it was read when an event says that it changed. */
export interface Pages<T> {
  readonly items: ReadonlySignal<readonly T[]>;
  readonly problem: Live<unknown>["problem"];
  readonly loading: ReadonlySignal<boolean>;
  /** True once the first page is here. */
  readonly loaded: ReadonlySignal<boolean>;
  /** True while there is more behind what was read. */
  readonly more: ReadonlySignal<boolean>;
  /** Reads from the start; `anew` forgets how far it was read. */
  reload(anew?: boolean): void;
  /** Reads on when the last rows are near. */
  needRow(index: number): void;
}

export interface PagesOptions<T> {
  readonly bridge: Bridge;
  readonly store: Pick<Store, "generation">;
  readonly shown: ReadonlySignal<boolean>;
  readonly read: (cursor: string | undefined, abort: AbortSignal) => Promise<Page<T>>;
  readonly keyOf: (item: T) => string;
}

interface Read<T> extends Page<T> {
  readonly pages: number;
}

/** Milliseconds between two reads: an agent at work changes memory in bursts. */
const restMs = 250;
/** Rows left below the screen when the next page is asked for. */
const lookAhead = 40;
/** Pages that are read again when something changed; what was read beyond them is read again by scrolling. */
const pagesAgain = 5;

export function createPages<T>({ bridge, store, shown, read, keyOf }: PagesOptions<T>): Pages<T> {
  let append = false;
  let fresh = true;
  let wanted = 1;
  bridge.onEvent(({ topic }) => {
    if (topic === "memory" || topic === "flags") fresh = true;
  });
  store.generation.subscribe(() => {
    fresh = true;
  });

  async function again(abort: AbortSignal): Promise<Read<T>> {
    let all: Read<T> = { items: [], pages: 0 };
    do all = join(all, await read(all.nextCursor, abort));
    while (all.pages < Math.min(wanted, pagesAgain) && all.nextCursor !== undefined);
    return all;
  }

  function join(before: Read<T>, page: Page<T>): Read<T> {
    const known = new Set(before.items.map(keyOf));
    return { ...page, items: [...before.items, ...page.items.filter((item) => !known.has(keyOf(item)))], pages: before.pages + 1 };
  }

  const live: Live<Read<T>> = createLive<Read<T>>({
    ...{ bridge, store, shown, restMs, topics: ["memory", "flags"] as const },
    async read(abort) {
      const before = live.value.peek();
      const on = append && !fresh && before?.nextCursor !== undefined;
      append = false;
      fresh = false;
      const next = on ? join(before, await read(before.nextCursor, abort)) : await again(abort);
      wanted = next.pages;
      return next;
    },
  });
  const none: readonly T[] = [];
  return {
    items: computed(() => live.value.value?.items ?? none),
    problem: live.problem,
    loading: live.loading,
    loaded: computed(() => live.value.value !== null),
    more: computed(() => live.value.value?.nextCursor !== undefined),
    reload(anew = false) {
      fresh = true;
      if (anew) wanted = 1;
      live.refresh();
    },
    needRow(index) {
      const now = live.value.peek();
      if (now?.nextCursor === undefined || live.loading.peek() || index < now.items.length - lookAhead) return;
      append = true;
      live.refresh();
    },
  };
}
