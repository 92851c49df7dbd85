import { readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { Git } from "./git.ts";

/** Git's name of a file, relative to the root of the work tree. */
export function nameInTree(git: Git, absolute: string): string {
  return relative(git.repository.workTree, absolute).split(sep).join("/") || ".";
}

/** One entry of `git status --porcelain=v1 -z`. */
export interface StatusEntry {
  readonly code: string;
  readonly name: string;
}

/**
 * Files that differ from the last commit, staged or not, named from the root of the work tree. Names that are not valid text are omitted.
 */
export async function changedFiles(
  git: Git,
  names: readonly string[],
  untracked: "all" | "no",
  /** Whether a submodule at another commit counts. Submodules are never entered, because their settings are untrusted. */
  submodules: "counted" | "left" = "left",
): Promise<{ entries: StatusEntry[]; unreadable: number }> {
  const ignored = submodules === "counted" ? "dirty" : "all";
  const args = ["--porcelain=v1", "-z", "--no-renames", `--ignore-submodules=${ignored}`, `--untracked-files=${untracked}`];
  const all = (await git.run("status", args, names)).split("\0").filter((entry) => entry !== "");
  const entries = all.map((entry) => ({ code: entry.slice(0, 2), name: entry.slice(3) }));
  const readable = entries.filter(({ name }) => !name.includes("\ufffd"));
  return { entries: readable, unreadable: entries.length - readable.length };
}

/** Files that git would pass to a filter program (such as Git LFS), which does not run here. `index`: reads the staged attributes. */
export async function findFilteredFiles(git: Git, names: readonly string[], index?: string): Promise<string[]> {
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
    `${list(names)} ${names.length === 1 ? "requires" : "require"} a filter program (such as Git LFS), and Lancelot runs no programs of a repository. ${what}`,
  );
}

/** Hooks of the repository, none of which run here. */
export function hooksOf(git: Git): string[] {
  if (git.settings.some(({ name, scope }) => name === "core.hookspath" && scope !== "command")) return ["those of core.hooksPath"];
  try {
    return readdirSync(join(git.repository.commonDir, "hooks")).filter((name) => !name.endsWith(".sample"));
  } catch {
    return [];
  }
}

/** Lists some names and the number of others. */
export function list(names: readonly string[], most = 8): string {
  const shown = names.slice(0, most).join(", ");
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}
