import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, join } from "node:path";
import * as z from "zod";
import { withAccessSync } from "../../workspace/workspace.ts";
import { processRuns } from "../temporary-folder.ts";

/** Files of a repository's own folder. All other placeholders are empty folders, which commits and programs ignore. */
const files = new Set(["attributes", "config", "config.worktree", "commondir"]);

const journalName = "placeholders.json";

/** Content of a placeholder file: without effect. A repository that names itself as its common folder behaves as before. */
const contents = (path: string) => (basename(path) === "commondir" ? ".\n" : "");

export interface Placeholders {
  /**
   * Creates a placeholder at each missing path, so that it can be mounted read-only.
   * @param present existing paths: another command's placeholder among them is kept as long as this command needs it
   * @returns a function that removes the placeholders
   */
  hold(missing: readonly string[], present: readonly string[]): () => void;
}

/**
 * Placeholders for protected files that do not exist: a missing path cannot be mounted over, and a command could create it. They exist
 * while a command runs, and concurrent commands share them.
 * @param folder records their paths before they are created, so that those of dead hosts can be removed
 */
export function createPlaceholders(folder: string): Placeholders {
  const holders = new Map<string, number>();
  /** Placeholders that could not be removed; the next release tries again. */
  const stuck = new Set<string>();
  const journal = join(folder, `${process.pid}-${journalName}`);
  const writeDown = (paths: readonly string[]) => {
    if (paths.length === 0) return rmSync(journal, { force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(journal, JSON.stringify(paths), { mode: 0o600 });
  };
  function release(held: string[]): void {
    for (const path of held.splice(0)) {
      const left = (holders.get(path) ?? 1) - 1;
      if (left > 0) holders.set(path, left);
      else {
        holders.delete(path);
        // One that cannot be removed must not keep the others.
        if (!remove(path)) stuck.add(path);
      }
    }
    writeDown([...holders.keys(), ...stuck]);
  }

  return {
    hold(missing, present) {
      const paths = [...missing, ...present.filter((path) => holders.has(path) || stuck.has(path))];
      const held: string[] = [];
      if (paths.some((path) => !holders.has(path))) writeDown([...new Set([...holders.keys(), ...stuck, ...paths])]);
      try {
        for (const path of paths) {
          const count = holders.get(path) ?? 0;
          const isLeft = stuck.delete(path);
          if (make(path) || count > 0 || isLeft) {
            holders.set(path, count + 1);
            held.push(path);
          }
        }
      } catch (error) {
        release(held);
        throw error;
      }
      return () => release(held);
    },
  };
}

/**
 * Removes the small files and recorded placeholders of dead hosts from the sandbox folder. Every name there starts with its process
 * id.
 */
export function sweep(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folder)) {
    const pid = Number(/^(\d+)-/.exec(name)?.[1] ?? "0");
    if (pid === 0 || pid === process.pid || processRuns(pid)) continue;
    if (name.endsWith(journalName)) for (const path of writtenDown(join(folder, name))) remove(path);
    rmSync(join(folder, name), { force: true });
  }
}

function writtenDown(journal: string): string[] {
  try {
    return z.array(z.string()).parse(JSON.parse(readFileSync(journal, "utf8")));
  } catch {
    return [];
  }
}

function make(path: string): boolean {
  const name = basename(path);
  try {
    withAccessSync(path, () => {
      if (files.has(name)) {
        const descriptor = openSync(path, "wx", 0o644);
        writeSync(descriptor, contents(path));
        closeSync(descriptor);
      } else mkdirSync(path, 0o755);
    });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Removes a placeholder, unless another program has written to it. @returns false when the system refuses it */
function remove(path: string): boolean {
  try {
    withAccessSync(path, () => {
      const stats = lstatSync(path);
      if (stats.isDirectory()) rmdirSync(path);
      else if (stats.isFile() && stats.size <= 2 && readFileSync(path, "utf8") === contents(path)) unlinkSync(path);
    });
    return true;
  } catch (error) {
    return ["ENOENT", "ENOTDIR", "ENOTEMPTY", "EEXIST"].includes(String((error as NodeJS.ErrnoException).code));
  }
}
