import { CommandPlace } from "../../contract/providers.ts";
import { policyFinding, askOwner, type PolicyRule, denial, rule, textArgument } from "./policy-finding.ts";

const places: ReadonlySet<string> = new Set(CommandPlace.options);
const onThisMachine = rule(
  "command.host",
  "It would run on this machine itself, without a sandbox: it can read and change whatever you can. That is asked for each time.",
);

const withNetwork = rule(
  "command.network",
  "It would run with the network: it reaches the hosts of the network list, and can send to them.",
);

/** Policy for a command line: what its syntax tree would run, and where. */
export const shellRules: PolicyRule = (intent, _base, facts) => {
  const command = textArgument(intent, "command");
  if (command === null) return policyFinding({ denial: denial("command.missing", "No command is given.", ["Name the command to run."]) });
  const cwd = intent.cwd ?? textArgument(intent, "cwd") ?? undefined;
  if (intent.args["cwd"] !== undefined && typeof intent.args["cwd"] !== "string") {
    return policyFinding({ denial: denial("command.folder", "The working folder is not a text.", ["Name a folder of the workspace."]) });
  }
  if (cwd !== undefined) {
    const folder = facts.resolve(cwd);
    if (!folder.ok) return policyFinding({ denial: denial(folder.rule, folder.message, ["Name a folder of the workspace."]) });
    if (folder.type !== "directory")
      return policyFinding({ denial: denial("command.folder", "The working folder is not a folder.", ["Name a folder of the workspace."]) });
  }
  const place = intent.args["place"];
  if (place !== undefined && (typeof place !== "string" || !places.has(place)))
    return policyFinding({ denial: denial("command.place", "There is no such place to run a command in.", ["Leave the place out."]) });
  const judged = facts.command(command, cwd);
  const { alternatives, riskLevel, rules } = judged;
  const outside = place === "host";
  // What goes well in a sandbox says nothing about this machine, so neither earns for the other.
  const networked = intent.args["network"] !== undefined && intent.args["network"] !== false;
  const scope = `${outside ? "host." : ""}${networked ? "network." : ""}${judged.scope}`;
  const tags: typeof judged.tags = networked && !judged.tags.includes("network") ? [...judged.tags, "network"] : judged.tags;
  const common = { scope, tags, alternatives: alternatives.length > 0 ? alternatives : [askOwner], riskLevel };
  if (judged.verdict === "deny")
    return policyFinding({ ...common, denial: { tier: judged.tier, riskLevel, rules, alternatives: common.alternatives } });
  if (outside) {
    const asked = judged.verdict === "allow" ? [] : rules;
    return policyFinding({ ...common, riskLevel: riskLevel === "critical" ? riskLevel : "high", raises: [onThisMachine, ...asked] });
  }
  const asks = [...(networked ? [withNetwork] : []), ...(judged.verdict === "allow" ? [] : rules)];
  if (judged.verdict === "ask" && judged.tier === "T3") return policyFinding({ ...common, raises: asks });
  return asks.length > 0 ? policyFinding({ ...common, asks }) : policyFinding({ ...common, notes: rules });
};
