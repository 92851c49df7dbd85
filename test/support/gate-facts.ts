import type { ActiveSoul, CommandJudgment, DecisionFacts, NetworkJudgment } from "../../agent-server/governance/decision-facts.ts";

const harmless: CommandJudgment = {
  verdict: "allow",
  tier: "T2",
  riskLevel: "medium",
  rules: [{ id: "command.harmless", source: "policy", message: "It only looks." }],
  alternatives: [],
  scope: "harmless",
  programs: [],
  tags: ["read"],
  parts: [],
  code: [],
};

/** Commands by the word that stands for their judgement. */
export const commands: Record<string, CommandJudgment> = {
  harmless,
  risky: {
    ...harmless,
    verdict: "ask",
    scope: "risky",
    tags: ["install"],
    rules: [{ id: "command.risky", source: "policy", message: "It adds software." }],
    alternatives: ["Say what is missing."],
  },
  grave: {
    ...harmless,
    verdict: "ask",
    tier: "T3",
    riskLevel: "high",
    scope: "grave",
    tags: ["delete"],
    rules: [{ id: "command.grave", source: "policy", message: "It deletes." }],
    alternatives: ["Delete single files."],
  },
  fatal: {
    ...harmless,
    verdict: "deny",
    tier: "T3",
    riskLevel: "critical",
    scope: "fatal",
    tags: ["destroy"],
    rules: [{ id: "command.fatal", source: "policy", message: "It destroys a disk." }],
    alternatives: ["Leave it."],
  },
};

export function network(url: string): NetworkJudgment {
  const listed = url.includes("listed.example");
  return {
    verdict: listed ? "allow" : "deny",
    host: listed ? "listed.example" : "",
    rule: { id: listed ? "network.listed" : "network.off", source: "policy", message: "Because of the list of hosts." },
    alternatives: listed ? [] : ["Ask the owner to paste it."],
  };
}

/** A soul that names everything, holds nothing and forbids nothing, but for what is given. */
export function soul(more: Partial<ActiveSoul> = {}, level: "supervised" | "autonomous" = "autonomous"): ActiveSoul {
  return {
    version: "v1",
    sha256: "0".repeat(64),
    document: {
      version: "v1",
      mission: "To help.",
      allegiance: "To the owner.",
      autonomy_posture: { level, description: "", allowed_autonomous: [], requires_approval: [] },
      risk_rules: [],
      approval_rules: { default_timeout_seconds: 60, escalation_on_timeout: "skip_and_log", channels: ["war_room"] },
      tone_invariants: [],
      memory_ethics: [],
      scheduling_boundaries: {
        max_concurrent_jobs: 2,
        max_job_duration_seconds: 300,
        no_autonomous_irreversible: true,
        require_ready_state: true,
        description: "",
      },
    },
    requiresApproval: () => null,
    riskRules: () => [],
    allows: ({ kind }) => kind,
    forbidsMemory: () => null,
    tone: { noSilentFailure: true, sourcesRequired: false },
    ...more,
  };
}

/** DecisionFacts of a trusted workspace in supervised posture, without a soul and with nothing earned; every path is an ordinary file in it. */
export function gateFacts(more: Partial<DecisionFacts> = {}): DecisionFacts {
  return {
    resolve: (path) => ({ ok: true, absolute: `/w/${path}`, display: path, inside: true, type: "file", sensitive: null, rule: null }),
    ruleMessage: (rule) => `Because of ${rule}.`,
    command: (command) => commands[command] ?? harmless,
    network,
    trusted: true,
    posture: "supervised",
    broad: null,
    safeMode: false,
    soul: null,
    trust: { tier: () => null },
    learned: { find: () => null },
    neverAutomate: () => false,
    ...more,
  };
}
