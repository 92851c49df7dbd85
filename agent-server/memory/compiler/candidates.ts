import type { MemoryKind } from "../../contract/memory.ts";
import type { Storage } from "../../storage/storage.ts";
import { compare } from "../block-text.ts";
import { itemOfRow, type ItemRow } from "../item-rows.ts";
import { parseQuery } from "../search/query.ts";
import type { Found, MemorySearch, StoredItem } from "../item-types.ts";

/** Working memory of one namespace that is looked at, at most: the newest. */
const workingItems = 60;

/** Characters of an objective that are searched with. */
const queryCharacters = 2_000;

/** What the search may put forward. Single messages are not: the summary of their task is. */
const retrievedKinds: readonly MemoryKind[] = ["fact", "preference", "rule", "decision", "note", "event", "summary", "experience"];

/** Of a workspace and namespace, not expired at a time, so many. Its index gives them in this order. */
export const newestWorking = `SELECT * FROM memory_items
  WHERE tier = 'working' AND workspace = ? AND namespace = ? AND (expires_at IS NULL OR expires_at > ?)
  ORDER BY updated_at DESC, content, id LIMIT ?`;

/** Working memory that a task sees: its own, that of the workspace, that of everywhere; each the newest first. */
export function createWorkingCandidates(storage: Storage, workspace: string): (questId: string | null, now: number) => StoredItem[] {
  const newest = storage.db.prepare<[string, string, number, number], ItemRow>(newestWorking);
  return (questId, now) =>
    [...(questId === null ? [] : [[workspace, `quest:${questId}`] as const]), [workspace, "workspace"] as const, ["", "global"] as const]
      .flatMap(([place, namespace]) => newest.all(place, namespace, now, workingItems))
      .map(itemOfRow);
}

/** How recent a find is counts by days, so that a text does not change while nothing else does. */
const dayMs = 86_400_000;

/** Archival memory, summaries and events of earlier tasks and experiences that an objective calls up. */
export function retrieve(
  search: Pick<MemorySearch, "search">,
  of: { readonly objective: string; readonly questId: string | null; readonly limit: number; readonly now: number },
): Found[] {
  const query = of.objective.slice(0, queryCharacters).toWellFormed().trim();
  if (query === "" || of.limit === 0) return [];
  const { found } = search.search({
    query,
    tiers: ["archival", "episodic"],
    namespace: null,
    tags: [],
    kinds: retrievedKinds,
    minConfidence: 0,
    limit: of.limit,
    questId: of.questId,
    now: of.now - (of.now % dayMs),
  });
  return found.filter(({ item }) => item.expiresAt === null || item.expiresAt > of.now);
}

/** Score of what shares two words of the usual rarity with a sentence, times the number of its words. */
const twoWords = 1.6;
const leastScore = 0.15;

/**
 * The score from which a find goes in. What answers a question must have most of its words (`minimal`), so that what is not known is not
 * made up. A request names much that no memory says: there, two words that it shares with one sentence are enough.
 */
export function scoreFor(objective: string, minimal: number): number {
  if (/[?？؟]\s*$/u.test(objective)) return minimal;
  const words = new Map<number, number>();
  for (const { sentences } of parseQuery(objective.slice(0, queryCharacters)).terms) {
    for (const sentence of sentences) words.set(sentence, (words.get(sentence) ?? 0) + 1);
  }
  return Math.min(minimal, Math.max(leastScore, twoWords / Math.max(1, ...words.values())));
}

/** The order in which items are kept where there is no room for all: the most certain first, then as they stand. */
export function byCertainty(a: StoredItem, b: StoredItem): number {
  return b.weight - a.weight || byPlace(a, b);
}

/**
 * The order in which items stand: the task's own, the workspace's, those of everywhere; each the newest first. Of two that say the same
 * all that is told of them decides, so that their ids never do.
 */
export function byPlace(a: StoredItem, b: StoredItem): number {
  return (
    place(a) - place(b) ||
    b.updatedAt - a.updatedAt ||
    compare(a.content, b.content) ||
    compare(a.tier, b.tier) ||
    compare(a.provenance.source, b.provenance.source) ||
    compare(a.id, b.id)
  );
}

function place({ namespace }: StoredItem): number {
  return namespace === "global" ? 2 : namespace === "workspace" ? 1 : 0;
}
