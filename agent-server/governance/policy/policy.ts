import type { Intent } from "../../contract/governance.ts";
import type { Facts } from "../decision-facts.ts";
import type { BaseTier } from "../base-tiers.ts";
import { type Appraisal, appraisal, type Appraise, denial } from "./policy-finding.ts";
import { appraiseCommand } from "./shell-rules.ts";
import { appraiseFiles } from "./file-rules.ts";
import { appraiseMemory } from "./memory-rules.ts";
import { appraiseNetwork } from "./web-rules.ts";
import {
  appraiseConnector,
  appraiseDeployment,
  appraiseQuest,
  appraiseScaffold,
  appraiseSkill,
  appraiseVision,
} from "./capability-rules.ts";
import { appraiseRepository } from "./repository-rules.ts";

/** The policy of each capability of the contract. */
export const appraisers: Readonly<Record<string, Appraise>> = {
  shell_exec: appraiseCommand,
  repo_ops: appraiseRepository,
  file_ops: appraiseFiles,
  web_ops: appraiseNetwork,
  ui_builder: appraiseScaffold,
  deploy_ops: appraiseDeployment,
  vision_control: appraiseVision,
  memory: appraiseMemory,
  skill: appraiseSkill,
  connector: appraiseConnector,
  quest: appraiseQuest,
  soul: appraiseQuest,
};

/** What policy says of an intent whose capability and action are known. May throw what `facts` throw. */
export function appraise(intent: Intent, base: BaseTier, facts: Facts): Appraisal {
  const appraiser = Object.hasOwn(appraisers, intent.capability) ? appraisers[intent.capability] : undefined;
  if (appraiser === undefined)
    return appraisal({
      denial: denial("policy.unknown", "There is no policy for this kind of action.", ["Use one of the tools that are listed."]),
    });
  const found = appraiser(intent, base, facts);
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
