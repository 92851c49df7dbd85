import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Receipt } from "../../../agent-server/contract/receipts.ts";
import { createCommits } from "../../../agent-server/memory/commits.ts";
import { createEpisodes, createTextOf } from "../../../agent-server/memory/episodes.ts";
import { createMemoryJobs } from "../../../agent-server/memory/jobs/memory-jobs.ts";
import { memoryMigrations } from "../../../agent-server/memory/migrations.ts";
import { createQuarantineStore } from "../../../agent-server/memory/quarantine-store.ts";
import { createMemoryIndex } from "../../../agent-server/memory/search/text-index.ts";
import { createMemorySearch } from "../../../agent-server/memory/search/memory-search.ts";
import { MemorySettings } from "../../../agent-server/memory/memory-settings.ts";
import { createMemoryStore } from "../../../agent-server/memory/item-store.ts";
import { exportMemory } from "../../../agent-server/memory/transfer/export-memory.ts";
import { importMemory } from "../../../agent-server/memory/transfer/import-memory.ts";
import type { Author, GatedEdit, StoredItem, Timeline, TimelineMessage } from "../../../agent-server/memory/item-types.ts";
import { createLedger, receiptsMigrations } from "../../../agent-server/receipts/receipts.ts";
import { openMigratedStorage } from "../migrated-storage.ts";
import { gatesFixture, redactor } from "./gates-fixture.ts";

/** A conversation that tests write. */
export class Conversation implements Timeline {
  readonly messages: TimelineMessage[] = [];
  /** Tasks that are not over. */
  readonly running = new Set<string>();

  say(questId: string, role: "user" | "assistant", text: string, createdAt: number): TimelineMessage {
    const made = { id: `m${String(this.messages.length + 1)}`, questId, workspace: "/projects/a", role, text, createdAt };
    this.messages.push(made);
    return made;
  }
  remove(which: (message: TimelineMessage) => boolean): void {
    for (const message of this.messages.filter(which)) this.messages.splice(this.messages.indexOf(message), 1);
  }
  message(id: string): TimelineMessage | null {
    return this.messages.find((message) => message.id === id) ?? null;
  }
  since(after: number, limit: number): TimelineMessage[] {
    return this.messages
      .filter(({ createdAt, questId }) => createdAt > after && !this.running.has(questId))
      .toSorted((a, b) => a.createdAt - b.createdAt)
      .slice(0, limit);
  }
  quest(questId: string): TimelineMessage[] {
    return this.messages.filter((message) => message.questId === questId);
  }
}

export const owner: Author = { by: "owner", questId: null };

export interface UpkeepOptions {
  readonly dataDir?: string;
  readonly workspace?: string;
  /** Those of memory; the product's unless given. */
  readonly migrations?: typeof memoryMigrations;
  readonly conversation?: Conversation;
  readonly settings?: Partial<MemorySettings>;
  readonly summarize?: (text: string, maxTokens: number, signal: AbortSignal) => Promise<string>;
  readonly timezone?: string;
  readonly enabled?: () => boolean;
  /** Tokens of the core blocks as the audit sees them; none unless given. */
  readonly blocks?: () => { block: "human"; tokens: number; cap: number }[];
}

/** Real rows, commits, gates, index and ledger on a data folder, with a clock that tests move. */
export function openUpkeepFixture(options: UpkeepOptions = {}) {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "lancelot-upkeep-"));
  const workspace = options.workspace ?? "/projects/a";
  const conversation = options.conversation ?? new Conversation();
  const clock = { now: Date.UTC(2026, 10, 20, 12) };
  const now = () => clock.now;
  const storage = openMigratedStorage({ dataDir, migrations: [...receiptsMigrations, ...(options.migrations ?? memoryMigrations)] });
  const ledger = createLedger({ storage, redactor, now });
  const inForce = MemorySettings.parse(options.settings ?? {});
  const settings = () => inForce;
  const textOf = createTextOf(conversation);
  const index = createMemoryIndex(storage);
  const store = createMemoryStore({ storage, index, workspace, textOf });
  const quarantine = createQuarantineStore({ storage, workspace, now });
  const gates = gatesFixture({}, options.settings);
  const reported = { changes: 0, problems: [] as unknown[] };
  const changed = () => void (reported.changes += 1);
  const commits = createCommits({
    ...{ storage, store, gates, quarantine, ledger, settings, workspace, now, changed },
    estimateTokens: (text) => Math.ceil(text.length / 4),
    scrub: (text) => redactor.text(text).text,
  });
  const { summarize } = options;
  const episodes = createEpisodes({
    ...{ storage, store, commits, gates, timeline: conversation, ledger, settings, workspace, now, changed, summarize },
  });
  const jobs = createMemoryJobs({
    ...{ storage, store, index, commits, quarantine, gates, ledger, timeline: conversation, settings, workspace, now, changed, summarize },
    ...{ episodes, textOf, timezone: options.timezone ?? "UTC" },
    blocks: options.blocks ?? (() => []),
    enabled: options.enabled ?? (() => true),
    log: (_message, error) => reported.problems.push(error),
  });
  const search = createMemorySearch({ storage, store, textOf, workspace, now });
  const scrub = (text: string): string => redactor.text(text).text;
  const transfer = { storage, store, commits, gates, quarantine, settings, workspace, now, scrub };

  return {
    ...{ dataDir, workspace, conversation, clock, storage, ledger, store, quarantine, commits, gates, episodes, jobs, reported, transfer },
    export: (format: "markdown" | "jsonl" | "backup") => exportMemory(transfer, format),
    import: (path: string, more: { mode?: "merge" | "replace"; dryRun?: boolean } = {}) =>
      importMemory(transfer, { path, mode: "merge", dryRun: false, ...more }, owner, null),
    /** Puts an item there as a commit. */
    keep(edit: Partial<GatedEdit> & Pick<GatedEdit, "content">, by: Author = owner) {
      return commits.apply(
        [
          {
            ...{ op: "insert", target: "archival", namespace: "workspace", selector: null, kind: "fact", tags: [], confidence: 0.8 },
            ...{ provenance: { source: "agent" }, reason: "It was said.", ttlSeconds: null },
            ...edit,
          },
        ],
        by,
        { reason: "kept", parentId: null },
      );
    },
    items: (): StoredItem[] => store.all(0, 100_000),
    /** Ids of what a search finds, in all namespaces or in one. */
    found: (query: string, namespace: string | null = null): string[] =>
      search
        .search({
          query,
          tiers: ["core", "working", "episodic", "archival"],
          namespace,
          tags: [],
          minConfidence: 0,
          limit: 50,
          questId: null,
          now: now(),
        })
        .found.map(({ item }) => item.id),
    receipts: (actionName: string): Receipt[] => ledger.search({ limit: 500 }).items.filter((receipt) => receipt.actionName === actionName),
    close(): void {
      storage.close();
    },
    remove(): void {
      storage.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export type UpkeepFixture = ReturnType<typeof openUpkeepFixture>;
