import { readdir } from "node:fs/promises";
import { basename } from "node:path";
import { visibleText } from "../contract/visible-text.ts";
import type { Governance } from "../governance/governance.ts";
import { readBounded } from "./bounded-read.ts";

export interface WorkspaceFacts {
  name: string;
  /** Names in the workspace root; folders end with a slash. */
  entries: string[];
  /** Entries left out of `entries`. */
  more: number;
  branch: string | null;
}

const listedEntries = 60;
/** Characters of a branch name. */
const maxBranch = 200;

/** Reads the name, top-level entries and git branch of the workspace. */
export async function readWorkspaceFacts(workspace: string, governance: Pick<Governance, "resolvePath">): Promise<WorkspaceFacts> {
  const found = await readdir(workspace, { withFileTypes: true }).catch(() => []);
  const names = found
    .filter((entry) => entry.name !== ".git")
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort();
  return {
    name: basename(workspace),
    entries: names.slice(0, listedEntries),
    more: Math.max(names.length - listedEntries, 0),
    branch: await branchOf(governance),
  };
}

/** The checked-out branch; null without a repository, on a detached head, or in a linked worktree. */
async function branchOf(governance: Pick<Governance, "resolvePath">): Promise<string | null> {
  const head = governance.resolvePath(".git/HEAD");
  if (!head.ok || !head.inside || head.type !== "file") return null;
  const read = await readBounded(head.absolute, 1024);
  const name = /^ref: refs\/heads\/([^\s]+)/.exec(read?.text ?? "")?.[1];
  return name === undefined ? null : visibleText(name).slice(0, maxBranch).toWellFormed();
}
