import type { RestoreOf, RestoreResult } from "../contract/changes.ts";
import type { Log } from "../security/security.ts";
import { type Checkpoints, type FilePath, readImage, type SweptAction } from "../workspace/workspace.ts";
import type { Restore } from "./restore.ts";
import type { RepositoryUndo } from "./repository-undo.ts";

/** What a task did, and taking it back: its files and what it did to the repository together. */
export interface Undo {
  /** The files a quest left otherwise than it found them, as far as is known; neither folders nor git's own. */
  questFiles(questId: string): FilePath[];
  /** First what a task did to the repository, then its files; what the files were in the way of is tried again. */
  restore(of: RestoreOf): Promise<RestoreResult>;
  /** Takes back what hosts that died had written of several files only in part: all of it is there, or nothing. */
  undoUnfinished(actions: readonly SweptAction[]): Promise<void>;
}

export function createUndo(deps: {
  readonly checkpoints: Pick<Checkpoints, "files">;
  readonly files: Pick<Restore, "restore" | "rollBack">;
  readonly repository: RepositoryUndo;
  readonly log: Log;
}): Undo {
  const { checkpoints, files, repository, log } = deps;

  async function isHalfDone({ id }: SweptAction): Promise<boolean> {
    const planned = checkpoints.files({ id }).filter((file) => file.planned !== undefined && file.planned?.hash !== file.before?.hash);
    if (planned.length < 2) return false;
    const found = await Promise.all(
      planned.map(async ({ path, before, planned }) => {
        const hash = (await readImage(path))?.hash;
        return hash === planned?.hash ? "written" : hash === before?.hash ? "untouched" : "other";
      }),
    );
    return found.includes("written") && found.includes("untouched");
  }

  return {
    questFiles(questId) {
      const byPath = Map.groupBy(checkpoints.files({ questId }), ({ path }) => path.absolute);
      return [...byPath.values()].flatMap((states) => {
        const [first, last] = [states[0], states.at(-1)];
        if (first === undefined || last === undefined) return [];
        if ((first.before ?? last.after)?.kind === "folder" || /(?:^|[/\\])\.git(?:[/\\]|$)/.test(first.path.display)) return [];
        return JSON.stringify(first.before) === JSON.stringify(last.after) ? [] : [first.path];
      });
    },

    async restore(of) {
      if ("id" in of) return files.restore(of);
      const before = await repository.undo(of.questId);
      const restored = await files.restore(of);
      const after =
        before.conflicts.length === 0 || restored.restored.length === 0
          ? { restored: [], conflicts: before.conflicts }
          : await repository.undo(of.questId);
      return {
        ...restored,
        restored: [...before.restored, ...restored.restored, ...after.restored],
        conflicts: [...after.conflicts, ...restored.conflicts],
      };
    },

    async undoUnfinished(actions) {
      for (const action of actions) {
        try {
          if (action.receiptId === null || !(await isHalfDone(action))) continue;
          await files.rollBack(action.id, { questId: action.questId, parentId: action.receiptId, held: false });
        } catch (error) {
          log("what a host that died had half written could not be taken back", error);
        }
      }
    },
  };
}
