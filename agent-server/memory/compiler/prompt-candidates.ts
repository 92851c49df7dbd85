import type { MemoryKind } from "../../contract/memory.ts";
import type { Storage } from "../../storage/storage.ts";
import { compare } from "../core-block-text.ts";
import { itemOfRow, type ItemRow } from "../item-rows.ts";
import { parseQuery } from "../search/search-query.ts";
import type { Found, MemorySearch, StoredItem } from "../item-types.ts";

/** Items of working memory per namespace, newest first. */
const workingItems = 60;

/** Characters of the objective used as a query. */
const queryCharacters = 2_000;

/** Kinds that are retrieved. Single messages are not, because their task's summary is. */
const retrievedKinds: readonly MemoryKind[] = ["fact", "preference", "rule", "decision", "note", "event", "summary", "experience"];

/** The newest unexpired items of a workspace and namespace, in index order. */
export const newestWorking = `SELECT * FROM memory_items
  WHERE tier = 'working' AND workspace = ? AND namespace = ? AND (expires_at IS NULL OR expires_at > ?)
  ORDER BY updated_at DESC, content, id LIMIT ?`;

/** Working memory visible to a task: its own, the workspace's and global items, each newest first. */
export function createWorkingCandidates(storage: Storage, workspace: string): (questId: string | null, now: number) => StoredItem[] {
  const newest = storage.db.prepare<[string, string, number, number], ItemRow>(newestWorking);
  return (questId, now) =>
    [...(questId === null ? [] : [[workspace, `quest:${questId}`] as const]), [workspace, "workspace"] as const, ["", "global"] as const]
      .flatMap(([place, namespace]) => newest.all(place, namespace, now, workingItems))
      .map(itemOfRow);
}

/** Recency counts in days, so that the text does not change while nothing else does. */
const dayMs = 86_400_000;

/** Archival memory, summaries, events and experiences of earlier tasks that match an objective. */
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

function endsAsQuestion(objective: string): boolean {
  return /[?？؟]\s*$/u.test(objective);
}

const questionWord =
  /^[^\p{L}]*(?:what|which|who|whom|whose|where|when|why|how|is|are|was|were|does|do|did|has|have|was|welche[rsnm]?|wer|wen|wem|wo|wann|warum|wieso|wie|que|quel\p{L}*|qui|où|quand|pourquoi|comment|combien|qué|cuál\p{L}*|quién\p{L}*|dónde|cuándo|cómo|cuánt\p{L}*|cosa|che|quale|quali|chi|dove|quando|perché|come|quant\p{L}*|o que|qual|quais|quem|onde|como|por que)(?!\p{L})/iu;

/**
 * True when an objective asks for work: it may mention a name among words that memory knows nothing of. A question, with or without its
 * mark, needs an answer, and the name alone is none.
 */
export function isRequest(objective: string): boolean {
  return !endsAsQuestion(objective) && !questionWord.test(objective);
}

/** The score of two shared words of average rarity, times the number of words in the sentence. */
const twoWords = 1.6;
const leastScore = 0.15;

/**
 * The minimum score of a retrieved item. An answer to a question must have most of its words (`minimal`), so that an unknown answer is
 * not made up. Other requests mention many unknown things: two words shared with one sentence are enough.
 */
export function scoreFor(objective: string, minimal: number): number {
  if (endsAsQuestion(objective)) return minimal;
  const words = new Map<number, number>();
  for (const { sentences } of parseQuery(objective.slice(0, queryCharacters)).terms) {
    for (const sentence of sentences) words.set(sentence, (words.get(sentence) ?? 0) + 1);
  }
  return Math.min(minimal, Math.max(leastScore, twoWords / Math.max(1, ...words.values())));
}

/** The order in which items are kept when they do not all fit: highest confidence first, then in display order. */
export function byCertainty(a: StoredItem, b: StoredItem): number {
  return b.weight - a.weight || byPlace(a, b);
}

/**
 * The display order: the task's own items, the workspace's, global ones; each newest first. Equal items are ordered by
 * their data, never by id.
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
