import { policyFinding, type PolicyRule, denial, textArgument } from "./policy-finding.ts";
import { assessPaths, namedPaths } from "./file-rules.ts";

/** Policy for the web: the address, and for a download the file it becomes. */
export const webRules: PolicyRule = (intent, base, facts) => {
  const url = textArgument(intent, "url");
  if (url === null)
    return policyFinding({ denial: denial("network.address", "No address is given.", ["Name the https address."], { tier: base.tier }) });
  const judged = facts.network(url, intent.action === "post" ? "write" : "read");
  const common = { scope: judged.host === "" ? "any" : judged.host };
  if (judged.verdict === "deny") {
    return policyFinding({
      ...common,
      denial: { tier: base.tier, riskLevel: "high", rules: [judged.rule], alternatives: judged.alternatives },
    });
  }
  if (intent.action !== "download") {
    return policyFinding({
      ...common,
      notes: [judged.rule],
      alternatives: ["Read what is needed instead of sending it.", "Give the owner the exact request."],
    });
  }
  const files = assessPaths(intent, "write", facts, namedPaths(intent));
  return { ...files, ...common, notes: [judged.rule], key: null };
};
