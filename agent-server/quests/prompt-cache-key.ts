import { createHash } from "node:crypto";

/** The prompt cache key of a quest for providers that cache by key: the same for all of its prompts, and unique to it. */
export function cacheKeyOf(questId: string): string {
  return createHash("sha256").update(questId).digest("hex").slice(0, 32);
}
