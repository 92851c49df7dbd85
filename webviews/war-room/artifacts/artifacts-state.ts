import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Artifact } from "../../../agent-server/contract/artifacts.ts";
import type { ArtifactPlace } from "../../../agent-server/contract/webview.ts";
import type { Bridge } from "../../shared/bridge.ts";
import type { Store } from "../../shared/store.ts";
import { onChange } from "../on-change.ts";
import { createPagedList, type Page, type PagedList } from "../paged-list.ts";

/** The filters of the list. Empty strings mean no filter. */
export interface ArtifactFilters {
  readonly query: string;
  readonly questId: string;
}
export const noArtifactFilters: ArtifactFilters = { query: "", questId: "" };

export interface ArtifactsState {
  readonly filters: Signal<ArtifactFilters>;
  readonly list: PagedList<Artifact>;
  readonly selected: Signal<string | null>;
  /** The selected artifact: null while none is, or while it is read; it stays when the list is read again without it. */
  readonly shown: ReadonlySignal<Artifact | null>;
  /** Lists the artifacts of a task, and selects one. */
  show(place: ArtifactPlace): void;
}

const pageSize = 50;
/** Most pages that are read to find the artifact that a link opened. */
const maxPagesToSelected = 20;

export function createArtifactsState(bridge: Bridge, store: Pick<Store, "generation">, visible: ReadonlySignal<boolean>): ArtifactsState {
  const filters = signal(noArtifactFilters);
  const selected = signal<string | null>(null);
  let wanted: string | null = null;

  async function readPage(cursor: string | undefined, abort: AbortSignal): Promise<Page<Artifact>> {
    const { query, questId } = filters.peek();
    const words = query.trim();
    const filter = { ...(words === "" ? {} : { query: words }), ...(questId === "" ? {} : { questId }), limit: pageSize };
    let page: Page<Artifact>;
    let next = cursor;
    // A search can return an empty page and go on.
    do {
      page = await bridge.call("artifacts.list", { ...filter, ...(next === undefined ? {} : { cursor: next }) }, abort);
      next = page.nextCursor;
    } while (page.items.length === 0 && next !== undefined);
    return page;
  }

  const list = createPagedList<Artifact>({
    ...{ bridge, store, shown: visible, keyOf: ({ id }) => id },
    topics: ["quest", "questDeleted", "messagesRemoved", "plan"],
    async read(cursor, abort) {
      // Only while the artifact of the link is selected.
      const linked = selected.peek() === wanted ? wanted : null;
      const isMissing = ({ items, nextCursor }: Page<Artifact>): boolean =>
        linked !== null && nextCursor !== undefined && items.every(({ id }) => id !== linked);
      let page = await readPage(cursor, abort);
      for (let read = 1; read < maxPagesToSelected && isMissing(page); read += 1) {
        const more = await readPage(page.nextCursor, abort);
        page = { ...more, items: [...page.items, ...more.items] };
      }
      return page;
    },
  });
  onChange(filters, () => list.reload(true));

  let last: Artifact | null = null;
  const shown = computed(() => {
    const id = selected.value;
    const found = list.items.value.find((artifact) => artifact.id === id);
    if (found !== undefined) last = found;
    return last?.id === id ? last : null;
  });

  return {
    ...{ filters, list, selected, shown },
    show({ questId, id }) {
      wanted = id;
      selected.value = id;
      filters.value = { query: "", questId };
    },
  };
}
