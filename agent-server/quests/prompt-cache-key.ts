import { createHash } from "node:crypto";

/** The same for all prompts of a task, and nobody else's: providers that keep prompts by key find theirs again. */
export function cacheKeyOf(questId: string): string {
  return createHash("sha256").update(questId).digest("hex").slice(0, 32);
}
