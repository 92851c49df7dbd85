import type { Tier } from "../contract/common.ts";

/** What an action does to the files it names. */
type FileEffect = "none" | "read" | "write" | "delete";

/** One capability and action: its tier before scope and pattern raise it. */
export interface BaseTier {
  readonly tier: Tier;
  readonly effect: FileEffect;
  /** Set while nothing can carry the action out: why, and what to do instead. */
  readonly unavailable?: { readonly id: string; readonly message: string; readonly alternatives: readonly string[] };
}

const noCommands = {
  id: "policy.commands-unavailable",
  message: "Commands cannot be run: the sandbox they need is not part of this version.",
  alternatives: ["Give the owner the exact command to run in a terminal.", "Read, search and edit files with the file tools."],
};
const noNetwork = {
  id: "policy.network-unavailable",
  message: "The network cannot be reached: the gate it needs is not part of this version.",
  alternatives: ["Ask the owner to paste what is needed.", "Look for the information in the workspace."],
};
const noRepositoryChanges = {
  id: "policy.repository-changes-unavailable",
  message: "The repository cannot be changed through git: only status, diff and log are part of this version.",
  alternatives: ["Give the owner the exact git command.", "Use git status, diff or log.", "Edit files with the file tools."],
};

function notPartOfThisVersion(id: string, what: string) {
  return {
    id: `policy.${id}-unavailable`,
    message: `${what}: what this needs is not part of this version.`,
    alternatives: ["Do what is possible with the file tools.", "Tell the owner what is left to do by hand."],
  };
}
const noScaffold = notPartOfThisVersion("scaffold", "User interfaces cannot be scaffolded");
const noDeployment = notPartOfThisVersion("deployment", "Nothing can be built, tested, packaged or deployed");
const noVision = notPartOfThisVersion("vision", "Screens cannot be seen or operated");
const noMemory = notPartOfThisVersion("memory", "Memory cannot be read or written");
const noSkills = notPartOfThisVersion("skills", "Skills cannot be run");
const noConnectors = notPartOfThisVersion("connectors", "Nothing can be sent through a connector");

/** The base tier of every capability and action of the contract. `*` stands for every action of a capability that names none. */
export const baseTiers: Readonly<Record<string, Readonly<Record<string, BaseTier>>>> = {
  shell_exec: { "*": { tier: "T2", effect: "none", unavailable: noCommands } },
  repo_ops: {
    status: { tier: "T0", effect: "read" },
    diff: { tier: "T0", effect: "read" },
    log: { tier: "T0", effect: "read" },
    commit: { tier: "T1", effect: "write", unavailable: noRepositoryChanges },
    branch: { tier: "T1", effect: "write", unavailable: noRepositoryChanges },
    checkout: { tier: "T1", effect: "write", unavailable: noRepositoryChanges },
    apply_patch: { tier: "T1", effect: "write", unavailable: noRepositoryChanges },
    push: { tier: "T3", effect: "none", unavailable: noRepositoryChanges },
    clone: { tier: "T2", effect: "write", unavailable: noRepositoryChanges },
  },
  file_ops: {
    read: { tier: "T0", effect: "read" },
    list: { tier: "T0", effect: "read" },
    search: { tier: "T0", effect: "read" },
    write: { tier: "T1", effect: "write" },
    apply_patch: { tier: "T1", effect: "write" },
    delete: { tier: "T3", effect: "delete" },
  },
  web_ops: {
    fetch: { tier: "T2", effect: "none", unavailable: noNetwork },
    post: { tier: "T3", effect: "none", unavailable: noNetwork },
    download: { tier: "T2", effect: "write", unavailable: noNetwork },
    screenshot: { tier: "T2", effect: "none", unavailable: noNetwork },
  },
  ui_builder: { scaffold: { tier: "T1", effect: "write", unavailable: noScaffold } },
  deploy_ops: {
    build: { tier: "T3", effect: "none", unavailable: noDeployment },
    test: { tier: "T3", effect: "none", unavailable: noDeployment },
    package: { tier: "T3", effect: "none", unavailable: noDeployment },
    deploy: { tier: "T3", effect: "none", unavailable: noDeployment },
  },
  vision_control: {
    capture_screen: { tier: "T2", effect: "none", unavailable: noVision },
    locate_element: { tier: "T2", effect: "none", unavailable: noVision },
    perform_action: { tier: "T3", effect: "none", unavailable: noVision },
    verify_state: { tier: "T2", effect: "none", unavailable: noVision },
  },
  memory: {
    read: { tier: "T0", effect: "none", unavailable: noMemory },
    write: { tier: "T1", effect: "none", unavailable: noMemory },
  },
  skill: { run: { tier: "T2", effect: "none", unavailable: noSkills } },
  connector: { send: { tier: "T3", effect: "none", unavailable: noConnectors } },
  quest: { ask: { tier: "T0", effect: "none" }, plan: { tier: "T0", effect: "none" } },
};

/** The row of the table, or null for a capability or action it does not know. */
export function baseTier(capability: string, action: string): BaseTier | null {
  if (!Object.hasOwn(baseTiers, capability)) return null;
  const actions = baseTiers[capability];
  if (actions === undefined) return null;
  if (Object.hasOwn(actions, action)) return actions[action] ?? null;
  return actions["*"] ?? null;
}
