import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryMigrations } from "../../../agent-server/memory/migrations.ts";
import { createMemoryIndex } from "../../../agent-server/memory/search/text-index.ts";
import { createMemorySearch } from "../../../agent-server/memory/search/memory-search.ts";
import { createMemoryStore } from "../../../agent-server/memory/item-store.ts";
import type { ItemImage, SearchQuery, StoredItem } from "../../../agent-server/memory/item-types.ts";
import { openMigratedStorage } from "../migrated-storage.ts";

export const workspace = "/projects/harbour";
export const now = Date.UTC(2026, 10, 20, 12);
export const day = 86_400_000;

/** Search with its real store on a data folder of its own. `texts`: what messages say, by reference. */
export function openSearchFixture(of: { readonly texts?: Readonly<Record<string, string>> } = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), "lancelot-search-"));
  const storage = openMigratedStorage({ dataDir, migrations: memoryMigrations });
  const textOf = (item: Pick<ItemImage, "ref" | "content">): string => (item.ref === null ? item.content : (of.texts?.[item.ref] ?? ""));
  const storeOf = (place: string) => createMemoryStore({ storage, index: createMemoryIndex(storage), textOf, workspace: place });
  const searchOf = (place: string) => createMemorySearch({ storage, store: storeOf(place), textOf, workspace: place, now: () => now });
  const store = storeOf(workspace);
  const search = searchOf(workspace);
  return {
    storage,
    store,
    search,
    searchOf,
    put(id: string, content: string, item: Partial<ItemImage> & Partial<Pick<StoredItem, "weight">> = {}): void {
      const { weight, ...image } = item;
      store.put(id, { ...blank, id, content, ...image }, weight === undefined ? {} : { weight });
    },
    remove: (id: string): void => store.put(id, null),
    find: (query: string, filters: Partial<SearchQuery> = {}, cursor?: string) => search.search(searchQuery(query, filters), cursor),
    ids: (query: string, filters: Partial<SearchQuery> = {}): string[] =>
      search.search(searchQuery(query, filters)).found.map(({ item }) => item.id),
    close(): void {
      storage.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export function searchQuery(query: string, filters: Partial<SearchQuery> = {}): SearchQuery {
  return {
    ...{ query, namespace: null, tags: [], minConfidence: 0, limit: 10, questId: null, now },
    tiers: ["core", "working", "episodic", "archival"],
    ...filters,
  };
}

const blank: Omit<ItemImage, "id" | "content"> = {
  tier: "archival",
  block: null,
  namespace: "workspace",
  workspace,
  kind: "fact",
  ref: null,
  confidence: 0.8,
  tags: [],
  provenance: { source: "agent" },
  questId: null,
  commitId: "commit-1",
  version: 1,
  createdAt: now - day,
  updatedAt: now - day,
  expiresAt: null,
};
