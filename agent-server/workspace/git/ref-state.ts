import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Git } from "./git.ts";
import { type Head, headOf } from "./git-head.ts";
import type { Repository } from "./git-repository.ts";

/** HEAD, branches and tags of a repository. It can be stored as JSON. */
export interface RefState {
  readonly head: Head;
  /**
   * By full name: the hash of a commit or tag object. A symbolic ref has `ref: ` and its target; one that cannot be read has an empty text.
   */
  readonly refs: Readonly<Record<string, string>>;
}

export async function readRefState(git: Git): Promise<RefState> {
  const listed = await git.run("for-each-ref", ["--format=%(refname)%00%(objectname)%00%(symref)", "refs/heads", "refs/tags"]);
  const refs: Record<string, string> = {};
  for (const line of listed.split("\n")) {
    const [ref = "", hash = "", target = ""] = line.split("\0");
    if (ref !== "") refs[ref] = target === "" ? hash : `ref: ${target}`;
  }
  return { head: await headOf(git), refs };
}

/** Branches that HEAD of another work tree names, or that are being rebased there. */
export function branchesOfOtherTrees({ gitDir, commonDir }: Repository): Set<string> {
  const worktrees = join(commonDir, "worktrees");
  const linked = isFolder(worktrees) ? readdirSync(worktrees).map((name) => join(worktrees, name)) : [];
  const found = new Set<string>();
  for (const folder of [commonDir, ...linked]) {
    if (folder === gitDir) continue;
    for (const name of ["HEAD", "rebase-merge/head-name", "rebase-apply/head-name"]) {
      const ref = /^(?:ref: )?(refs\/heads\/.+)$/.exec(readStart(join(folder, name)).trimEnd())?.[1];
      if (ref !== undefined) found.add(ref);
    }
  }
  return found;
}

/** A remote branch or tag that contains a commit, which others may therefore have; null when there is none. */
export async function findSharingRef(git: Git, commit: string): Promise<string | null> {
  const args = ["--count=1", "--format=%(refname)", `--contains=${commit}`, "refs/remotes", "refs/tags"];
  const found = (await git.run("for-each-ref", args)).trim();
  return found === "" ? null : found;
}

/** The algorithm of a repository's hashes. */
export function objectFormat(git: Git): "sha1" | "sha256" {
  return git.settings.some(({ name, value }) => name === "extensions.objectformat" && value === "sha256") ? "sha256" : "sha1";
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function readStart(path: string): string {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true ? readFileSync(path, "utf8").slice(0, 4096) : "";
}
