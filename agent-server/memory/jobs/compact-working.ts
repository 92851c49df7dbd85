import type { Ledger } from "../../receipts/receipts.ts";
import { createClock, type Storage } from "../../storage/storage.ts";
import { shortLine } from "../episode-texts.ts";
import { compare } from "../core-block-text.ts";
import { removalOf } from "../removal-edit.ts";
import type { MemorySettings } from "../memory-settings.ts";
import type { Commits } from "../commit-types.ts";
import type { Gates, MemoryStore, StoredItem } from "../item-types.ts";
import type { JobResult, JobYield } from "./job-yield.ts";

export interface CompactDeps {
  readonly storage: Storage;
  readonly store: MemoryStore;
  readonly commits: Pick<Commits, "apply">;
  readonly gates: Pick<Gates, "judge">;
  readonly ledger: Pick<Ledger, "open" | "close">;
  readonly settings: () => MemorySettings;
  readonly now: () => number;
  readonly summarize?: ((text: string, maxTokens: number, signal: AbortSignal) => Promise<string>) | undefined;
}

const batch = 200;
/** A task with `long` notes keeps the newest `stays`; older ones are merged once they are `settled` (ms). */
const thread = { long: 16, stays: 8, settled: 3_600_000 };
const summaryTokens = 250;

/** Deletes expired items, and merges the older notes of a task with many into one. */
export async function compactWorking(deps: CompactDeps, jobYield: JobYield): Promise<JobResult> {
  const expired = await removeExpired(deps, jobYield);
  const { threads, notes } = await shortenThreads(deps, jobYield);
  const detail = [
    expired === 0 ? "No item expired" : `Deleted ${String(expired)} expired ${expired === 1 ? "item" : "items"}`,
    threads === 0
      ? ""
      : `; merged ${String(notes)} older notes of ${String(threads)} ${threads === 1 ? "task" : "tasks"} into ${threads === 1 ? "one note" : "one note each"}`,
  ].join("");
  return { ok: true, detail: `${detail}.`, facts: { expired, threads, notes } };
}

/**
 * Expired items are invisible, so deleting their rows changes nothing that is visible. It is no
 * commit and uses no rollback slot; a receipt (`memory.expired`) lists them.
 */
async function removeExpired({ storage, store, ledger, now, settings }: CompactDeps, jobYield: JobYield): Promise<number> {
  let removed = 0;
  // After a jump of the clock, the items may be visible again.
  if (!createClock({ storage, now }).mayRemove(Math.max(1, settings().working_hours / 24))) return removed;
  for (;;) {
    const items = store.expired(now(), batch);
    if (items.length === 0) return removed;
    storage.transaction(() => {
      for (const { id } of items) store.put(id, null);
      const receipt = ledger.open({ actionType: "system", actionName: "memory.expired", inputs: {}, riskTier: "T1" });
      ledger.close(receipt, { status: "success", outputs: { items: items.map(({ id }) => id) } });
    });
    removed += items.length;
    await jobYield.pause();
  }
}

async function shortenThreads(deps: CompactDeps, jobYield: JobYield): Promise<{ threads: number; notes: number }> {
  let threads = 0;
  let notes = 0;
  for (const [questId, items] of longThreads(deps)) {
    const text = await condensed(deps, items, jobYield.signal);
    await jobYield.pause();
    if (shorten(deps, questId, items, text)) {
      threads += 1;
      notes += items.length;
    }
  }
  return { threads, notes };
}

/** The older notes of each task with many, oldest first. */
function longThreads({ store, now }: CompactDeps): Map<string, StoredItem[]> {
  const byQuest = new Map<string, StoredItem[]>();
  for (let before: number | undefined; ; ) {
    const some = store.list({ tiers: ["working"], now: now(), limit: batch, ...(before === undefined ? {} : { before }) });
    for (const item of some) {
      if (!item.namespace.startsWith("quest:")) continue;
      const questId = item.namespace.slice("quest:".length);
      byQuest.set(questId, [...(byQuest.get(questId) ?? []), item]);
    }
    before = some.at(-1)?.seq;
    if (some.length < batch || before === undefined) break;
  }
  const settled = now() - thread.settled;
  return new Map(
    [...byQuest]
      .filter(([, items]) => items.length >= thread.long)
      .map(([questId, items]): [string, StoredItem[]] => [
        questId,
        items
          .toSorted((a, b) => b.updatedAt - a.updatedAt || compare(b.id, a.id))
          .slice(thread.stays)
          .filter(({ updatedAt }) => updatedAt <= settled)
          .toReversed(),
      ])
      .filter(([, items]) => items.length > 1)
      .toSorted(([a], [b]) => compare(a, b)),
  );
}

/** One text for several notes, by the model if there is one, else by deterministic rules. */
async function condensed({ settings, summarize }: CompactDeps, items: readonly StoredItem[], signal: AbortSignal): Promise<string> {
  const most = settings().item_characters;
  if (summarize !== undefined) {
    try {
      const words = (await summarize(items.map(({ content }) => `- ${content}`).join("\n"), summaryTokens, signal)).trim();
      if (words !== "") return words.slice(0, most).toWellFormed();
    } catch (error) {
      if (signal.aborted) throw error;
    }
  }
  return condense(
    items.map(({ content }) => content),
    most,
  );
}

/** Notes as a list, each shortened so that all fit into `most` characters. */
export function condense(contents: readonly string[], most: number): string {
  const title = `${String(contents.length)} earlier notes:`;
  const each = Math.max(24, Math.min(240, Math.floor((most - title.length) / contents.length) - 3));
  const lines = [...new Set(contents.map((content) => `- ${shortLine(content, each)}`))];
  let text = title;
  for (const line of lines) {
    if (text.length + 1 + line.length > most) break;
    text += `\n${line}`;
  }
  return text;
}

/** Replaces several notes with one; false when they changed meanwhile, or a gate refused the note. */
function shorten(
  { storage, store, commits, gates, now }: CompactDeps,
  questId: string,
  items: readonly StoredItem[],
  text: string,
): boolean {
  const lasts = Math.max(...items.map(({ expiresAt }) => expiresAt ?? 0));
  const reason = "Merged older notes of the task.";
  const author = { by: "system" as const, questId };
  const tool = items.some(({ provenance }) => provenance.source === "tool");
  const verdict = gates.judge(
    {
      op: "insert",
      target: "working",
      namespace: `quest:${questId}`,
      kind: "summary",
      content: text,
      confidence: Math.min(...items.map(({ confidence }) => confidence)),
      // The merged note is trusted as little as its least trusted source.
      provenance: { source: tool ? "tool" : "agent", ref: `quest:${questId}` },
      reason,
      ttlSeconds: Math.min(2_592_000, Math.max(60, Math.round((lasts - now()) / 1_000))),
    },
    author,
  );
  if (verdict.kind !== "store") return false;
  return storage.transaction(() => {
    const unchanged = items.every(({ id, version, commitId }) => {
      const item = store.get(id);
      return item !== null && item.version === version && item.commitId === commitId;
    });
    if (!unchanged) return false;
    commits.apply([...items.map((item) => removalOf(item, reason)), verdict.edit], author, { reason, parentId: null });
    return true;
  });
}
