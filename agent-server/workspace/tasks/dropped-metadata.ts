import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Repository } from "../git/git-repository.ts";
import type { UntrustedFolder } from "./untrusted-folder.ts";
import { atWorktree } from "./view-refs.ts";

/** Something that a command wrote in `.git` and that is not taken over; `what` is an English noun for the model. */
export interface DroppedMetadata {
  readonly what: string;
  /** Paths in `.git`, or staged files; not necessarily all. */
  readonly names: readonly string[];
}

const maxNames = 20;
const maxEntries = 10_000;
const maxDepth = 6;
/** Larger files count as changed. */
const maxCompared = 1024 * 1024;

/** Content that is imported or judged elsewhere, and files on which nothing depends. */
const skipped =
  /^(?:objects|objects\/pack|objects\/[0-9a-f]{2}|HEAD|index|packed-refs|logs|branches|description|refs|refs\/(?:heads|tags)|COMMIT_EDITMSG|FETCH_HEAD|ORIG_HEAD|MERGE_MSG|SQUASH_MSG|AUTO_MERGE|REBASE_HEAD|gc\.log|gc\.pid|info\/refs|objects\/info|objects\/info\/(?:packs|commit-graphs?)|.*\.lock)$/;
/** Folders whose content is looked at although the folder itself means nothing. */
const entered = /^(?:refs|objects|objects\/info)$/;

const kinds: readonly (readonly [RegExp, string])[] = [
  [/^config(?:\.worktree)?$/, "settings"],
  [/^hooks(?:\/|$)/, "hooks"],
  [/^info(?:\/|$)/, "info files"],
  [/^refs\/stash$/, "stash"],
  [/^refs\/remotes(?:\/|$)/, "remote branches"],
  [/^refs\//, "other refs"],
  [/^modules(?:\/|$)/, "submodule repositories"],
  [/^worktrees(?:\/|$)/, "work trees"],
  [/^shallow$/, "history limit"],
  [/^(?:commondir|gitdir)$/, "redirection"],
  [/^objects\/info\//, "object sources"],
  [/^reftable(?:\/|$)/, "ref table"],
  [/^(?:(?:MERGE|CHERRY_PICK|REVERT|BISECT)_\w+|rebase-(?:merge|apply)|sequencer)(?:\/|$)/, "unfinished operation"],
];

/** Lists the changes below a view's `.git`, apart from commits, branches, tags and the index. */
export async function findDroppedMetadata(of: {
  upper: UntrustedFolder;
  repository: Repository;
  /** Folder with HEAD, below the common folder; empty for the main work tree. */
  worktree: string;
}): Promise<DroppedMetadata[]> {
  const found = new Map<string, string[]>();
  let looked = 0;
  const note = (path: string): void => {
    const what = kinds.find(([pattern]) => pattern.test(path))?.[1] ?? "other files";
    const names = found.get(what) ?? [];
    if (names.length < maxNames) names.push(path);
    found.set(what, names);
  };
  const visit = async (folder: UntrustedFolder, real: string, base: string, depth: number): Promise<void> => {
    for (const { name, kind } of folder.entries(maxEntries)) {
      looked += 1;
      const path = `${base}${name}`;
      if (looked > maxEntries || (real === of.repository.commonDir && path === of.worktree)) continue;
      if (kind !== "folder") {
        if (!skipped.test(path) && differs(folder, name, kind, join(real, path))) note(path);
      } else if (depth < maxDepth && (entered.test(path) || !skipped.test(path)))
        await folder.within(name, (inner) => visit(inner, real, `${path}/`, depth + 1));
    }
  };
  await visit(of.upper, of.repository.commonDir, "", 0);
  if (of.worktree !== "") await atWorktree(of.upper, of.worktree, (folder) => visit(folder, of.repository.gitDir, "", 0));
  return [...found].map(([what, names]) => ({ what, names }));
}

/** Files that were copied without a change do not count. Other entries are deletion marks, or do not belong in a repository. */
function differs(folder: UntrustedFolder, name: string, kind: "file" | "other", real: string): boolean {
  const stats = lstatSync(real, { throwIfNoEntry: false });
  if (kind === "other" || stats?.isFile() !== true || stats.size > maxCompared) return true;
  try {
    return folder.read(name, maxCompared)?.equals(readFileSync(real)) !== true;
  } catch {
    return true;
  }
}
