import { LancelotError } from "../../contract/errors.ts";
import { openGit } from "../git/git.ts";

/** Priority when not everything fits: the user's files, then the repository's history, then generated files. */
export type RetentionClass = 0 | 1 | 2;

/** Returns the class of a folder's content or of a file. Paths are relative to the workspace. */
export type RetentionClassOf = (path: string) => RetentionClass;

/** True for a `.git` folder and its content. */
export function inRepository(path: string): boolean {
  return /(?:^|\/)\.git(?:\/|$)/.test(path);
}

/** The innermost `.git` folder that contains a path, or the path itself; null when there is none. */
export function gitFolderOf(path: string): string | null {
  return /^(?:.*\/)?\.git(?=\/|$)/.exec(path)?.[0] ?? null;
}

/** True for git objects: commits, trees and file versions. */
export function isGitObject(path: string): boolean {
  return /(?:^|\/)\.git\/(?:modules\/.+\/)?objects\//.test(path);
}

export function isGenerated(path: string, generated: ReadonlySet<string>): boolean {
  return path.split("/").some((part) => generated.has(part));
}

/** Uses git's ignore rules and the names of generated folders; without a repository, only the names. */
export async function retentionClasses(workspace: string, generated: ReadonlySet<string>, signal: AbortSignal): Promise<RetentionClassOf> {
  const ignored = await ignoredBy(workspace, signal);
  return (path) => {
    if (inRepository(path)) return isGitObject(path) ? 1 : 0;
    if (isGenerated(path, generated)) return 2;
    for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", slash + 1))
      if (ignored.has(path.slice(0, slash + 1))) return 2;
    return ignored.has(path) ? 2 : 0;
  };
}

/** Ignored files, and completely ignored folders with a trailing slash. */
async function ignoredBy(workspace: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
  try {
    const git = await openGit(workspace, signal);
    const listed = await git.read("ls-files", ["-z", "--others", "--ignored", "--exclude-standard", "--directory"], ["."]);
    return new Set(listed.split("\0").filter((path) => path !== ""));
  } catch (error) {
    // Without git or a usable repository, only names decide.
    if (error instanceof LancelotError && error.code !== "cancelled") return new Set();
    throw error;
  }
}
