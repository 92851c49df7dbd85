import type { LearnedPattern } from "../../contract/trust.ts";
import type { LearningNumbers } from "./learning-config.ts";

export function patternName({ capability, action, scope }: LearnedPattern): string {
  return `${capability}.${action} on ${scope ?? "anything"}`;
}

/** Exactly what would no longer be asked, and how far it goes. */
export function coverageWords(pattern: LearnedPattern, verdict: "allow" | "deny", { rules }: LearningNumbers): string {
  const what = `${pattern.capability}.${pattern.action}${pattern.scope === null ? ", whatever it is about" : ` on ${pattern.scope}`}`;
  const much = `at most ${rules.per_day} times a day and ${rules.in_all} in all, then you are asked to confirm it`;
  return verdict === "allow"
    ? `You would no longer be asked about ${what}: it is allowed, ${much}. What the soul or policy holds, what counts as irreversible and what is never automated is still asked.`
    : `You would no longer be asked about ${what}: it is refused, ${much}.`;
}

export function decidedWords(pattern: LearnedPattern, verdict: "allow" | "deny"): string {
  return `A rule you accepted from your own answers ${verdict === "allow" ? "allows" : "refuses"} ${patternName(pattern)}.`;
}
