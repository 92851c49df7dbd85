/** What ships: every flag, whether it is on by default, and what it switches (requirement F1). Governance itself has none. */
export interface FlagEntry {
  readonly default: boolean;
  readonly needs?: readonly FlagName[];
  /** What it switches and what is left when it is off, as it is in this version. */
  readonly effect: string;
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

const notYet = (what: string): string => `Nothing yet: ${what} not part of this version.`;

export const flagTable: Readonly<Record<FlagName, FlagEntry>> = {
  SOUL: {
    default: true,
    effect:
      "The soul: what may be done without asking, and what never. Off: no soul is read or proposed; policy, tiers and approvals decide as before.",
  },
  SKILLS: { default: true, effect: notYet("skills are") },
  HEALTH_MONITOR: { default: true, effect: notYet("the health monitor is") },
  SCHEDULER: { default: true, effect: notYet("scheduled jobs are") },
  MEMORY_VNEXT: {
    default: true,
    effect:
      "Memory: what is recalled for a task, kept from it and proposed at its end, and the tools for it. Off: nothing is recalled, kept or proposed; USER.md, RULES.md and MEMORY_SUMMARY.md lead the prompt as before, and what is remembered stays where it is.",
  },
  TOOLS_FABRIC: {
    default: true,
    effect: "The tools: reading, searching and editing files, git, repl.run. Off: the model is offered no tools and can only talk.",
  },
  STRUCTURED_OUTPUT: { default: true, effect: notYet("structured output is") },
  CLAIM_VERIFICATION: { default: true, effect: notYet("the verification of claims is") },
  UNIFIED_CLASSIFICATION: {
    default: true,
    effect:
      "What kind of request a message is, told by the intent lane on this machine where its words alone do not tell. Off: words alone decide which model answers.",
  },
  PROVIDER_SDK: {
    default: true,
    effect:
      "The providers' official SDKs, where models.yaml does not say mode: api. Off: every provider is reached by plain REST and no SDK is loaded; answers, thinking, tools and caching are the same.",
  },
  GITHUB_SEARCH: { default: true, needs: ["TOOLS_NETWORK"], effect: notYet("the search of GitHub is") },
  TOOLS_CLI_PROVIDERS: { default: false, needs: ["TOOLS_FABRIC"], effect: notYet("other agents' command lines as tools are") },
  TOOLS_ANTIGRAVITY: { default: false, needs: ["TOOLS_FABRIC"], effect: notYet("the Antigravity adapters are") },
  TOOLS_NETWORK: {
    default: false,
    needs: ["TOOLS_FABRIC"],
    effect:
      "Tools that reach the internet: fetch_url, download, http_post, git_clone, git_push, and commands that need it. Off: policy denies every one. On: it allows the hosts of config/network.yaml, and sending asks each time.",
  },
  TOOLS_HOST_EXECUTION: {
    default: false,
    needs: ["TOOLS_FABRIC"],
    effect:
      "Commands on this machine itself, as you, without a sandbox, where no sandbox can run them. Off: such commands are refused. On: each one asks you.",
  },
  COMPETITIVE_SCAN: { default: false, needs: ["MEMORY_VNEXT"], effect: notYet("the competitive scan is") },
  DEEP_REASONING_LOOP: { default: false, effect: notYet("the deep reasoning pass is") },
  ANTHROPIC_OAUTH: {
    default: false,
    effect:
      "Signing in to Anthropic instead of a key, by the client of config/oauth.yaml. Off: the key is used, and a sign-in is kept for later.",
  },
  GOOGLE_OAUTH: {
    default: false,
    effect:
      "Signing in to Google instead of a Gemini key, by the client of config/oauth.yaml. Off: the key is used, and a sign-in is kept for later.",
  },
};

export function isFlagName(name: string): name is FlagName {
  return Object.hasOwn(flagTable, name);
}
