import type { LearnedPattern } from "../../contract/trust.ts";
import type { LearningConfig } from "./learning-config.ts";

export function patternLabel({ capability, action, scope }: LearnedPattern): string {
  return `${capability}.${action} on ${scope ?? "anything"}`;
}

/** What a rule decides without asking, and its limits. */
export function coverageMessage(pattern: LearnedPattern, verdict: "allow" | "deny", { rules }: LearningConfig): string {
  const outcome = verdict === "allow" ? "Allows" : "Denies";
  const limits = `at most ${rules.per_day} times a day and ${rules.in_all} times in total, then asks you to confirm the rule`;
  const exceptions = " Soul and policy rules, irreversible actions and actions that are never automated still require approval.";
  return `${outcome} ${patternLabel(pattern)} without asking, ${limits}.${verdict === "allow" ? exceptions : ""}`;
}

export function ruleMessage(pattern: LearnedPattern, verdict: "allow" | "deny"): string {
  return `A learned rule that you accepted ${verdict === "allow" ? "allows" : "denies"} ${patternLabel(pattern)}.`;
}
