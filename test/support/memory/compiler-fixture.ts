import { estimateTokens } from "../../../agent-server/context/context.ts";
import { createBlockVersions } from "../../../agent-server/memory/core-block-versions.ts";
import { createCompiler } from "../../../agent-server/memory/compiler/compiler.ts";
import { createSecurityFilter } from "../../../agent-server/memory/compiler/security-filter.ts";
import { createCompiledContextStore } from "../../../agent-server/memory/compiled-context-store.ts";
import { createCoreBlocks } from "../../../agent-server/memory/core-blocks.ts";
import type { CompileQuery } from "../../../agent-server/memory/memory.ts";
import { memoryMigrations } from "../../../agent-server/memory/migrations.ts";
import { createOwnerProfileFiles } from "../../../agent-server/memory/owner-profile-files.ts";
import { createMemoryIndex } from "../../../agent-server/memory/search/text-index.ts";
import { createMemorySearch, minScore } from "../../../agent-server/memory/search/memory-search.ts";
import { MemorySettings } from "../../../agent-server/memory/memory-settings.ts";
import { createMemoryStore } from "../../../agent-server/memory/item-store.ts";
import type { Derived, ItemImage } from "../../../agent-server/memory/item-types.ts";
import { createLedger, receiptsMigrations } from "../../../agent-server/receipts/receipts.ts";
import { createRedactor, createSanitizer } from "../../../agent-server/security/security.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { openMigratedStorage } from "../migrated-storage.ts";

/** An item as a test wants it stored: what use made of it as well. */
export type WantedItem = ItemImage & Partial<Derived>;

export const workspace = "/projects/harbour";
/** Noon of a day, in milliseconds since 1970. */
export const noon = Date.UTC(2026, 10, 20, 12);
export const day = 86_400_000;

/** An item of archival memory of this workspace, but for what is said. */
export function anItem(of: Partial<WantedItem> & Pick<ItemImage, "id">): WantedItem {
  return {
    tier: "archival",
    block: null,
    namespace: "workspace",
    workspace,
    kind: "fact",
    content: "The harbour pilot speaks Dutch.",
    ref: null,
    confidence: 0.8,
    tags: [],
    provenance: { source: "agent" },
    questId: null,
    commitId: "commit-1",
    version: 1,
    createdAt: noon - 3 * day,
    updatedAt: noon - 3 * day,
    expiresAt: null,
    ...of,
  };
}

/** An entry of a core block that the owner gave. */
export function anEntry(of: Partial<WantedItem> & Pick<ItemImage, "id" | "block">): WantedItem {
  const isGlobal = of.block === "human" || of.block === "operating_rules";
  return anItem({
    tier: "core",
    provenance: { source: "user", ref: "message:m1" },
    confidence: 0.9,
    ...(isGlobal ? { namespace: "global", workspace: "" } : {}),
    ...of,
  });
}

const redactor = createRedactor();
const sanitizer = createSanitizer("config");

export interface CompilerFixtureOptions {
  readonly dataDir: string;
  readonly workspace?: string;
  readonly now?: () => number;
  readonly soul?: { readonly text: string; readonly version: string } | null;
  readonly settings?: Partial<MemorySettings> | (() => MemorySettings);
}

/** The compiler with its real neighbours on one data folder, as one process has it. */
export function openCompilerFixture(of: CompilerFixtureOptions) {
  const { dataDir, workspace: place = workspace, now = () => noon, soul = null } = of;
  const storage: Storage = openMigratedStorage({ dataDir, migrations: [...receiptsMigrations, ...memoryMigrations] });
  const ledger = createLedger({ storage, redactor });
  const fixed = typeof of.settings === "function" ? null : MemorySettings.parse(of.settings ?? {});
  const settings = typeof of.settings === "function" ? of.settings : (): MemorySettings => fixed ?? MemorySettings.parse({});
  const textOf = (image: ItemImage): string => image.content;
  const store = createMemoryStore({ storage, index: createMemoryIndex(storage), textOf, workspace: place });
  const search = createMemorySearch({ storage, store, textOf, workspace: place, now });
  const filter = createSecurityFilter({ sanitizer, redactor });
  const blocks = createCoreBlocks({
    store,
    settings,
    estimateTokens,
    soul: () => soul,
    ownerFiles: createOwnerProfileFiles({ dataDir, redactor }),
    versions: createBlockVersions(storage, place),
    filter,
    now,
  });
  const contexts = createCompiledContextStore({ storage, workspace: place, settings });
  const compiler = createCompiler({
    storage,
    ledger,
    redactor,
    search,
    minimalScore: minScore,
    blocks,
    contexts,
    filter,
    settings,
    estimateTokens,
    soul: () => soul,
    workspace: place,
    now,
  });
  return {
    storage,
    ledger,
    store,
    search,
    blocks,
    contexts,
    filter,
    /** Takes every item out. */
    empty(): void {
      storage.transaction(() => {
        for (const { id } of store.all(0, 10_000)) store.put(id, null);
      });
    },
    /** Stores items in this order, past the commits. */
    put(items: readonly WantedItem[]): void {
      storage.transaction(() => {
        for (const { weight, reinforcedAt, reinforced, ...image } of items) {
          store.put(image.id, image, {
            ...(weight === undefined ? {} : { weight }),
            ...(reinforcedAt === undefined ? {} : { reinforcedAt }),
            ...(reinforced === undefined ? {} : { reinforced }),
          });
        }
      });
    },
    compile: (options: Partial<CompileQuery> = {}) => compiler.compile({ objective: "", questId: null, mode: "normal", ...options }),
    close: () => storage.close(),
  };
}
export type CompilerFixture = ReturnType<typeof openCompilerFixture>;
