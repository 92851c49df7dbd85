import type { Intent } from "../../contract/governance.ts";
import type { Facts } from "../facts.ts";
import type { BaseTier } from "../tiers.ts";
import { type Appraisal, appraisal, type Appraise, denial } from "./appraisal.ts";
import { appraiseCommand } from "./appraise-command.ts";
import { appraiseFiles } from "./appraise-files.ts";
import { appraiseMemory } from "./appraise-memory.ts";
import { appraiseNetwork } from "./appraise-network.ts";
import {
  appraiseConnector,
  appraiseDeployment,
  appraiseQuest,
  appraiseScaffold,
  appraiseSkill,
  appraiseVision,
} from "./appraise-others.ts";
import { appraiseRepository } from "./appraise-repository.ts";

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
