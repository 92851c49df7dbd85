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
import { createLive, type Live } from "../live.ts";
import { createMemoryActs, type MemoryActs } from "./acts.ts";
import { createPages, type Pages } from "./pages.ts";

export const sections = ["core", "search", "commits", "quarantine", "contexts", "upkeep"] as const;
export type Section = (typeof sections)[number];

/** What the owner looks for. Empty texts and null mean no filter. */
export interface MemoryFilters {
  readonly query: string;
  readonly tier: MemoryTier | null;
  readonly namespace: string;
  readonly tag: string;
}
export const noMemoryFilters: MemoryFilters = { query: "", tier: null, namespace: "", tag: "" };

export interface ItemView extends Result<"memory.item"> {
  /** That was asked for; the item itself may be gone. */
  readonly id: string;
}

/** A context with the texts of what went in and what stayed out, as they are now; null for what is gone since. */
export interface ContextView {
  readonly context: CompiledContext;
  readonly texts: ReadonlyMap<string, MemoryItem | null>;
}

export interface MemoryState extends MemoryActs {
  readonly section: Signal<Section>;
  readonly status: Live<Result<"memory.status">>;
  readonly core: Live<readonly CoreBlock[]>;
  readonly filters: Signal<MemoryFilters>;
  readonly hits: Pages<SearchHit>;
  /** The item on show beside the search; null for none. */
  readonly itemId: Signal<string | null>;
  readonly item: Live<ItemView>;
  readonly commits: Pages<MemoryCommit>;
  readonly commitId: Signal<string | null>;
  readonly quarantine: Pages<QuarantineEntry>;
  readonly quarantineStatus: Signal<QuarantineEntry["status"]>;
  readonly entryId: Signal<string | null>;
  readonly contexts: Pages<ContextRow>;
  readonly contextId: Signal<string | null>;
  readonly context: Live<ContextView>;
  readonly jobs: Live<readonly MemoryJob[]>;
  show(place: MemoryPlace): void;
}

export type ContextRow = Omit<CompiledContext, "renderedPrompt">;

const pageSize = 100;
const statusRestMs = 1000;
/** Items of a context whose texts are read; the rest is named by id. */
const textsRead = 60;

/** The search that a set of filters stands for; a namespace or tag that cannot be one is left out. */
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

function onChange<T>(source: ReadonlySignal<T>, act: () => void): void {
  let before = source.peek();
  source.subscribe((next) => {
    if (next === before) return;
    before = next;
    act();
  });
}

export function createMemoryState(bridge: Bridge, store: Pick<Store, "generation">, shown: ReadonlySignal<boolean>): MemoryState {
  const section = signal<Section>("core");
  const topics = ["memory", "flags"] as const;
  const within = (wanted: Section) => computed(() => shown.value && section.value === wanted);
  const at = (wanted: Section) => ({ bridge, store, shown: within(wanted) });

  const filters = signal(noMemoryFilters);
  const hits = createPages<SearchHit>({
    ...at("search"),
    read: (cursor, abort) =>
      bridge.call("memory.search", { ...searchOf(filters.peek()), limit: pageSize, ...(cursor === undefined ? {} : { cursor }) }, abort),
    keyOf: ({ item }) => item.id,
  });
  onChange(filters, () => hits.reload(true));

  const itemId = signal<string | null>(null);
  const item = createLive<ItemView>({
    ...{ bridge, store, topics },
    shown: computed(() => shown.value && itemId.value !== null),
    async read(abort) {
      const id = itemId.peek() ?? "";
      return { id, ...(await bridge.call("memory.item", { id }, abort)) };
    },
  });
  onChange(itemId, item.refresh);

  const commits = createPages<MemoryCommit>({
    ...at("commits"),
    read: (cursor, abort) => bridge.call("memory.commits", { limit: pageSize, ...(cursor === undefined ? {} : { cursor }) }, abort),
    keyOf: ({ id }) => id,
  });

  const quarantineStatus = signal<QuarantineEntry["status"]>("pending");
  const quarantine = createPages<QuarantineEntry>({
    ...at("quarantine"),
    read: (_, abort) => bridge.call("memory.quarantine", { status: quarantineStatus.peek(), limit: 200 }, abort),
    keyOf: ({ id }) => id,
  });
  const entryId = signal<string | null>(null);
  onChange(quarantineStatus, () => {
    entryId.value = null;
    quarantine.reload(true);
  });

  const contexts = createPages<ContextRow>({
    ...at("contexts"),
    read: (_, abort) => bridge.call("memory.contexts", {}, abort),
    keyOf: ({ contextId }) => contextId,
  });
  const contextId = signal<string | null>(null);
  const context = createLive<ContextView>({
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
  const acts = createMemoryActs(bridge);
  onChange(section, () => {
    acts.done.value = null;
  });
  return {
    ...acts,
    section,
    // Read whether the panel is looked at or not: its tab carries the number of what waits.
    status: createLive({
      ...{ bridge, store, topics, shown: signal(true), restMs: statusRestMs },
      read: (abort) => bridge.call("memory.status", {}, abort),
    }),
    core: createLive({ ...at("core"), topics, read: async (abort) => (await bridge.call("memory.core", {}, abort)).blocks }),
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
    jobs: createLive({ ...at("upkeep"), topics, read: async (abort) => (await bridge.call("memory.jobs", {}, abort)).items }),
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
