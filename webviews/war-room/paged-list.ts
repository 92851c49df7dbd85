import { computed, type ReadonlySignal } from "@preact/signals";
import type { Topic } from "../../agent-server/contract/events.ts";
import type { Bridge } from "../shared/bridge.ts";
import type { Store } from "../shared/store.ts";
import { createLiveQuery, type LiveQuery } from "./live-query.ts";

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string | undefined;
}

/** A list that loads page by page. After an event it reloads the pages that were loaded before. */
export interface PagedList<T> {
  readonly items: ReadonlySignal<readonly T[]>;
  readonly problem: LiveQuery<unknown>["problem"];
  readonly loading: ReadonlySignal<boolean>;
  /** True after the first page has loaded. */
  readonly loaded: ReadonlySignal<boolean>;
  /** True while more pages exist. */
  readonly more: ReadonlySignal<boolean>;
  /** Reloads from the start. `fromFirstPage` also forgets how many pages were loaded. */
  reload(fromFirstPage?: boolean): void;
  /** Loads the next page when the last rows are near. */
  needRow(index: number): void;
}

export interface PagedListOptions<T> {
  readonly bridge: Bridge;
  readonly store: Pick<Store, "generation">;
  readonly shown: ReadonlySignal<boolean>;
  readonly read: (cursor: string | undefined, abort: AbortSignal) => Promise<Page<T>>;
  readonly keyOf: (item: T) => string;
  /** Topics of the events that make the list stale. */
  readonly topics: readonly Topic[];
}

interface Read<T> extends Page<T> {
  readonly pages: number;
}

/** Minimum milliseconds between two reads, because an agent causes events in bursts. */
const minIntervalMs = 250;
/** Number of rows before the end at which the next page is loaded. */
const lookAhead = 40;
/** Most pages that are reloaded after an event; scrolling loads the pages after them readAll. */
const maxReloadedPages = 5;

export function createPagedList<T>(options: PagedListOptions<T>): PagedList<T> {
  const { bridge, store, shown, read, keyOf, topics } = options;
  let append = false;
  let reloadAll = true;
  let wanted = 1;
  bridge.onEvent(({ topic }) => {
    if (topics.includes(topic)) reloadAll = true;
  });
  store.generation.subscribe(() => {
    reloadAll = true;
  });

  async function readAll(abort: AbortSignal): Promise<Read<T>> {
    let all: Read<T> = { items: [], pages: 0 };
    do all = join(all, await read(all.nextCursor, abort));
    while (all.pages < Math.min(wanted, maxReloadedPages) && all.nextCursor !== undefined);
    return all;
  }

  function join(before: Read<T>, page: Page<T>): Read<T> {
    const known = new Set(before.items.map(keyOf));
    return { ...page, items: [...before.items, ...page.items.filter((item) => !known.has(keyOf(item)))], pages: before.pages + 1 };
  }

  const live: LiveQuery<Read<T>> = createLiveQuery<Read<T>>({
    ...{ bridge, store, shown, minIntervalMs, topics },
    async read(abort) {
      const before = live.value.peek();
      const on = append && !reloadAll && before?.nextCursor !== undefined;
      append = false;
      reloadAll = false;
      const next = on ? join(before, await read(before.nextCursor, abort)) : await readAll(abort);
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
    reload(fromFirstPage = false) {
      reloadAll = true;
      if (fromFirstPage) wanted = 1;
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
