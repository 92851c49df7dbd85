import type { Intent } from "../../contract/governance.ts";
import type { DecisionFacts } from "../decision-facts.ts";
import type { BaseTier } from "../base-tiers.ts";
import { type PolicyFinding, policyFinding, type PolicyRule, denial } from "./policy-finding.ts";
import { shellRules } from "./shell-rules.ts";
import { fileRules } from "./file-rules.ts";
import { memoryRules } from "./memory-rules.ts";
import { webRules } from "./web-rules.ts";
import {
  connectorRules,
  deploymentRules,
  questRules,
  scaffoldRules,
  skillRules,
  visionRules,
} from "./capability-rules.ts";
import { repositoryRules } from "./repository-rules.ts";

/** The policy of each capability of the contract. */
export const capabilityPolicies: Readonly<Record<string, PolicyRule>> = {
  shell_exec: shellRules,
  repo_ops: repositoryRules,
  file_ops: fileRules,
  web_ops: webRules,
  ui_builder: scaffoldRules,
  deploy_ops: deploymentRules,
  vision_control: visionRules,
  memory: memoryRules,
  skill: skillRules,
  connector: connectorRules,
  quest: questRules,
  soul: questRules,
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
  const acts = base.effect === "write" || base.effect === "delete" || intent.capability === "shell_exec" || repositoryChanges.has(intent.action);
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
