import type { Tier } from "../contract/common.ts";
import type { Kind, Tag } from "./action-vocabulary.ts";

/** What an action does to the files it names. */
export type FileEffect = "none" | "read" | "write" | "delete";

/** An action's properties before scope, path rules and soul raise its tier. */
export interface BaseTier {
  readonly tier: Tier;
  readonly effect: FileEffect;
  readonly kind: Kind;
  readonly tags: readonly Tag[];
}

function row(tier: Tier, effect: FileEffect, kind: Kind, ...tags: Tag[]): BaseTier {
  return { tier, effect, kind, tags };
}

/** The base tier of every capability and action of the contract. `*` matches every action of a capability without named actions. */
export const baseTiers: Readonly<Record<string, Readonly<Record<string, BaseTier>>>> = {
  shell_exec: {
    "*": row("T2", "none", "run_commands", "shell"),
    /** Of a background command, which was authorized when it was started. */
    output: row("T0", "none", "plan"),
    stop: row("T1", "none", "plan"),
    /** Opens a port of it on this machine. */
    preview: row("T2", "none", "run_commands", "shell"),
  },
  repo_ops: {
    status: row("T0", "read", "read_repository", "read"),
    diff: row("T0", "read", "read_repository", "read"),
    log: row("T0", "read", "read_repository", "read"),
    commit: row("T1", "none", "commit", "commit"),
    branch: row("T1", "none", "branch", "commit"),
    checkout: row("T1", "write", "checkout", "write"),
    apply_patch: row("T1", "write", "apply_patch", "write"),
    push: row("T3", "none", "push", "push", "network", "upload"),
    clone: row("T2", "write", "clone", "network", "download", "write"),
  },
  file_ops: {
    read: row("T0", "read", "read_files", "read"),
    list: row("T0", "read", "read_files", "read"),
    search: row("T0", "read", "search_files", "read"),
    write: row("T1", "write", "edit_files", "write"),
    apply_patch: row("T1", "write", "edit_files", "write"),
    delete: row("T3", "delete", "delete_files", "delete", "write"),
  },
  web_ops: {
    fetch: row("T2", "none", "fetch_pages", "network", "download"),
    post: row("T3", "none", "post", "network", "upload"),
    download: row("T2", "write", "download", "network", "download", "write"),
    screenshot: row("T2", "none", "screenshot", "network", "download"),
  },
  ui_builder: { scaffold: row("T1", "write", "scaffold", "write") },
  deploy_ops: {
    build: row("T2", "none", "build_and_test", "build", "execute"),
    test: row("T2", "none", "build_and_test", "test", "execute"),
    package: row("T2", "none", "build_and_test", "build", "execute"),
    deploy: row("T3", "none", "deploy", "deploy", "network", "execute"),
  },
  vision_control: {
    capture_screen: row("T2", "none", "see_screen", "vision", "read"),
    locate_element: row("T2", "none", "see_screen", "vision", "read"),
    perform_action: row("T3", "none", "act_on_screen", "vision"),
    verify_state: row("T2", "none", "see_screen", "vision", "read"),
  },
  memory: { read: row("T0", "none", "read_memory", "memory", "read"), write: row("T1", "none", "write_memory", "memory") },
  skill: { run: row("T2", "none", "run_skills", "skill", "execute") },
  connector: { send: row("T3", "none", "send_messages", "connector", "network", "upload") },
  /** The quest's own actions: its plan and questions to the owner. */
  quest: {
    ask: row("T0", "none", "plan"),
    plan: row("T0", "none", "plan"),
    /** A sub-task: each of its actions is decided on its own, within a stricter soul. */
    spawn: row("T0", "none", "plan"),
  },
  /** Only proposals: they have no effect until the owner approves and activates them. */
  soul: { propose: row("T1", "none", "plan") },
};

/** The table row, or null for an unknown capability or action. */
export function baseTier(capability: string, action: string): BaseTier | null {
  if (!Object.hasOwn(baseTiers, capability)) return null;
  const actions = baseTiers[capability];
  if (actions === undefined) return null;
  if (Object.hasOwn(actions, action)) return actions[action] ?? null;
  return actions["*"] ?? null;
}
