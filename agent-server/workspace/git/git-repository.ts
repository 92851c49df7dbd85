import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";

/** A repository that was found; every path is absolute. */
export interface Repository {
  /** Folder with HEAD and index of this work tree. */
  readonly gitDir: string;
  /** Folder with objects, branches and settings shared by all work trees. */
  readonly commonDir: string;
  readonly workTree: string;
}

/**
 * The repository of a folder; null when there is none. The search is implemented here, because a repository's settings could redirect
 * git's own search. A `.git` that points outside the folder counts only when its target names this folder in turn, as work trees and
 * submodules do. Otherwise a workspace file could claim another repository of the user.
 * @throws LancelotError `denied` for a repository outside the workspace.
 */
export function findRepository(workspace: string): Repository | null {
  for (let at = workspace; ; at = dirname(at)) {
    const entry = join(at, ".git");
    const stats = lstatSync(entry, { throwIfNoEntry: false });
    if (stats !== undefined) {
      const gitDir = stats.isDirectory() ? entry : linkedDir(at, entry, stats.isFile());
      if (gitDir === null) return null;
      if (at !== workspace) refuseForeign(gitDir, workspace);
      const repository = { gitDir, commonDir: commonDirOf(gitDir), workTree: at };
      refusePipes(repository);
      return repository;
    }
    if (dirname(at) === at) return null;
  }
}

/** Refuses pipes and devices in place of git's files, because reading them could block forever. */
function refusePipes({ gitDir, commonDir, workTree }: Repository): void {
  const places = [
    ...["HEAD", "index", "config.worktree", "info/sparse-checkout"].map((name) => join(gitDir, name)),
    ...["config", "packed-refs", "shallow", "info/exclude", "info/attributes", "info/grafts", "objects/info/alternates"].map((name) =>
      join(commonDir, name),
    ),
    ...[".gitignore", ".gitattributes", ".gitmodules"].map((name) => join(workTree, name)),
  ];
  for (const place of places) {
    const stats = statSync(place, { throwIfNoEntry: false });
    if (stats !== undefined && !stats.isFile() && !stats.isDirectory())
      throw elsewhere(`${relative(workTree, place) || place} is a pipe or a device instead of a file`);
  }
}

/** Resolves the target of a `.git` entry that is not a folder. */
function linkedDir(at: string, entry: string, isFile: boolean): string | null {
  if (!isFile) throw elsewhere("Its .git is a link");
  const target = /^gitdir: (.+)$/.exec(readFileSync(entry, "utf8").slice(0, 4096).trimEnd())?.[1];
  if (target === undefined) return null;
  const named = resolve(at, target);
  if (!existsSync(named)) return null;
  const gitDir = realpathSync(named);
  if (isBelow(at, gitDir) || namesBack(gitDir, at)) return gitDir;
  throw elsewhere("Its .git points to a folder that does not refer back to it");
}

/** A work tree's folder is named in `gitdir`, a submodule's in its setting core.worktree. */
function namesBack(gitDir: string, at: string): boolean {
  const back = readSmall(join(gitDir, "gitdir"));
  if (back !== null && samePlace(resolve(gitDir, back.trim()), join(at, ".git"))) return true;
  const worktree = /^[ \t]*worktree[ \t]*=(.*)$/m.exec(readSmall(join(gitDir, "config")) ?? "")?.[1]?.trim();
  return worktree !== undefined && worktree !== "" && samePlace(resolve(gitDir, worktree.replace(/^"|"$/g, "")), at);
}

function commonDirOf(gitDir: string): string {
  const named = readSmall(join(gitDir, "commondir"))?.trim();
  if (named === undefined || named === "") return gitDir;
  const path = resolve(gitDir, named);
  // A sandbox that prevents creation of this file makes the repository name itself.
  if (path === gitDir) return gitDir;
  if (!existsSync(path)) throw elsewhere("Its work tree belongs to a repository that no longer exists");
  const common = realpathSync(path);
  if (dirname(realpathSync(gitDir)) !== join(common, "worktrees")) throw elsewhere("Its .git names the folder of another repository");
  return common;
}

/** A folder above the workspace, such as /tmp, may belong to anyone. */
function refuseForeign(gitDir: string, workspace: string): void {
  const mine = process.getuid?.();
  if (mine === undefined) return;
  const { uid } = statSync(gitDir);
  if (uid !== mine && uid !== statSync(workspace).uid)
    throw new LancelotError("denied", "The repository above this workspace belongs to another user, so it was not opened.");
}

/**
 * Ensures that no link redirects writes to the objects, the index or the named refs of a repository.
 * @throws LancelotError `denied`.
 */
export function assertNoLinks({ gitDir, commonDir }: Repository, refs: readonly string[]): void {
  for (const name of ["HEAD", "index", "logs", "logs/HEAD", "ORIG_HEAD"]) refuseLink(join(gitDir, name));
  for (const name of ["objects", "objects/pack", "objects/info", "refs", "logs", "packed-refs"]) refuseLink(join(commonDir, name));
  const objects = join(commonDir, "objects");
  for (const entry of readdirSync(objects, { withFileTypes: true })) if (entry.isSymbolicLink()) throw linked();
  for (const ref of refs) {
    for (const top of [commonDir, join(commonDir, "logs")]) {
      let at = top;
      for (const part of ref.split("/")) refuseLink((at = join(at, part)));
    }
  }
}

function refuseLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) throw linked();
}

/** Describes an unfinished git operation such as a merge or rebase; null when there is none. */
export function operationInProgress({ gitDir }: Repository): string | null {
  const marks: readonly (readonly [string, string])[] = [
    ["MERGE_HEAD", "a merge"],
    ["CHERRY_PICK_HEAD", "a cherry-pick"],
    ["REVERT_HEAD", "a revert"],
    ["rebase-merge", "a rebase"],
    ["rebase-apply", "a rebase"],
  ];
  return marks.find(([name]) => existsSync(join(gitDir, name)))?.[1] ?? null;
}

/** True when `path` is `folder` or lies below it; both absolute and resolved. */
export function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !/^(?:[a-z]:|\\\\)/i.test(way);
}

function samePlace(a: string, b: string): boolean {
  return a === b || (existsSync(a) && existsSync(b) && realpathSync(a) === realpathSync(b));
}

/** The start of a small regular file; null when it does not exist. */
function readSmall(path: string): string | null {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true ? readFileSync(path, "utf8").slice(0, 65_536) : null;
}

function elsewhere(what: string): LancelotError {
  return new LancelotError("denied", `${what}, so this repository was not opened. Use the file tools, or ask the user to inspect it.`);
}

function linked(): LancelotError {
  return new LancelotError(
    "denied",
    "Parts of this repository's .git folder are links to other locations, so nothing was written to it. Ask the user to inspect it.",
  );
}
