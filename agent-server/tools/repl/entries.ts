import { trimEnd } from "../../contract/trim-end.ts";
import { constants, type Dirent, type Stats } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { fileError, type ResolvedFile } from "../../workspace/workspace.ts";
import type { Scope } from "../tool.ts";

/** Most entries that one command reads. */
export const maxEntries = 50_000;

export interface Entry {
  /** The path to show: the requested path and the path below it. */
  readonly shown: string;
  readonly absolute: string;
  readonly depth: number;
  readonly stats: Stats;
}

/** The sorted names in a folder. Opens only the folder that was authorized. */
export async function listFolder(folder: ResolvedFile | { absolute: string; display: string }): Promise<Dirent[]> {
  try {
    // A link that replaced the folder after its authorization is not followed.
    const handle = await open(folder.absolute, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_DIRECTORY ?? 0));
    await handle.close();
    const entries = await readdir(folder.absolute, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    throw fileError(error, folder.display);
  }
}

/**
 * Visits a path and everything below it. Links are visited but not followed, and `.git` is skipped.
 * Stops at `maxEntries`, which `cut` reports. @throws LancelotError `cancelled`.
 */
export async function walk(
  scope: Pick<Scope, "call">,
  start: ResolvedFile,
  maxDepth: number,
  visit: (entry: Entry) => void | Promise<void>,
): Promise<{ cut: boolean }> {
  let seen = 0;
  let cut = false;
  const go = async (absolute: string, shown: string, depth: number): Promise<void> => {
    if (scope.call.signal.aborted) throw new LancelotError("cancelled", "Stopped by the user.");
    if (seen >= maxEntries) {
      cut = true;
      return;
    }
    seen += 1;
    const stats = await lstat(absolute).catch(() => null);
    if (stats === null) return;
    await visit({ shown, absolute, depth, stats });
    if (!stats.isDirectory() || depth >= maxDepth) return;
    const entries = await listFolder({ absolute, display: shown }).catch((error: unknown) => {
      if (depth === 0) throw error;
      return [];
    });
    for (const entry of entries) {
      if (entry.name === ".git" && entry.isDirectory()) continue;
      await go(join(absolute, entry.name), shown === "/" ? `/${entry.name}` : `${trimEnd(shown, "/")}/${entry.name}`, depth + 1);
    }
  };
  await go(start.absolute, start.asked, 0);
  return { cut };
}

export function typeLetter(stats: Stats): "d" | "l" | "f" | "o" {
  if (stats.isDirectory()) return "d";
  if (stats.isSymbolicLink()) return "l";
  return stats.isFile() ? "f" : "o";
}
