import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import {
  type CompiledContext,
  type CoreBlock,
  type MemoryCommit,
  type MemoryItem,
  type MemoryJob,
  type MemoryTier,
  Namespace,
  type QuarantineEntry,
  type SearchHit,
  Tag,
} from "../../../agent-server/contract/memory.ts";
import type { ParamsIn, Result } from "../../../agent-server/contract/table.ts";
import type { MemoryPlace } from "../../../agent-server/contract/webview.ts";
import type { Bridge } from "../../shared/bridge.ts";
import type { Store } from "../../shared/store.ts";
import { createLiveQuery, type LiveQuery } from "../live-query.ts";
import { onChange } from "../on-change.ts";
import { createMemoryActions, type MemoryActions } from "./memory-actions.ts";
import { createPagedList, type PagedList } from "../paged-list.ts";

export const sections = ["core", "search", "commits", "quarantine", "contexts", "upkeep"] as const;
export type Section = (typeof sections)[number];

/** The filters of the search. Empty strings and null mean no filter. */
export interface MemoryFilters {
  readonly query: string;
  readonly tier: MemoryTier | null;
  readonly namespace: string;
  readonly tag: string;
}
export const noMemoryFilters: MemoryFilters = { query: "", tier: null, namespace: "", tag: "" };

export interface ItemView extends Result<"memory.item"> {
  /** The requested id; the item itself may be deleted. */
  readonly id: string;
}

/** A context with the current items behind its included and excluded ids; null for a deleted item. */
export interface ContextView {
  readonly context: CompiledContext;
  readonly texts: ReadonlyMap<string, MemoryItem | null>;
}

export interface MemoryState extends MemoryActions {
  readonly section: Signal<Section>;
  readonly status: LiveQuery<Result<"memory.status">>;
  readonly core: LiveQuery<readonly CoreBlock[]>;
  readonly filters: Signal<MemoryFilters>;
  readonly hits: PagedList<SearchHit>;
  /** The item selected in the search; null for none. */
  readonly itemId: Signal<string | null>;
  readonly item: LiveQuery<ItemView>;
  readonly commits: PagedList<MemoryCommit>;
  readonly commitId: Signal<string | null>;
  readonly quarantine: PagedList<QuarantineEntry>;
  readonly quarantineStatus: Signal<QuarantineEntry["status"]>;
  readonly entryId: Signal<string | null>;
  readonly contexts: PagedList<ContextRow>;
  readonly contextId: Signal<string | null>;
  readonly context: LiveQuery<ContextView>;
  readonly jobs: LiveQuery<readonly MemoryJob[]>;
  show(place: MemoryPlace): void;
}

export type ContextRow = Omit<CompiledContext, "renderedPrompt">;

const pageSize = 100;
const statusIntervalMs = 1000;
/** Number of items of a context whose content is read; the others appear by id. */
const textsRead = 60;

/** Converts filters to a search request. Ignores an invalid namespace or tag. */
export function searchOf(filters: MemoryFilters): Pick<ParamsIn<"memory.search">, "query" | "tiers" | "namespace" | "tags"> {
  const { tier } = filters;
  const namespace = Namespace.safeParse(filters.namespace.trim());
  const tag = Tag.safeParse(filters.tag.trim());
  return {
    query: filters.query.trim(),
    ...(tier === null ? {} : { tiers: [tier] }),
    ...(namespace.success ? { namespace: namespace.data } : {}),
    ...(tag.success ? { tags: [tag.data] } : {}),
  };
}

export function createMemoryState(bridge: Bridge, store: Pick<Store, "generation">, shown: ReadonlySignal<boolean>): MemoryState {
  const section = signal<Section>("core");
  const topics = ["memory", "flags"] as const;
  const within = (wanted: Section) => computed(() => shown.value && section.value === wanted);
  const at = (wanted: Section) => ({ bridge, store, topics, shown: within(wanted) });

  const filters = signal(noMemoryFilters);
  const hits = createPagedList<SearchHit>({
    ...at("search"),
    read: (cursor, abort) =>
      bridge.call("memory.search", { ...searchOf(filters.peek()), limit: pageSize, ...(cursor === undefined ? {} : { cursor }) }, abort),
    keyOf: ({ item }) => item.id,
  });
  onChange(filters, () => hits.reload(true));

  const itemId = signal<string | null>(null);
  const item = createLiveQuery<ItemView>({
    ...{ bridge, store, topics },
    shown: computed(() => shown.value && itemId.value !== null),
    async read(abort) {
      const id = itemId.peek() ?? "";
      return { id, ...(await bridge.call("memory.item", { id }, abort)) };
    },
  });
  onChange(itemId, item.refresh);

  const commits = createPagedList<MemoryCommit>({
    ...at("commits"),
    read: (cursor, abort) => bridge.call("memory.commits", { limit: pageSize, ...(cursor === undefined ? {} : { cursor }) }, abort),
    keyOf: ({ id }) => id,
  });

  const quarantineStatus = signal<QuarantineEntry["status"]>("pending");
  const quarantine = createPagedList<QuarantineEntry>({
    ...at("quarantine"),
    read: (_, abort) => bridge.call("memory.quarantine", { status: quarantineStatus.peek(), limit: 200 }, abort),
    keyOf: ({ id }) => id,
  });
  const entryId = signal<string | null>(null);
  onChange(quarantineStatus, () => {
    entryId.value = null;
    quarantine.reload(true);
  });

  const contexts = createPagedList<ContextRow>({
    ...at("contexts"),
    read: (_, abort) => bridge.call("memory.contexts", {}, abort),
    keyOf: ({ contextId }) => contextId,
  });
  const contextId = signal<string | null>(null);
  const context = createLiveQuery<ContextView>({
    ...{ bridge, store, topics },
    shown: computed(() => shown.value && section.value === "contexts" && contextId.value !== null),
    async read(abort) {
      const read = await bridge.call("memory.context", { id: contextId.peek() ?? "" }, abort);
      const ids = [...read.includedItemIds, ...read.excluded.map(({ id }) => id)].filter((id) => !id.startsWith("core:"));
      const items = await Promise.all(
        [...new Set(ids)].slice(0, textsRead).map(async (id) => [id, (await bridge.call("memory.item", { id }, abort)).item] as const),
      );
      return { context: read, texts: new Map(items) };
    },
  });
  onChange(contextId, context.refresh);

  const commitId = signal<string | null>(null);
  const actions = createMemoryActions(bridge);
  onChange(section, () => {
    actions.lastAction.value = null;
  });
  return {
    ...actions,
    section,
    // Read even while the panel is hidden, because its tab shows the number of pending entries.
    status: createLiveQuery({
      ...{ bridge, store, topics, shown: signal(true), minIntervalMs: statusIntervalMs },
      read: (abort) => bridge.call("memory.status", {}, abort),
    }),
    core: createLiveQuery({ ...at("core"), topics, read: async (abort) => (await bridge.call("memory.core", {}, abort)).blocks }),
    filters,
    hits,
    itemId,
    item,
    commits,
    commitId,
    quarantine,
    quarantineStatus,
    entryId,
    contexts,
    contextId,
    context,
    jobs: createLiveQuery({ ...at("upkeep"), topics, read: async (abort) => (await bridge.call("memory.jobs", {}, abort)).items }),
    show(place) {
      if (place.section !== undefined) section.value = place.section;
      if (place.itemId !== undefined) [section.value, itemId.value] = ["search", place.itemId];
      if (place.commitId !== undefined) [section.value, commitId.value] = ["commits", place.commitId];
      if (place.contextId !== undefined) [section.value, contextId.value] = ["contexts", place.contextId];
      if (place.quarantineId !== undefined) {
        section.value = "quarantine";
        quarantineStatus.value = "pending";
        entryId.value = place.quarantineId;
      }
    },
  };
}
