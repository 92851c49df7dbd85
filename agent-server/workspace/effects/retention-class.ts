import { LancelotError } from "../../contract/errors.ts";
import { openGit } from "../git/git.ts";

/** What is kept first when not everything fits: the owner's work, then the repository's history, then what can be made again. */
export type RetentionClass = 0 | 1 | 2;

/** The class of what lies in a folder, and of a file in it. Paths relative to the workspace. */
export type RetentionClassOf = (path: string) => RetentionClass;

/** True for what lies in a `.git` folder; the folder itself with it. */
export function inRepository(path: string): boolean {
  return /(?:^|\/)\.git(?:\/|$)/.test(path);
}

/** The innermost `.git` folder above a path of its inside, or the path itself; null when it is in none. */
export function gitFolderOf(path: string): string | null {
  return /^(?:.*\/)?\.git(?=\/|$)/.exec(path)?.[0] ?? null;
}

/** True for a part of a repository that is named by its content: commits, trees, file versions. */
export function isGitObject(path: string): boolean {
  return /(?:^|\/)\.git\/(?:modules\/.+\/)?objects\//.test(path);
}

export function isGenerated(path: string, generated: ReadonlySet<string>): boolean {
  return path.split("/").some((part) => generated.has(part));
}

/** By what git ignores, and by the names of generated folders. Without a repository by the names alone. */
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

/** Ignored files, and with a slash at their end folders of which all is ignored. */
async function ignoredBy(workspace: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
  try {
    const git = await openGit(workspace, signal);
    const listed = await git.read("ls-files", ["-z", "--others", "--ignored", "--exclude-standard", "--directory"], ["."]);
    return new Set(listed.split("\0").filter((path) => path !== ""));
  } catch (error) {
    // No repository, no git, or one that is not used: then names are what there is to go by.
    if (error instanceof LancelotError && error.code !== "cancelled") return new Set();
    throw error;
  }
}
