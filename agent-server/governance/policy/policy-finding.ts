import type { Tier } from "../../contract/common.ts";
import type { Decision, Intent, Rule } from "../../contract/governance.ts";
import type { DecisionFacts } from "../decision-facts.ts";
import type { BaseTier } from "../base-tiers.ts";
import type { Tag } from "../action-vocabulary.ts";

/** A hard no of policy. */
export interface Denial {
  readonly tier: Tier;
  readonly riskLevel: Decision["riskLevel"];
  readonly rules: readonly Rule[];
  readonly alternatives: readonly string[];
}

/** What policy found about an intent, before soul, tier, trust and mode have their say. */
export interface PolicyFinding {
  readonly denial: Denial | null;
  /** Raise the tier to T3; nothing but the owner lifts them. */
  readonly raises: readonly Rule[];
  /** Ask at the tier there is; trust, learned rules or a mode may lift them. */
  readonly asks: readonly Rule[];
  /** Said with an allowance. */
  readonly notes: readonly Rule[];
  readonly tags: readonly Tag[];
  /** What it acts on, for trust and learning. */
  readonly scope: string;
  readonly riskLevel: Decision["riskLevel"] | null;
  readonly alternatives: readonly string[];
  /** What beside capability, action, mode and the common facts the decision depends on. Null: it is not kept. */
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

/** An policyFinding with nothing special about it but what is given. */
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

/** The sentence of a denial or a question that leaves nothing but the owner. */
export const askOwner = "Ask the owner.";

/** A text among the arguments; null when it is missing, empty or something else. */
export function textArgument(intent: Intent, name: string): string | null {
  const value = intent.args[name];
  return typeof value === "string" && value !== "" ? value : null;
}
