import { tidyMemoryIndex } from "../search/text-index.ts";
import { written } from "../search/text-tokens.ts";
import type { StoredItem } from "../item-types.ts";
import type { AuditDeps } from "./audit-deps.ts";
import type { JobYield } from "./job-yield.ts";

const page = 500;
/** One in so many items is searched for by its first words. */
const sampled = 25;
/** Obsolete words of the index are deleted in batches of this size. */
const words = 500;

export interface IndexAudit {
  readonly items: number;
  /** Entries that were missing, superfluous or different, and were rebuilt. */
  readonly repaired: number;
  /** References to deleted messages, which were removed. */
  readonly gone: number;
}

/**
 * Compares the index with the rows, and searches for a sample of items. Wrong entries are rebuilt and recorded
 * (`memory.index_repaired`); references to deleted messages are removed (`memory.messages`).
 */
export async function auditIndex(deps: AuditDeps, jobYield: JobYield): Promise<IndexAudit> {
  const { storage, store, index, timeline } = deps;
  const { db } = storage;
  const missing = db
    .prepare<[number], number>("SELECT seq FROM memory_items WHERE seq NOT IN (SELECT id FROM memory_fts_docsize) ORDER BY seq LIMIT ?")
    .pluck();
  const extra = db
    .prepare<[number], number>("SELECT id FROM memory_fts_docsize WHERE id NOT IN (SELECT seq FROM memory_items) ORDER BY id LIMIT ?")
    .pluck();
  const found = db.prepare<[string, number], number>("SELECT 1 FROM memory_fts WHERE memory_fts MATCH ? AND rowid = ?").pluck();

  const put = (item: StoredItem): void => index.put(item, deps.textOf(item));
  const isFound = (item: StoredItem): boolean => {
    const words = written(deps.textOf(item).slice(0, 400)).flatMap(({ parts }) => parts.map(({ stem }) => stem));
    return words.length === 0 || found.get(`words : "${words.slice(0, 6).join(" ")}"`, item.seq) === 1;
  };

  let repaired = 0;
  for (;;) {
    const over = extra.all(page);
    if (over.length === 0) break;
    storage.transaction(() => {
      for (const seq of over) index.remove(seq);
    });
    repaired += over.length;
    await jobYield.pause();
  }
  const lacking = new Set(missing.all(Number.MAX_SAFE_INTEGER));
  let items = 0;
  let gone = 0;
  for (let after = 0; ; ) {
    const some = store.all(after, page);
    const last = some.at(-1);
    if (last === undefined) break;
    after = last.seq;
    storage.transaction(() => {
      for (const item of some) {
        items += 1;
        if (item.workspace === deps.workspace && item.ref?.startsWith("message:") === true) {
          if (timeline.message(item.ref.slice("message:".length)) === null) {
            store.put(item.id, null);
            gone += 1;
            continue;
          }
        }
        if (!lacking.has(item.seq) && (items % sampled !== 0 || isFound(item))) continue;
        put(item);
        repaired += 1;
      }
    });
    await jobYield.pause();
  }
  for (let word: number | null = 0; word !== null; ) {
    word = tidyMemoryIndex(storage, words, word);
    await jobYield.pause();
  }
  record(deps, "memory.index_repaired", repaired, { entries: repaired });
  record(deps, "memory.messages", gone, { added: 0, removed: gone });
  return { items, repaired, gone };
}

function record({ ledger }: AuditDeps, actionName: string, count: number, outputs: Record<string, unknown>): void {
  if (count === 0) return;
  const id = ledger.open({ actionType: "system", actionName, inputs: {}, riskTier: "T1" });
  ledger.close(id, { status: "success", outputs });
}
