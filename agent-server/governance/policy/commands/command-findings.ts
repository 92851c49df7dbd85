import type { Tier } from "../../../contract/common.ts";
import type { Decision, Verdict } from "../../../contract/governance.ts";
import type { Tag } from "../../action-vocabulary.ts";

/** One rule that applies to a simple command. The strictest finding decides. */
export interface Finding {
  /** Without the leading `command.`. */
  readonly id: string;
  readonly verdict: Verdict;
  readonly tier: Extract<Tier, "T2" | "T3">;
  readonly risk: Decision["riskLevel"];
  /** One plain sentence. */
  readonly message: string;
  /** Alternatives, as sentences. */
  readonly instead: readonly string[];
  readonly tags: readonly Tag[];
}

const risks = ["low", "medium", "high", "critical"] as const;

/** Larger is stricter: deny, ask at T3, ask at T2, allow. */
export function severity(finding: Finding): number {
  const verdict = finding.verdict === "deny" ? 200 : finding.verdict === "ask" ? 100 : 0;
  return verdict + (finding.tier === "T3" ? 10 : 0) + risks.indexOf(finding.risk);
}

export function strictest(findings: readonly Finding[]): Finding | null {
  let found: Finding | null = null;
  for (const finding of findings) if (found === null || severity(finding) > severity(found)) found = finding;
  return found;
}

export function allows(id: string, message: string, tags: readonly Tag[] = []): Finding {
  return { id, verdict: "allow", tier: "T2", risk: "low", message, instead: [], tags };
}

/** Requires approval at T2, which trust and learned rules may waive. */
export function asks(id: string, message: string, instead: readonly string[] = [], tags: readonly Tag[] = []): Finding {
  return { id, verdict: "ask", tier: "T2", risk: "medium", message, instead, tags };
}

/** Requires approval at T3, each time. */
export function alwaysAsks(id: string, message: string, instead: readonly string[] = [], tags: readonly Tag[] = []): Finding {
  return { id, verdict: "ask", tier: "T3", risk: "high", message, instead, tags };
}

export function denies(id: string, message: string, instead: readonly string[] = [], tags: readonly Tag[] = []): Finding {
  return { id, verdict: "deny", tier: "T3", risk: "critical", message, instead, tags };
}

export const fetchedScript = denies(
  "runs-fetched",
  "Runs commands downloaded from the network.",
  ["Fetch the script with fetch_url, read it, and propose its steps."],
  ["execute", "network", "download"],
);
