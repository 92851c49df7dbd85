import type { Intent } from "../../contract/governance.ts";
import { CommandPlace } from "../../contract/providers.ts";
import { policyFinding, askOwner, boundedScope, type PolicyRule, denial, rule, textArgument } from "./policy-finding.ts";

const places: ReadonlySet<string> = new Set(CommandPlace.options);
const hostRule = rule("command.host", "Runs on this machine without a sandbox, with your access rights. This requires approval.");

const containedRule = rule(
  "command.contained",
  "Runs in a view of the workspace: what it changes is proposed, and nothing else can change.",
);

/** True for the levels at which nothing reaches the workspace before it is judged. The host sets the level, never a request. */
export function isContained(level: unknown): boolean {
  return level === "transactional" || level === "copied";
}

/** The hosts that a command may reach; null for those on the allowlist. */
function hostsOf({ args }: Intent): readonly string[] | null {
  return Array.isArray(args["network"]) ? args["network"].map(String) : null;
}

/** @param unlisted the hosts that are not on the allowlist: the command names them, so neither trust nor a learned rule may let it reach them */
function networkRule(hosts: readonly string[] | null, unlisted: readonly string[]): ReturnType<typeof rule> {
  if (unlisted.length > 0)
    return rule("command.network-unlisted", `Can send data to hosts that are not on your allowlist: ${unlisted.join(", ")}.`);
  const named = hosts === null ? "the hosts on your allowlist" : `these hosts: ${hosts.join(", ")}`;
  return rule("command.network", `Runs with network access: it can send data to ${named}.`);
}

/** Actions on a background command, which was judged when it started. */
const backgroundActions: ReadonlySet<string> = new Set(["output", "stop", "preview"]);

function assessBackground(intent: Intent): ReturnType<typeof policyFinding> {
  if (textArgument(intent, "id") === null)
    return policyFinding({
      denial: denial("command.missing", "The id of the command is missing.", ["Pass the id that run_command returned."]),
    });
  return policyFinding({ scope: `background.${intent.action}` });
}

/** Policy for command lines: what the syntax tree would run, and where. */
export const assessCommand: PolicyRule = (intent, _base, facts) => {
  if (backgroundActions.has(intent.action)) return assessBackground(intent);
  const command = textArgument(intent, "command");
  if (command === null)
    return policyFinding({ denial: denial("command.missing", "The command is missing.", ["Pass the command to run."]) });
  const cwd = intent.cwd ?? textArgument(intent, "cwd") ?? undefined;
  if (intent.args["cwd"] !== undefined && typeof intent.args["cwd"] !== "string") {
    return policyFinding({ denial: denial("command.folder", "The working folder must be a string.", ["Use a folder of the workspace."]) });
  }
  if (cwd !== undefined) {
    const folder = facts.resolve(cwd);
    if (!folder.ok) return policyFinding({ denial: denial(folder.rule, folder.message, ["Use a folder of the workspace."]) });
    if (folder.type !== "directory")
      return policyFinding({ denial: denial("command.folder", "The working folder is not a folder.", ["Use a folder of the workspace."]) });
  }
  const place = intent.args["place"];
  if (place !== undefined && (typeof place !== "string" || !places.has(place)))
    return policyFinding({ denial: denial("command.place", "Unknown place to run a command.", ["Omit the place."]) });
  const judgment = facts.command(command, cwd);
  const { alternatives, riskLevel, rules } = judgment;
  const onHost = place === "host";
  // Success in a sandbox says nothing about this machine, so each has a separate trust scope.
  const networked = intent.args["network"] !== undefined && intent.args["network"] !== false;
  const contained = isContained(intent.args["containment"]);
  const hosts = hostsOf(intent);
  const scope = boundedScope(
    [onHost ? "host." : "", networked ? "network." : "", contained ? "contained" : judgment.scope]
      .concat(
        judgment.programs.length === 0 ? "" : ` (${judgment.programs.join(", ")})`,
        hosts === null ? "" : ` → ${hosts.toSorted().join(", ")}`,
      )
      .join(""),
  );
  const tags: typeof judgment.tags = networked && !judgment.tags.includes("network") ? [...judgment.tags, "network"] : judgment.tags;
  const common = { scope, tags, alternatives: alternatives.length > 0 ? alternatives : [askOwner], riskLevel };
  if (judgment.verdict === "deny")
    return policyFinding({ ...common, denial: { tier: judgment.tier, riskLevel, rules, alternatives: common.alternatives } });
  const unlisted = (hosts ?? []).filter((host) => facts.network(`https://${host}/`, "write").verdict === "deny");
  const network = networked ? [networkRule(hosts, unlisted)] : [];
  // Containment is the boundary: what the command does in its view is judged when it reaches the workspace. What it sends is not.
  if (contained && !(networked && judgment.verdict === "ask" && judgment.tier === "T3"))
    return policyFinding({
      ...{ scope, tags: networked ? tags : ["shell"], alternatives: common.alternatives },
      ...(unlisted.length > 0 ? { raises: network } : networked ? { asks: network } : { notes: [containedRule] }),
    });
  if (onHost) {
    const asked = judgment.verdict === "allow" ? [] : rules;
    return policyFinding({ ...common, riskLevel: riskLevel === "critical" ? riskLevel : "high", raises: [hostRule, ...asked] });
  }
  const asks = [...network, ...(judgment.verdict === "allow" ? [] : rules)];
  if (unlisted.length > 0 || (judgment.verdict === "ask" && judgment.tier === "T3")) return policyFinding({ ...common, raises: asks });
  return asks.length > 0 ? policyFinding({ ...common, asks }) : policyFinding({ ...common, notes: rules });
};
