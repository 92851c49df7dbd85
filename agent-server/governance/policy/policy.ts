import type { Intent } from "../../contract/governance.ts";
import type { DecisionFacts } from "../decision-facts.ts";
import type { BaseTier } from "../base-tiers.ts";
import { type PolicyFinding, policyFinding, type PolicyRule, denial } from "./policy-finding.ts";
import { assessCommand } from "./shell-rules.ts";
import { assessFiles } from "./file-rules.ts";
import { assessMemory } from "./memory-rules.ts";
import { assessWeb } from "./web-rules.ts";
import { assessConnector, assessDeployment, assessQuest, assessScaffold, assessSkill, assessScreen } from "./capability-rules.ts";
import { assessRepository } from "./repository-rules.ts";

/** The policy of each capability of the contract. */
export const capabilityPolicies: Readonly<Record<string, PolicyRule>> = {
  shell_exec: assessCommand,
  repo_ops: assessRepository,
  file_ops: assessFiles,
  web_ops: assessWeb,
  ui_builder: assessScaffold,
  deploy_ops: assessDeployment,
  vision_control: assessScreen,
  memory: assessMemory,
  skill: assessSkill,
  connector: assessConnector,
  quest: assessQuest,
  soul: assessQuest,
};

/** Applies policy to an intent with a known capability and action. Rethrows errors of `facts`. */
export function assessPolicy(intent: Intent, base: BaseTier, facts: DecisionFacts): PolicyFinding {
  const policy = Object.hasOwn(capabilityPolicies, intent.capability) ? capabilityPolicies[intent.capability] : undefined;
  if (policy === undefined)
    return policyFinding({
      denial: denial("policy.unknown", "No policy covers this action, so it is denied.", ["Use one of the listed tools."]),
    });
  const found = policy(intent, base, facts);
  if (found.denial !== null || facts.trusted) return found;
  const acts =
    base.effect === "write" || base.effect === "delete" || intent.capability === "shell_exec" || repositoryChanges.has(intent.action);
  if (!acts) return found;
  return {
    ...found,
    denial: denial(
      "policy.untrusted",
      "This workspace is restricted. Trust it to write files or run commands.",
      ["Explain the change instead of making it.", "Ask the owner to trust the workspace."],
      { tier: base.tier },
    ),
  };
}

/** Actions that change a repository without naming a file. */
const repositoryChanges: ReadonlySet<string> = new Set(["commit", "branch", "push"]);
