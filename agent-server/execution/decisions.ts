import type { Tier } from "../contract/common.ts";
import { LancelotError } from "../contract/errors.ts";
import { Decision } from "../contract/governance.ts";

/** The receipt that governance wrote for a denial; null when it wrote none. */
export function receiptOf(error: LancelotError): string | null {
  const id = error.data?.["receiptId"];
  return typeof id === "string" ? id : null;
}

/** The decision attached to an error of governance; null when there is none. */
export function decisionOf(error: LancelotError): Decision | null {
  const parsed = Decision.safeParse(error.data?.["decision"] ?? error.data);
  return parsed.success ? parsed.data : null;
}

export function highestTier(decisions: readonly Decision[]): Tier {
  const tiers: Tier[] = ["T3", "T2", "T1"];
  return tiers.find((tier) => decisions.some((decision) => decision.tier === tier)) ?? "T0";
}

/** The parts of decisions that a receipt stores. */
export function brief(decisions: readonly Decision[]): Record<string, unknown>[] {
  return decisions.map(({ verdict, tier, riskLevel, rules }) => ({ verdict, tier, riskLevel, rules }));
}

/** The error for a decision that denies. */
export function refused(decision: Decision): LancelotError {
  const why = decision.rules.map((rule) => rule.message).join(" ");
  return new LancelotError("denied", why === "" ? "This is not permitted." : why, { data: { decision } });
}
