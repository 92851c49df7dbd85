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

/** What policy says of an intent whose capability and action are known. May throw what `facts` throw. */
export function assessPolicy(intent: Intent, base: BaseTier, facts: DecisionFacts): PolicyFinding {
  const policy = Object.hasOwn(capabilityPolicies, intent.capability) ? capabilityPolicies[intent.capability] : undefined;
  if (policy === undefined)
    return policyFinding({
      denial: denial("policy.unknown", "There is no policy for this kind of action.", ["Use one of the tools that are listed."]),
    });
  const found = policy(intent, base, facts);
  if (found.denial !== null || facts.trusted) return found;
  const acts = base.effect === "write" || base.effect === "delete" || intent.capability === "shell_exec" || commits.has(intent.action);
  if (!acts) return found;
  return {
    ...found,
    denial: denial(
      "policy.untrusted",
      "This workspace is restricted: nothing is written or run until you trust it.",
      ["Explain the change instead of making it.", "Ask the owner to trust the workspace."],
      { tier: base.tier },
    ),
  };
}

/** What changes a repository without naming a file. */
const commits: ReadonlySet<string> = new Set(["commit", "branch", "push"]);
