import type { Tag } from "../action-vocabulary.ts";
import { policyFinding, askOwner, boundedScope, type PolicyRule, denial, rule, textArgument } from "./policy-finding.ts";
import { assessPaths, namedPaths } from "./file-rules.ts";
import { assessCommand } from "./shell-rules.ts";

/** Policy for scaffolds: new files in a folder of the workspace. */
export const assessScaffold: PolicyRule = (intent, _base, facts) => {
  const target = intent.args["target"];
  const paths = [...namedPaths(intent), ...(target === undefined ? [] : [target])];
  return { ...assessPaths(intent, "write", facts, paths.length === 0 ? ["."] : paths), key: null };
};

/** Policy for builds, tests, packages and deployments. Runs the owner's declared targets; a command argument is checked like any command. */
export const assessDeployment: PolicyRule = (intent, base, facts) => {
  const target = textArgument(intent, "target") ?? "default";
  const common = policyFinding({
    scope: boundedScope(target),
    alternatives:
      intent.action === "deploy"
        ? ["Build and test, and let the owner deploy.", "Give the owner the exact command."]
        : ["Give the owner the exact command.", askOwner],
  });
  if (!facts.trusted) {
    return {
      ...common,
      denial: denial(
        "policy.untrusted",
        "This workspace is restricted. Trust it to run its code.",
        ["Ask the owner to trust the workspace."],
        { tier: base.tier },
      ),
    };
  }
  if (intent.args["command"] === undefined) return common;
  const command = assessCommand(intent, base, facts);
  return { ...command, scope: common.scope };
};

const destructiveVerbs =
  /\b(?:delete|remove|destroy|drop|purchase|buy|pay|order|send|submit|publish|transfer|confirm|sign|accept|unsubscribe|cancel)\b/i;

/** Policy for viewing and operating a screen: only pages that the network policy allows. */
export const assessScreen: PolicyRule = (intent, base, facts) => {
  const url = textArgument(intent, "url");
  const tags: Tag[] = [];
  if (
    intent.action === "perform_action" &&
    destructiveVerbs.test(textArgument(intent, "description") ?? textArgument(intent, "action") ?? "")
  )
    tags.push("destroy");
  const common = { tags, alternatives: ["Describe the step and let the owner do it.", askOwner] };
  if (url === null) return policyFinding({ ...common, scope: "screen" });
  const judged = facts.network(url, "read");
  if (judged.verdict === "deny") {
    return policyFinding({
      ...common,
      scope: judged.host,
      denial: { tier: base.tier, riskLevel: "high", rules: [judged.rule], alternatives: judged.alternatives },
    });
  }
  return policyFinding({ ...common, scope: judged.host });
};

/** Permissions that need no approval at each run of a skill. */
const harmlessPermissions = new Set(["read_input", "write_output", "read_config"]);

/** Policy for skills: permissions beyond input and output require approval. */
export const assessSkill: PolicyRule = (intent, base, facts) => {
  const name = textArgument(intent, "name");
  if (name === null || !/^[a-z][a-z0-9_]{0,63}$/.test(name)) {
    return policyFinding({
      denial: denial("skill.name", "Invalid skill name.", ["Use the name of an installed skill."], { tier: base.tier }),
    });
  }
  const common = { scope: name, alternatives: ["Use the listed tools.", askOwner] };
  if (!facts.trusted) {
    return policyFinding({
      ...common,
      denial: denial(
        "policy.untrusted",
        "This workspace is restricted. Trust it to run its code.",
        ["Ask the owner to trust the workspace."],
        {
          tier: base.tier,
        },
      ),
    });
  }
  const { permissions } = intent.args;
  const harmless = Array.isArray(permissions) && permissions.every((one) => typeof one === "string" && harmlessPermissions.has(one));
  return policyFinding({
    ...common,
    asks: harmless ? [] : [rule("skill.permissions", "The skill has permissions beyond reading its input and writing its output.")],
  });
};

/** Policy for messages to people. */
export const assessConnector: PolicyRule = (intent) => {
  const connector = textArgument(intent, "connector") ?? textArgument(intent, "name") ?? "any";
  return policyFinding({ scope: boundedScope(connector), alternatives: ["Draft the message and let the owner send it."] });
};

/** Policy for actions inside the quest: its plan, questions, proposals. */
export const assessQuest: PolicyRule = () => policyFinding({ scope: "quest", key: "" });
