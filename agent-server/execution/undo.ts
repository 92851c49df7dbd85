import { LancelotError } from "../contract/errors.ts";
import type { RestoreOf, RestoreResult } from "../contract/changes.ts";
import type { Log } from "../security/security.ts";
import { type Checkpoints, type FilePath, readImage, type SweptAction } from "../workspace/workspace.ts";
import type { Restore } from "./restore.ts";
import type { RepositoryUndo } from "./repository-undo.ts";
import type { TaskSettlement } from "./task-settlement.ts";

/** Undoes the files and the git actions of a quest together. */
export interface Undo {
  /** The files whose content a quest changed, without folders, special files, files below `.git` and names that are not text. */
  questFiles(questId: string): FilePath[];
  /** Undoes the git actions of a whole quest, then the generated files and the others. Git actions that the changed files blocked are tried a second time. */
  restore(of: RestoreOf): Promise<RestoreResult>;
  /** Restores the files of actions that wrote only some of their files before their host died. */
  undoUnfinished(actions: readonly SweptAction[]): Promise<void>;
}

export function createUndo(deps: {
  readonly checkpoints: Pick<Checkpoints, "files">;
  readonly files: Pick<Restore, "restore" | "rollBack">;
  readonly repository: RepositoryUndo;
  /** Null without a folder. */
  readonly generated: Pick<TaskSettlement, "undo"> | null;
  readonly log: Log;
}): Undo {
  const { checkpoints, files, repository, generated, log } = deps;

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
        const { absolute, display } = first.path;
        const isNamed = !absolute.includes("\0") && !/(?:^|[/\\])\.git(?:[/\\]|$)/.test(display);
        if (!isNamed || [first.before, last.after].some((image) => image?.hash === "")) return [];
        return JSON.stringify(first.before) === JSON.stringify(last.after) ? [] : [first.path];
      });
    },

    async restore(of) {
      // Commits and generated files have no order among the steps of a quest.
      if ("id" in of || of.since !== undefined) return files.restore(of);
      const before = await repository.undo(of.questId);
      const others = await generated?.undo(of.questId).catch((error: unknown) => {
        if (!(error instanceof LancelotError)) throw error;
        return { restored: [], conflicts: [{ path: "the generated files", message: error.message }] };
      });
      const restored = await files.restore(of);
      const after =
        before.conflicts.length === 0 || restored.restored.length === 0
          ? { restored: [], conflicts: before.conflicts }
          : await repository.undo(of.questId);
      return {
        ...restored,
        restored: [...before.restored, ...(others?.restored ?? []), ...restored.restored, ...after.restored],
        conflicts: [...after.conflicts, ...(others?.conflicts ?? []), ...restored.conflicts],
      };
    },

    async undoUnfinished(actions) {
      for (const action of actions) {
        try {
          if (action.receiptId === null || !(await isHalfDone(action))) continue;
          await files.rollBack(action.id, { questId: action.questId, parentId: action.receiptId, held: false });
        } catch (error) {
          log("a partially written action of a host that died could not be undone", error);
        }
      }
    },
  };
}
