import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { moveEntry, removeTree, withFolders } from "./folder-descriptors.ts";

/** Deletes folders in the background, in an order that a crash cannot break: first they are moved to the trash as a whole. */
export interface TaskTrash {
  /** Moves a folder of the same file system to the trash. False when it does not exist. */
  throwAway(folder: string): boolean;
  /**
   * Deletes everything in the trash, also what an earlier host left there.
   * @returns the number of entries that the system does not let this user delete
   */
  empty(): Promise<number>;
}

export function createTaskTrash(folder: string): TaskTrash {
  let running: Promise<number> | null = null;
  const unique = (): string => randomBytes(12).toString("hex");

  async function run(): Promise<number> {
    if (!existsSync(folder)) return 0;
    return withFolders([folder], async (trash) => {
      const stuck = new Set<string>();
      for (let names = readdirSync(folder); names.some((name) => !stuck.has(name)); names = readdirSync(folder)) {
        for (const name of names) {
          if (stuck.has(name)) continue;
          await removeTree(trash, name, {
            onFailure: () => stuck.add(name),
            // Deep folders are deleted from the trash itself, so that few are open at a time.
            moveDeep: (above, inner) => {
              try {
                moveEntry(above, inner, trash, unique());
                return true;
              } catch {
                return false;
              }
            },
          });
        }
      }
      return stuck.size;
    });
  }

  return {
    throwAway(path) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      try {
        renameSync(path, join(folder, unique()));
        return true;
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
        throw error;
      }
    },
    async empty() {
      // A run that has begun may have passed entries that were added since.
      await running?.catch(() => 0);
      running ??= run().finally(() => {
        running = null;
      });
      return running;
    },
  };
}
