import { realpathSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { gitFolderOf, isGenerated } from "./retention-class.ts";
import type { EntryChange } from "./tree-compare.ts";
import { diskPath, fromBytes } from "../byte-path.ts";
import { type Folder, folderAt } from "./file-tree.ts";

/**
 * Files in a `.git` folder that git executes or reads settings from. Its other files name commits and branches, which only undo restores.
 */
const obeyed = /(?:^|\/)\.git\/(?:(?:modules|worktrees)\/.+\/)?(?:config|config\.worktree|info\/attributes|hooks\/.+)$/i;
const redirection = /(?:^|\/)\.git\/commondir$/i;
const sample = /(?:^|\/)\.git\/(?:modules\/.+\/)?hooks\/[^/]+\.sample$/;
/** Limits for entries checked behind a new link: their number and depth. */
const maxProbed = 2_000;
const maxDepth = 3;
/** Names to try behind any link, because its target may not exist yet. */
const probes = ["settings.json", "tasks.json", "launch.json", "mcp.json", "hooks.json", "config", "x", "x/x"];

/** True for a change that no command may make without the user's approval. */
export type Protection = (change: EntryChange) => boolean;

/**
 * Decides which changes of a command are reverted immediately: settings that the editor, git or other agents read. In dependency folders
 * only git's count, since nothing else there is read. A repository that the command created may have settings that run no program.
 */
export function protection(deps: {
  workspace: string;
  judgeName: (relative: string) => "secret" | "protected" | null;
  generated: ReadonlySet<string>;
  approved: ReadonlySet<string>;
  after: Folder;
  /** `.git` folders that existed before the command. */
  repositories: ReadonlySet<string>;
  /** The current text of a file; null when it cannot be read. */
  read: (relative: string) => string | null;
}): Protection {
  const { workspace, judgeName, generated, approved, after, repositories, read } = deps;

  function named(path: string): boolean {
    const gitFolder = gitFolderOf(path);
    if (gitFolder !== null) return path === gitFolder || obeyed.test(path) || redirection.test(path);
    return judgeName(path) === "protected" && !isGenerated(path, generated);
  }

  /** Detects a link that gives a harmless file a protected name, such as `.vscode` linking to a folder with a `settings.json`. */
  function leadsToProtected(path: string): boolean {
    const gains = (name: string, elsewhere: string): boolean => named(`${path}/${name}`) && !named(`${elsewhere}/${name}`);
    const target = targetIn(after, path, workspace);
    if (probes.some((name) => gains(name, target?.path ?? "elsewhere"))) return true;
    if (target === null) return false;
    let left = maxProbed;
    const probe = (folder: Folder, at: string, depth: number): boolean => {
      for (const name of folder.names) {
        left -= 1;
        if (left < 0) return false;
        if (gains(at + name, target.path)) return true;
      }
      if (depth === maxDepth) return false;
      for (const [name, child] of folder.folders) if (probe(child, `${at}${name}/`, depth + 1)) return true;
      return false;
    };
    return probe(target, "", 1);
  }

  return ({ path, before, after: now }) => {
    if (approved.has(path)) return false;
    const inGit = gitFolderOf(path);
    if (now === null) {
      // A deleted file runs nothing. Files of a repository are never reverted one by one, because a partial repository is worse than none.
      return inGit === null && before?.kind !== "folder" && named(path);
    }
    if (now.kind === "folder") return false;
    if (now.kind === "link" && (named(path) || leadsToProtected(path))) return true;
    if (!named(path)) return false;
    if (inGit !== null && before === null && path !== inGit && !repositories.has(inGit)) {
      if (sample.test(path)) return false;
      if (path.endsWith("/config")) return now.kind !== "file" || !isPlainConfig(read(path));
    }
    return !(before === null && sample.test(path));
  };
}

/** The folder a link of the tree leads to; null when it leads out of the workspace or nowhere. */
function targetIn(root: Folder, path: string, workspace: string): Folder | null {
  let target: string;
  try {
    // Resolves as the system does, because links may lead to other links.
    const real = realpathSync.native(diskPath(join(workspace, path)), { encoding: "buffer" });
    target = relative(workspace, fromBytes(real));
  } catch {
    return null;
  }
  if (target === ".." || target.startsWith(`..${sep}`) || isAbsolute(target)) return null;
  return folderAt(root, target.split(sep).join("/"));
}

/** Settings of a new repository that name paths, branches and formats but no program. */
const plainKeys =
  /^(?:core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)|remote\..+\.(?:url|fetch|tagopt)|branch\..+\.(?:remote|merge|rebase)|submodule\.(?:active|.+\.(?:url|active))|extensions\.objectformat|init\.defaultbranch)$/i;

/** True when every line of a repository's settings is harmless. */
export function isPlainConfig(text: string | null): boolean {
  if (text === null) return false;
  let section = "";
  for (const line of text.split("\n")) {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#") || trimmed.startsWith(";")) continue;
    const header = /^\[([A-Za-z0-9-]+)(?: "([^"\\]*)")?\]$/.exec(trimmed);
    if (header !== null) {
      section = header[2] === undefined ? (header[1] ?? "") : `${header[1] ?? ""}.${header[2]}`;
      continue;
    }
    const setting = /^([A-Za-z][A-Za-z0-9-]*)\s*(?:=(.*))?$/.exec(trimmed);
    if (setting === null || !plainKeys.test(`${section}.${setting[1] ?? ""}`)) return false;
    // Refuses values that continue on the next line and addresses that name a program.
    if ((setting[2] ?? "").endsWith("\\") || /::/.test(setting[2] ?? "")) return false;
  }
  return true;
}
