/** One shipped flag (requirement F1). Governance has no flag. */
export interface FlagEntry {
  readonly default: boolean;
  readonly needs?: readonly FlagName[];
  /**
   * What the flag turns on, and what remains when it is off. `null` while no code reads the flag: such a flag is always off, is not
   * listed and has no setting. Write this text in the change that implements the flag.
   */
  readonly effect: string | null;
}

export const flagNames = [
  "SOUL",
  "SKILLS",
  "HEALTH_MONITOR",
  "SCHEDULER",
  "MEMORY_VNEXT",
  "TOOLS_FABRIC",
  "STRUCTURED_OUTPUT",
  "CLAIM_VERIFICATION",
  "UNIFIED_CLASSIFICATION",
  "PROVIDER_SDK",
  "GITHUB_SEARCH",
  "TOOLS_CLI_PROVIDERS",
  "TOOLS_ANTIGRAVITY",
  "TOOLS_NETWORK",
  "TOOLS_HOST_EXECUTION",
  "COMPETITIVE_SCAN",
  "DEEP_REASONING_LOOP",
  "ANTHROPIC_OAUTH",
  "GOOGLE_OAUTH",
] as const;
export type FlagName = (typeof flagNames)[number];

export const flagTable: Readonly<Record<FlagName, FlagEntry>> = {
  SOUL: {
    default: true,
    effect:
      "The soul: rules for what Lancelot may do without asking, and what it may never do. Off: Lancelot reads and proposes no soul; policy, tiers and approvals still decide.",
  },
  SKILLS: { default: true, effect: null },
  HEALTH_MONITOR: { default: true, effect: null },
  SCHEDULER: { default: true, effect: null },
  MEMORY_VNEXT: {
    default: true,
    effect:
      "Memory: recall for each task, saved and proposed memories, and the memory tools. Off: nothing is recalled, saved or proposed. Prompts still start with USER.md, RULES.md and MEMORY_SUMMARY.md, and stored memories are kept.",
  },
  TOOLS_FABRIC: {
    default: true,
    effect: "The tools: reading, searching and editing files, commands, git and repl.run. Off: the model gets no tools and can only chat.",
  },
  STRUCTURED_OUTPUT: {
    default: true,
    effect:
      "The report of a task: the model may end with the actions it took, and each is compared with its receipt. Off: the model gets no such tool, and answers are text.",
  },
  CLAIM_VERIFICATION: {
    default: true,
    effect:
      "The check of answers: what an answer claims to have done and nothing recorded shows is named below it, and announcements without work go back to the model once. Off: answers are shown as they are.",
  },
  UNIFIED_CLASSIFICATION: {
    default: true,
    effect:
      "The intent of requests: where rules are not certain, a model on this machine or one short call to the cheapest model decides. A question changes nothing. A request with several steps, a risky action or many words is planned, and each step is verified. Off: rules alone choose the model, and every request outside plan mode is worked on in the same way.",
  },
  PROVIDER_SDK: {
    default: true,
    effect:
      "The providers' official SDKs, except where models.yaml says mode: api. Off: Lancelot calls every provider over plain REST and loads no SDK. Answers, reasoning, tools and caching work the same.",
  },
  GITHUB_SEARCH: { default: true, needs: ["TOOLS_NETWORK"], effect: null },
  TOOLS_CLI_PROVIDERS: { default: false, needs: ["TOOLS_FABRIC"], effect: null },
  TOOLS_ANTIGRAVITY: { default: false, needs: ["TOOLS_FABRIC"], effect: null },
  TOOLS_NETWORK: {
    default: false,
    needs: ["TOOLS_FABRIC"],
    effect:
      "Tools that use the internet: fetch_url, download, http_post, git_clone, git_push, and commands that need the network. Off: the policy denies them. On: the policy allows the hosts in config/network.yaml, and sending data asks you each time.",
  },
  TOOLS_HOST_EXECUTION: {
    default: false,
    needs: ["TOOLS_FABRIC"],
    effect:
      "Commands that run directly on this machine, as you, when no sandbox is available. Off: Lancelot refuses such commands. On: each command asks you first.",
  },
  COMPETITIVE_SCAN: { default: false, needs: ["MEMORY_VNEXT"], effect: null },
  DEEP_REASONING_LOOP: {
    default: false,
    effect:
      "Deep reasoning: before a complex or risky request, one call to the deep model thinks about strategy, risks and missing capabilities. Off: the work begins at once.",
  },
  ANTHROPIC_OAUTH: {
    default: false,
    effect:
      "Sign-in to Anthropic instead of an API key, with the client in config/oauth.yaml. Off: Lancelot uses the API key and keeps the sign-in for later.",
  },
  GOOGLE_OAUTH: {
    default: false,
    effect:
      "Sign-in to Google instead of a Gemini API key, with the client in config/oauth.yaml. Off: Lancelot uses the API key and keeps the sign-in for later.",
  },
};

/** The flags that this version implements. */
export const implementedFlags: readonly FlagName[] = flagNames.filter((name) => flagTable[name].effect !== null);

export function isFlagName(name: string): name is FlagName {
  return Object.hasOwn(flagTable, name);
}
