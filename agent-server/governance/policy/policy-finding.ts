import { hash } from "node:crypto";
import type { Tier } from "../../contract/common.ts";
import type { Decision, Intent, Rule } from "../../contract/governance.ts";
import type { DecisionFacts } from "../decision-facts.ts";
import type { BaseTier } from "../base-tiers.ts";
import type { Tag } from "../action-vocabulary.ts";

/** A denial by policy, which no later step overrides. */
export interface Denial {
  readonly tier: Tier;
  readonly riskLevel: Decision["riskLevel"];
  readonly rules: readonly Rule[];
  readonly alternatives: readonly string[];
}

/** The result of the policy rules for an intent, before soul, tier, trust and mode. */
export interface PolicyFinding {
  readonly denial: Denial | null;
  /** Rules that raise the tier to T3. Only the owner can allow the action. */
  readonly raises: readonly Rule[];
  /** Rules that require approval at the current tier. Trust, learned rules or a mode may waive it. */
  readonly asks: readonly Rule[];
  /** Rules reported with an `allow` verdict. */
  readonly notes: readonly Rule[];
  readonly tags: readonly Tag[];
  /** The object of the action, for trust and learning. */
  readonly scope: string;
  readonly riskLevel: Decision["riskLevel"] | null;
  readonly alternatives: readonly string[];
  /** Further inputs of the decision, as a cache key. Null: the decision is not cached. */
  readonly key: string | null;
}

export type PolicyRule = (intent: Intent, base: BaseTier, facts: DecisionFacts) => PolicyFinding;

const plain: PolicyFinding = {
  denial: null,
  raises: [],
  asks: [],
  notes: [],
  tags: [],
  scope: "any",
  riskLevel: null,
  alternatives: [],
  key: null,
};

/** A finding without restrictions, except for the given fields. */
export function policyFinding(more: Partial<PolicyFinding> = {}): PolicyFinding {
  return { ...plain, ...more };
}

export function rule(id: string, message: string, source: Rule["source"] = "policy"): Rule {
  return { id, source, message };
}

/** A denial by one rule. */
export function denial(
  id: string,
  message: string,
  alternatives: readonly string[],
  more: { tier?: Tier; riskLevel?: Decision["riskLevel"] } = {},
): Denial {
  return { tier: more.tier ?? "T3", riskLevel: more.riskLevel ?? "high", rules: [rule(id, message)], alternatives };
}

const maxScope = 120;

/** A scope of bounded length. Long ones end in a hash, so that two of them are never the same by their beginning. */
export function boundedScope(text: string): string {
  return text.length <= maxScope ? text : `${text.slice(0, maxScope - 18)}… ${hash("sha256", text).slice(0, 16)}`;
}

/** The alternative when only the owner can help. */
export const askOwner = "Ask the owner.";

/** A string argument; null when it is missing, empty or not a string. */
export function textArgument(intent: Intent, name: string): string | null {
  const value = intent.args[name];
  return typeof value === "string" && value !== "" ? value : null;
}
