import { experienceNamespace } from "../../contract/memory.ts";
import type { Memory } from "../../memory/memory.ts";

/** Experiences per request. */
const most = 3;

/** Outcomes of earlier tasks that are like a request (A7), best first. Empty while memory is off. */
export function recallExperiences(memory: Pick<Memory, "enabled" | "search">, request: string): string[] {
  if (!memory.enabled()) return [];
  const { items } = memory.search({ query: request.slice(0, 2_000), tiers: ["episodic"], namespace: experienceNamespace, limit: most });
  return items.map(({ item }) => item.content);
}
