import type { Tier } from "../../../contract/common.ts";
import type { Decision, Verdict } from "../../../contract/governance.ts";
import type { Tag } from "../../action-vocabulary.ts";

/** One thing policy says about a simple command; the strictest decides. */
export interface Finding {
  /** Without the leading `command.`. */
  readonly id: string;
  readonly verdict: Verdict;
  readonly tier: Extract<Tier, "T2" | "T3">;
  readonly risk: Decision["riskLevel"];
  /** One plain sentence. */
  readonly message: string;
  /** Sentences: what could be done instead. */
  readonly instead: readonly string[];
  readonly tags: readonly Tag[];
}

const risks = ["low", "medium", "high", "critical"] as const;

/** Larger is stricter: deny, then what is asked and never lifted, then what is asked, then allow. */
export function severity(finding: Finding): number {
  const verdict = finding.verdict === "deny" ? 200 : finding.verdict === "ask" ? 100 : 0;
  return verdict + (finding.tier === "T3" ? 10 : 0) + risks.indexOf(finding.risk);
}

export function strictest(findings: readonly Finding[]): Finding | null {
  let found: Finding | null = null;
  for (const finding of findings) if (found === null || severity(finding) > severity(found)) found = finding;
  return found;
}

export function allowed(id: string, message: string, tags: readonly Tag[] = []): Finding {
  return { id, verdict: "allow", tier: "T2", risk: "low", message, instead: [], tags };
}

/** Asked; trust and learning may lift it later. */
export function asks(id: string, message: string, instead: readonly string[] = [], tags: readonly Tag[] = []): Finding {
  return { id, verdict: "ask", tier: "T2", risk: "medium", message, instead, tags };
}

/** Asked every time. */
export function holds(id: string, message: string, instead: readonly string[] = [], tags: readonly Tag[] = []): Finding {
  return { id, verdict: "ask", tier: "T3", risk: "high", message, instead, tags };
}

export function denies(id: string, message: string, instead: readonly string[] = [], tags: readonly Tag[] = []): Finding {
  return { id, verdict: "deny", tier: "T3", risk: "critical", message, instead, tags };
}

export const fetchedScript = denies(
  "runs-fetched",
  "This runs commands that come straight from the network.",
  ["Fetch the script with fetch_url, read it, and propose its steps."],
  ["execute", "network", "download"],
);
