import type { MemoryKind, MemoryTier } from "../../contract/memory.ts";

/**
 * The score of a result, from 0 to 1:
 *
 *     score = relevance × (0.72 + 0.10 × recency + 0.12 × weight + 0.06 × standing)
 *
 * - `relevance`: the share of the query that the text contains, words weighted by rarity (the idf of bm25), lower for other
 * forms and typos, and slightly adjusted for word distance and text length.
 * - `recency`: 1 for a change now, ½ after 30 days, ⅓ after 60, and so on.
 * - `weight`: confidence after decay and reinforcement.
 * - `standing`: of the tier and kind; distilled and confirmed items count more than messages.
 *
 * Nothing depends on the locale, the time zone or the write order. Ties: newest first, then by text.
 */
export function score(
  relevance: number,
  of: { readonly updatedAt: number; readonly weight: number; readonly tier: MemoryTier; readonly kind: MemoryKind },
  now: number,
): number {
  return relevance * (0.72 + 0.1 * recency(of.updatedAt, now) + 0.12 * of.weight + 0.06 * standing(of.tier, of.kind));
}

/** Results below this score are no answer: compilation and decisions ignore them. Search shows them last. */
export const minScore = 0.45;

/** The rarity of a word: `items` in memory (at least 1), `having` of them with the word. */
export function rarity(items: number, having: number): number {
  return Math.log(1 + (items - having + 0.5) / (having + 0.5));
}

const halfDays = 30;

function recency(updatedAt: number, now: number): number {
  const days = Math.max(0, now - updatedAt) / 86_400_000;
  return halfDays / (halfDays + days);
}

const standings: Readonly<Record<MemoryTier, number>> = { core: 1, archival: 0.8, working: 0.6, episodic: 0.3 };

function standing(tier: MemoryTier, kind: MemoryKind): number {
  return tier === "episodic" && kind === "summary" ? 0.5 : standings[tier];
}
