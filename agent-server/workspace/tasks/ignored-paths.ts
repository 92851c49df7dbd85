import { join, relative, sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { findRepository } from "../git/git-repository.ts";
import { type Git, gitOf, openGit } from "../git/git.ts";
import { statOf } from "./layer-scan.ts";

/** Entries of the repository's root that are named to git; it compares each with every tracked path. */
const maxTops = 20;

/** A path relative to the workspace; whether it is a folder matters, because it may not exist there yet. */
export interface NamedPath {
  readonly path: string;
  readonly isFolder: boolean;
}

/**
 * Which paths git ignores, by the ignore files of the workspace and of the repositories in it; tracked files are never ignored. Nothing is
 * ignored behind a link, and in a nested repository that cannot be opened.
 * @returns null where the workspace has no repository, or git is missing
 * @throws LancelotError `cancelled`.
 */
export async function ignoredPaths(
  workspace: string,
  paths: readonly NamedPath[],
  signal: AbortSignal,
): Promise<ReadonlySet<string> | null> {
  const root = await orNull(openGit(workspace, signal));
  if (root === null) return null;
  const repositoryOf = nestedRepositories(workspace);
  const groups = Map.groupBy(paths, ({ path }) => repositoryOf(path));
  const ignored = new Set<string>();
  for (const [nested, members] of groups) {
    if (nested === null) continue;
    const git = nested === "" ? root : await openNested(workspace, nested, signal);
    if (git === null) continue;
    for (const path of await ignoredBy(git, workspace, members)) ignored.add(path);
  }
  return ignored;
}

async function ignoredBy(git: Git, workspace: string, members: readonly NamedPath[]): Promise<string[]> {
  const { workTree } = git.repository;
  const names = new Map<string, string>(
    members.map(({ path, isFolder }) => {
      const name = relative(workTree, join(workspace, path)).split(sep).join("/");
      // The prefix keeps git from reading the start of a name as an instruction.
      return [`./${name}${isFolder ? "/" : ""}`, path] as const;
    }),
  );
  // With the index, git would compare each name with every tracked path: 3 s for 3,000 names in a repository of 100,000 files.
  const said = await orNull(git.ask("check-ignore", ["--no-index", "-z", "--stdin"], { input: [...names.keys()].join("\0") }));
  const matched = new Map(
    (said ?? "").split("\0").flatMap((name) => {
      const path = names.get(name);
      return path === undefined ? [] : [[name.slice(2).replace(/\/$/, ""), path] as const];
    }),
  );
  if (matched.size === 0) return [];
  const tops = [...new Set([...matched.keys()].map((name) => name.split("/", 1)[0] ?? ""))];
  const tracked = await orNull(git.run("ls-files", ["-z"], tops.length > maxTops ? ["."] : tops));
  if (tracked === null) return [];
  for (const name of tracked.split("\0")) for (let above = name; above !== ""; above = parentOf(above)) matched.delete(above);
  return [...matched.values()];
}

/** Finds the folder of the innermost repository that has a path: "" for the workspace's own; null behind a link. */
function nestedRepositories(workspace: string): (path: string) => string | null {
  const known = new Map<string, string | null>([["", ""]]);
  const ofFolder = (folder: string): string | null => {
    const found = known.get(folder);
    if (found !== undefined) return found;
    const above = ofFolder(parentOf(folder));
    const stats = above === null ? null : statOf(join(workspace, folder));
    const isRepository = stats?.isDirectory() === true && statOf(join(workspace, folder, ".git")) !== null;
    const result = stats?.isSymbolicLink() === true ? null : isRepository ? folder : above;
    known.set(folder, result);
    return result;
  };
  return (path) => ofFolder(parentOf(path));
}

function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash === -1 ? "" : path.slice(0, slash);
}

async function openNested(workspace: string, nested: string, signal: AbortSignal): Promise<Git | null> {
  try {
    const repository = findRepository(join(workspace, nested));
    return repository === null ? null : await orNull(gitOf(repository, join(workspace, nested), signal));
  } catch (error) {
    if (error instanceof LancelotError) return null;
    throw error;
  }
}

/** Null for every error that has a message for the user, except a cancellation. */
async function orNull<T>(result: Promise<T>): Promise<T | null> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof LancelotError && error.code !== "cancelled") return null;
    throw error;
  }
}
