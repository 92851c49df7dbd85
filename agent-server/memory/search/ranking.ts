import type { MemoryKind, MemoryTier } from "../../contract/memory.ts";

/**
 * How a find is ranked, from 0 to 1:
 *
 *     score = relevance × (0.72 + 0.10 × recency + 0.12 × weight + 0.06 × standing)
 *
 * - `relevance`: which share of what is asked for stands in the text, each word by how rare it is (the idf of bm25), less for other
 *   forms and misspellings, and a little by how near the words stand to one another and how much else the text says.
 * - `recency`: 1 for what changed now, ½ after 30 days, ⅓ after 60, and so on.
 * - `weight`: confidence after decay and reinforcement.
 * - `standing`: of the tier and kind; what was distilled and confirmed counts more than what was said.
 *
 * No part depends on a locale, a time zone, or the order in which items were written. Equal scores: the newest first, then by text.
 */
export function score(
  relevance: number,
  of: { readonly updatedAt: number; readonly weight: number; readonly tier: MemoryTier; readonly kind: MemoryKind },
  now: number,
): number {
  return relevance * (0.72 + 0.1 * recency(of.updatedAt, now) + 0.12 * of.weight + 0.06 * standing(of.tier, of.kind));
}

/** Below this a find is no answer: what compiles or decides by finds leaves them out. A search shows them, last. */
export const minScore = 0.45;

/** How rare a word is: `items` of the memory (at least 1), `having` of them with the word. */
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
