import type { LearningConfig } from "./learning-config.ts";
import type { Evidence } from "./learning-store.ts";

/** The verdict that enough answers from enough tasks agree on; null when they are too few or too mixed. */
export function agreement(
  { observations, allows, allowQuests, denyQuests }: Evidence,
  { evidence }: Pick<LearningConfig, "evidence">,
): { verdict: "allow" | "deny"; observations: number; consistency: number } | null {
  if (observations < evidence.observations) return null;
  const denies = observations - allows;
  const verdict = allows > denies ? "allow" : "deny";
  const consistency = Math.max(allows, denies) / observations;
  if (consistency < evidence.consistency || (verdict === "allow" ? allowQuests : denyQuests) < evidence.quests) return null;
  return { verdict, observations, consistency };
}
