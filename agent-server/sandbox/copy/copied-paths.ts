import { relative, sep } from "node:path";
import { ignoredPaths, type ViewPath } from "../../workspace/workspace.ts";
import type { MaskedPaths } from "../secret-masks.ts";

/** Which entries of a workspace belong to its copies. Paths are relative to the workspace. */
export interface CopiedPaths {
  /** Entries that git ignores, by the rules of the workspace and not by those of the task. */
  ignored(entries: readonly ViewPath[]): Promise<ReadonlySet<string>>;
  /** True for a secret file or folder, and for every path in such a folder. */
  isMasked(path: string): boolean;
}

/** Time for git to judge some entries, ms. */
const judgeWithin = 60_000;

export function createCopiedPaths(workspace: string, masked: MaskedPaths): CopiedPaths {
  const masks = new Set([...masked.files, ...masked.folders].map((path) => relative(workspace, path).split(sep).join("/")));
  const known = new Map<string, boolean>();
  return {
    async ignored(entries) {
      const open = entries.filter(({ path }) => !known.has(path));
      const named: { path: string; isFolder: boolean }[] = [];
      for (const { path, isFolder } of open) {
        known.set(path, false);
        // Git never ignores its own files, and its output cannot name paths that are not UTF-8.
        if (!path.includes("\0") && !path.split("/").includes(".git")) named.push({ path, isFolder });
      }
      const said = named.length === 0 ? null : await ignoredPaths(workspace, named, AbortSignal.timeout(judgeWithin));
      for (const path of said ?? []) known.set(path, true);
      return new Set(entries.filter(({ path }) => known.get(path) === true).map(({ path }) => path));
    },
    isMasked(path) {
      for (let end = path.length; end > 0; end = path.lastIndexOf("/", end - 1)) if (masks.has(path.slice(0, end))) return true;
      return false;
    },
  };
}
