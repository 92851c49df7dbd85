import { join } from "node:path";
import { type LayerChange, statOf } from "./layer-scan.ts";

/**
 * What happens to a change of a command.
 * `repository`: git metadata; never applied as files. `protected`: a secret, or a file that another program would run; a proposal of its own.
 * `generated`: ignored by git; applied with the others, not shown one by one. `source`: a proposed change like any edit.
 */
export type ChangeClass = "repository" | "protected" | "generated" | "source";

export interface ClassDeps {
  /** As `Governance.judgeName`. */
  readonly judgeName: (relative: string) => "secret" | "protected" | null;
  /** As `Governance.obeyed`. */
  readonly obeyed: (relative: string) => string | null;
  /**
   * Which of these paths git ignores in the workspace, by the rules that the workspace has and not by those that the task wrote; null without
   * a repository: then the names of folders decide.
   */
  readonly ignored: (paths: readonly string[]) => Promise<ReadonlySet<string> | null>;
  /** Names of folders with dependencies and build output. */
  readonly generatedFolders: ReadonlySet<string>;
}

/** Names to try behind a link: it may give a harmless file a name that a program obeys, and its target may come later. */
const behindLinks = [
  "settings.json",
  "tasks.json",
  "launch.json",
  "mcp.json",
  "hooks.json",
  "config",
  "config.toml",
  "hooks/x",
  "workflows/x.yml",
  "x",
  "x/x",
];

/**
 * Gives each change of a layer its class.
 * @param changes in the order of `scanLayer`
 * @param trees the workspace and the view, to find folders that git would take for a repository
 */
export async function classesOf(
  changes: readonly LayerChange[],
  trees: { readonly lower: string; readonly merged: string },
  { judgeName, obeyed, ignored, generatedFolders }: ClassDeps,
): Promise<Map<string, ChangeClass>> {
  const judge = (path: string): boolean => judgeName(path) !== null || obeyed(path) !== null;
  const isRepository = repositoryFinder([trees.lower, trees.merged]);
  const classes = new Map<string, ChangeClass>();
  const open: LayerChange[] = [];
  for (const change of changes) {
    if (isRepository(change.path)) classes.set(change.path, "repository");
    else open.push(change);
  }
  const ignoredPaths = await ignored(open.map(({ path }) => path));
  for (const change of open) {
    const inGenerated = isBelow(change.path, generatedFolders);
    const isGenerated = ignoredPaths === null ? inGenerated : ignoredPaths.has(change.path);
    // Packages bring settings and sample keys that nothing reads in their folders.
    if (!(isGenerated && inGenerated) && isProtected(change, judge)) classes.set(change.path, "protected");
    else classes.set(change.path, isGenerated ? "generated" : "source");
  }
  return classes;
}

function isProtected({ path, before, after }: LayerChange, judge: (path: string) => boolean): boolean {
  if (judge(path)) return true;
  const isLink = after?.kind === "link" || before?.kind === "link";
  return isLink && behindLinks.some((name) => judge(`${path}/${name}`) && !judge(`elsewhere/${name}`));
}

/** Also true for what cannot be looked at: it may be there. */
function isThere(path: string): boolean {
  try {
    return statOf(path) !== null;
  } catch {
    return true;
  }
}

/** True when the entry or a folder above it has one of these names. */
function isBelow(path: string, names: ReadonlySet<string>): boolean {
  return path.split("/").some((part) => names.has(part));
}

/**
 * Recognizes git metadata: everything named `.git` at any depth, and everything in a folder that git takes for a repository without that
 * name, because git obeys its settings as soon as somebody works there.
 */
function repositoryFinder(roots: readonly string[]): (path: string) => boolean {
  const known = new Map<string, boolean>();
  const has = (folder: string, name: string): boolean => roots.some((root) => isThere(join(root, folder, name)));
  const looksLikeOne = (folder: string): boolean => {
    let found = known.get(folder);
    if (found === undefined) {
      found = has(folder, "HEAD") && ((has(folder, "objects") && has(folder, "refs")) || has(folder, "commondir"));
      known.set(folder, found);
    }
    return found;
  };
  return (path) => {
    const parts = path.split("/");
    if (parts.some((part) => part.toLowerCase() === ".git")) return true;
    return parts.some((_, length) => looksLikeOne(parts.slice(0, length).join("/")));
  };
}
