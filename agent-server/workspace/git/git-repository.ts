import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";

/** A repository as it was found; every path absolute. */
export interface Repository {
  /** Of this work tree: HEAD and the index are in it. */
  readonly gitDir: string;
  /** Of all its work trees: objects, branches and settings are in it. */
  readonly commonDir: string;
  readonly workTree: string;
}

/**
 * The repository a folder is in; null when it is in none. Found here, because a repository's own settings could point git's
 * search elsewhere. A `.git` that leads out of the folder counts only when what it leads to names this folder in turn, as work
 * trees and submodules do: whoever can write into a workspace cannot make it the work tree of another repository of the owner.
 * @throws LancelotError `denied` for a repository that leads elsewhere.
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

/** A pipe or a device where git looks for a file would keep it waiting, or reading, for ever. */
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
      throw elsewhere(`${relative(workTree, place) || place} is a pipe or a device and no file`);
  }
}

/** What a `.git` that is no folder leads to. */
function linkedDir(at: string, entry: string, isFile: boolean): string | null {
  if (!isFile) throw elsewhere("Its .git is a link");
  const target = /^gitdir: (.+?)\s*$/.exec(readFileSync(entry, "utf8").slice(0, 4096))?.[1];
  if (target === undefined) return null;
  const named = resolve(at, target);
  if (!existsSync(named)) return null;
  const gitDir = realpathSync(named);
  if (isBelow(at, gitDir) || namesBack(gitDir, at)) return gitDir;
  throw elsewhere("Its .git leads to a folder that knows nothing of it");
}

/** A work tree's folder names it in `gitdir`, a submodule's in its setting core.worktree. */
function namesBack(gitDir: string, at: string): boolean {
  const back = readSmall(join(gitDir, "gitdir"));
  if (back !== null && samePlace(resolve(gitDir, back.trim()), join(at, ".git"))) return true;
  const worktree = /^\s*worktree\s*=\s*"?([^"\n]+?)"?\s*$/m.exec(readSmall(join(gitDir, "config")) ?? "")?.[1];
  return worktree !== undefined && samePlace(resolve(gitDir, worktree), at);
}

function commonDirOf(gitDir: string): string {
  const named = readSmall(join(gitDir, "commondir"))?.trim();
  if (named === undefined || named === "") return gitDir;
  const path = resolve(gitDir, named);
  // A repository that names itself is what it was: so it stands while a sandbox keeps this file from being made.
  if (path === gitDir) return gitDir;
  if (!existsSync(path)) throw elsewhere("Its work tree belongs to a repository that is gone");
  const common = realpathSync(path);
  if (dirname(realpathSync(gitDir)) !== join(common, "worktrees")) throw elsewhere("Its .git names the folder of another repository");
  return common;
}

/** A folder above the workspace may be anybody's: /tmp, say. */
function refuseForeign(gitDir: string, workspace: string): void {
  const mine = process.getuid?.();
  if (mine === undefined) return;
  const { uid } = statSync(gitDir);
  if (uid !== mine && uid !== statSync(workspace).uid)
    throw new LancelotError("denied", "The repository above this workspace belongs to another user, so it is not used.");
}

/**
 * Makes sure that what is about to be written in a repository lies in it: no link stands in the way of its objects, its index or
 * the named refs. @throws LancelotError `denied`.
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

/** What stands half done in a repository, in words; null when nothing does. */
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

/** The start of a small regular file; null when there is none. */
function readSmall(path: string): string | null {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true ? readFileSync(path, "utf8").slice(0, 65_536) : null;
}

function elsewhere(what: string): LancelotError {
  return new LancelotError("denied", `${what}, so this repository is not used. Use the file tools, or ask the owner to look at it.`);
}

function linked(): LancelotError {
  return new LancelotError(
    "denied",
    "Parts of this repository's .git folder are links to elsewhere, so nothing is written into it. Ask the owner to look at it.",
  );
}
