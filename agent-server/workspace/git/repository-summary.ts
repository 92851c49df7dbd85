import { gitOf } from "./git.ts";
import { findRepository, operationInProgress } from "./git-repository.ts";
import { nameInTree } from "./git-work-tree.ts";
import { shortHash } from "./git-head.ts";

/** The state of the repository of a workspace. Files are counted in the workspace only; a new folder counts as one. */
export interface RepositorySummary {
  /** As git stores it: a name that the repository chose. Null on a detached head. */
  readonly branch: string | null;
  /** Shortened; null before the first commit. */
  readonly commit: string | null;
  /** Commits that the branch and its upstream do not share; null without an upstream. */
  readonly upstream: { readonly ahead: number; readonly behind: number } | null;
  readonly staged: number;
  readonly changed: number;
  readonly untracked: number;
  readonly conflicts: number;
  /** An unfinished operation, such as "a merge". */
  readonly operation: string | null;
}

/**
 * Summarizes the repository of a workspace without writing to it; null when there is none.
 * @throws LancelotError `unavailable`, `denied` (a repository outside the workspace), `too_large`, `cancelled`.
 */
export async function summarizeRepository(workspace: string, signal: AbortSignal): Promise<RepositorySummary | null> {
  const repository = findRepository(workspace);
  if (repository === null) return null;
  const git = await gitOf(repository, workspace, signal);
  const options = ["--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames"];
  const text = await git.run("status", options, [nameInTree(git, workspace)]);
  return { ...parseStatus(text), operation: operationInProgress(repository) };
}

/** Reads what `git status --porcelain=v2 --branch -z` prints. */
function parseStatus(text: string): Omit<RepositorySummary, "operation"> {
  const headers = new Map<string, string>();
  const counts = { staged: 0, changed: 0, untracked: 0, conflicts: 0 };
  for (const entry of text.split("\0")) {
    if (entry.startsWith("# ")) {
      const [key = "", ...value] = entry.slice(2).split(" ");
      headers.set(key, value.join(" "));
    } else if (entry.startsWith("? ")) counts.untracked += 1;
    else if (entry.startsWith("u ")) counts.conflicts += 1;
    else if (entry.startsWith("1 ")) {
      if (entry[2] !== ".") counts.staged += 1;
      if (entry[3] !== ".") counts.changed += 1;
    }
  }
  const head = headers.get("branch.head");
  const commit = headers.get("branch.oid");
  const distance = /^\+(\d+) -(\d+)$/.exec(headers.get("branch.ab") ?? "");
  return {
    ...counts,
    branch: head === undefined || head === "(detached)" ? null : head,
    commit: commit === undefined || commit === "(initial)" ? null : shortHash(commit),
    upstream: distance === null ? null : { ahead: Number(distance[1]), behind: Number(distance[2]) },
  };
}
