import { policyFinding, type PolicyRule, denial, textArgument } from "./policy-finding.ts";
import { assessPaths, namedPaths } from "./file-rules.ts";

/** Policy for the web: the address and, for a download, the target file. */
export const assessWeb: PolicyRule = (intent, base, facts) => {
  const url = textArgument(intent, "url");
  if (url === null)
    return policyFinding({
      denial: denial("network.address", "The address is missing.", ["Pass the https address."], { tier: base.tier }),
    });
  const judgment = facts.network(url, intent.action === "post" ? "write" : "read");
  const common = { scope: judgment.host === "" ? "any" : judgment.host };
  if (judgment.verdict === "deny") {
    return policyFinding({
      ...common,
      denial: { tier: base.tier, riskLevel: "high", rules: [judgment.rule], alternatives: judgment.alternatives },
    });
  }
  if (intent.action !== "download") {
    return policyFinding({
      ...common,
      notes: [judgment.rule],
      alternatives: ["Read the page instead of sending data.", "Give the owner the exact request."],
    });
  }
  const files = assessPaths(intent, "write", facts, namedPaths(intent));
  return { ...files, ...common, notes: [judgment.rule], key: null };
};
