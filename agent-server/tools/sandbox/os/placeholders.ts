import { closeSync, lstatSync, mkdirSync, openSync, readFileSync, rmdirSync, unlinkSync, writeSync } from "node:fs";
import { basename, extname } from "node:path";

/** Files whose names look like those of folders. */
const files = new Set([
  ".bashrc",
  ".profile",
  ".zshrc",
  ".envrc",
  ".gitattributes",
  ".gitmodules",
  ".npmrc",
  ".yarnrc",
  "attributes",
  "config",
  "commondir",
]);

/** What stands in the place of a file: as good as nothing. A repository that names itself as the folder it shares is what it was. */
const contents = (path: string) => (basename(path) === "commondir" ? ".\n" : "");

export interface Placeholders {
  /** Makes sure something stands at each path, so that it can be mounted read-only. @returns how to take it away again. */
  hold(paths: readonly string[]): () => void;
}

/**
 * Stand-ins for protected files that are not there: what is not there cannot be mounted over, and a command could make it. They
 * are there while a command runs. Commands that run at the same time share them.
 */
export function createPlaceholders(): Placeholders {
  const holders = new Map<string, number>();
  return {
    hold(paths) {
      const held: string[] = [];
      for (const path of paths) {
        const count = holders.get(path) ?? 0;
        if (count > 0 || make(path)) {
          holders.set(path, count + 1);
          held.push(path);
        }
      }
      return () => {
        for (const path of held.splice(0)) {
          const left = (holders.get(path) ?? 1) - 1;
          if (left > 0) holders.set(path, left);
          else {
            holders.delete(path);
            remove(path);
          }
        }
      };
    },
  };
}

function make(path: string): boolean {
  const name = basename(path);
  try {
    if (files.has(name) || extname(name) !== "") {
      const descriptor = openSync(path, "wx", 0o644);
      writeSync(descriptor, contents(path));
      closeSync(descriptor);
    } else mkdirSync(path, 0o755);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Takes away what was made, unless somebody made something of it. */
function remove(path: string): void {
  try {
    const stats = lstatSync(path);
    if (stats.isDirectory()) rmdirSync(path);
    else if (stats.isFile() && stats.size <= 2 && readFileSync(path, "utf8") === contents(path)) unlinkSync(path);
  } catch (error) {
    if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(String((error as NodeJS.ErrnoException).code))) throw error;
  }
}
