import type { Memory } from "../../memory/memory.ts";

/** Experiences per request, and memories that are looked through for them. */
const most = 3;
const searched = 30;

/** Outcomes of earlier tasks that are like a request (A7), best first. Empty while memory is off. */
export function recallExperiences(memory: Pick<Memory, "enabled" | "search">, request: string): string[] {
  if (!memory.enabled()) return [];
  const { items } = memory.search({ query: request.slice(0, 2_000), tiers: ["episodic"], limit: searched });
  return items.flatMap(({ item }) => (item.kind === "experience" ? [item.content] : [])).slice(0, most);
}
