import { readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { type Git, gitOf, openGit } from "../../workspace/git/git.ts";
import { type Repository, underWay } from "../../workspace/git/git-repository.ts";
import type { Scope } from "../tool.ts";

/** Where HEAD stands: on a branch (`ref`), which may have no commit yet, or on a commit alone. */
export interface Head {
  readonly ref: string | null;
  readonly commit: string | null;
}

export async function headOf(git: Git): Promise<Head> {
  const [ref, commit] = await Promise.all([
    git.ask("symbolic-ref", ["--quiet", "HEAD"]),
    git.ask("rev-parse", ["--quiet", "--verify", "HEAD^{commit}"]),
  ]);
  return { ref: ref?.trim() ?? null, commit: commit?.trim() ?? null };
}

/** The repository of the workspace, as it is right now. @throws LancelotError `conflict` while something in it is half done. */
export async function openIdle(scope: Scope): Promise<{ git: Git; head: Head }> {
  const git = await openGit(scope.workspace, scope.call.signal);
  const busy = underWay(git.repository);
  if (busy !== null)
    throw new LancelotError("conflict", `${capital(busy)} is under way in this repository. The owner finishes it, or ends it, first.`);
  return { git, head: await headOf(git) };
}

/** Work on a repository's refs, index or files goes one after the other. */
export function holdRepository<T>(scope: Pick<Scope, "locks">, { commonDir }: Repository, work: () => Promise<T>): Promise<T> {
  return scope.locks.hold([`repository\0${commonDir}`], work);
}

/** The same repository with its settings as they are now: an approval can take minutes. @throws LancelotError `conflict` when HEAD moved. */
export async function reopen(scope: Scope, before: { git: Git; head: Head }): Promise<Git> {
  const git = await gitOf(before.git.repository, scope.workspace, scope.call.signal);
  const head = await headOf(git);
  if (head.ref !== before.head.ref || head.commit !== before.head.commit || underWay(git.repository) !== null)
    throw new LancelotError("conflict", "The repository was moved meanwhile, so nothing was done. Look at git_status, then try again.");
  return git;
}

/** The short name of a branch. */
export function branchName(ref: string): string {
  return ref.replace(/^refs\/heads\//, "");
}

export function shortHash(commit: string): string {
  return commit.slice(0, 9);
}

/** A file's name to git, from the root of the work tree. */
export function nameInTree(git: Git, absolute: string): string {
  return relative(git.repository.workTree, absolute).split(sep).join("/") || ".";
}

/** A name git gave, as tools and people name the file: relative to the workspace; null when it lies outside of it. */
export function nameInWorkspace(git: Git, scope: Scope, name: string): string | null {
  const path = relative(scope.workspace, join(git.repository.workTree, name)).split(sep).join("/");
  return path.startsWith("../") || path === ".." ? null : path;
}

/** One entry of `git status --porcelain=v1 -z`. */
export interface StatusEntry {
  readonly code: string;
  readonly name: string;
}

/** What differs from the last commit, staged or not, with names from the root of the work tree. Names that are no text are left out. */
export async function changedFiles(
  git: Git,
  names: readonly string[],
  untracked: "all" | "no",
  /** Whether a submodule that stands at another commit counts. Into submodules nobody looks: their settings may be traps. */
  submodules: "counted" | "left" = "left",
): Promise<{ entries: StatusEntry[]; unreadable: number }> {
  const ignored = submodules === "counted" ? "dirty" : "all";
  const args = ["--porcelain=v1", "-z", "--no-renames", `--ignore-submodules=${ignored}`, `--untracked-files=${untracked}`];
  const all = (await git.run("status", args, names)).split("\0").filter((entry) => entry !== "");
  const entries = all.map((entry) => ({ code: entry.slice(0, 2), name: entry.slice(3) }));
  const readable = entries.filter(({ name }) => !name.includes("\ufffd"));
  return { entries: readable, unreadable: entries.length - readable.length };
}

/** The files among these that git would hand to a program (as Git LFS does), which is not done here. `index`: attributes as staged there. */
export async function filtered(git: Git, names: readonly string[], index?: string): Promise<string[]> {
  const drivers = new Set(git.settings.flatMap(({ name }) => /^filter\.(.+)\.(?:clean|smudge|process)$/is.exec(name)?.[1] ?? []));
  if (drivers.size === 0 || names.length === 0) return [];
  const text = await git.run("check-attr", [...(index === undefined ? [] : ["--cached"]), "--stdin", "-z", "filter"], undefined, {
    input: `${names.join("\0")}\0`,
    ...(index === undefined ? {} : { index }),
  });
  const parts = text.split("\0");
  const found: string[] = [];
  for (let at = 0; at + 2 < parts.length; at += 3) if (drivers.has(parts[at + 2] ?? "")) found.push(parts[at] ?? "");
  return found;
}

export function refuseFiltered(names: readonly string[], what: string): void {
  if (names.length === 0) return;
  throw new LancelotError(
    "unavailable",
    `${list(names)} ${names.length === 1 ? "goes" : "go"} through a filter program (such as Git LFS), and no program of a repository is run here. ${what}`,
  );
}

/** The hooks a repository has and that are not run here. */
export function hooksOf(git: Git): string[] {
  if (git.settings.some(({ name, scope }) => name === "core.hookspath" && scope !== "command")) return ["those of core.hooksPath"];
  try {
    return readdirSync(join(git.repository.commonDir, "hooks")).filter((name) => !name.endsWith(".sample"));
  } catch {
    return [];
  }
}

/** Some names, and how many more. */
export function list(names: readonly string[], most = 8): string {
  const shown = names.slice(0, most).join(", ");
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
