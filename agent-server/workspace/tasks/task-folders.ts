import { createHash } from "node:crypto";
import { closeSync, lstatSync, mkdirSync, readdirSync, type Stats, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import { createClock, createLease, type Storage } from "../../storage/storage.ts";
import type { CheckpointSettings } from "../checkpoints/checkpoint-settings.ts";
import { createPace } from "../effects/tree-walk.ts";
import { errno, fileError } from "../file-errors.ts";
import { readCopyRecord } from "./copy-record.ts";
import { entryIn, mountOf, namesIn, openBelow, unlock, withFolders } from "./folder-descriptors.ts";
import { unfinishedJournals } from "./generated-journal.ts";
import { createTaskTrash } from "./task-trash.ts";

const dayMs = 24 * 60 * 60_000;
/** A lease lasts as long as its host: no task works for a hundred years. */
const forever = 100 * 365 * dayMs;
/** A removal that a suspended machine interrupted may be repeated by another host after this time (ms). */
const removalMs = 60_000;
const trashName = ".trash";
const questIdPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** What a task keeps on the disk. */
export interface TaskFolder {
  readonly questId: string;
  readonly folder: string;
  /** Of any workspace of the data folder. */
  readonly workspace: "this" | "other";
  /** Bytes that it takes on the disk, with those of its copy in a container engine. */
  readonly bytes: number;
  readonly lastUsed: Date;
}

/** The folders that keep the files of tasks until they are accepted: `<data folder>/tasks/<workspace>/<quest id>`. */
export interface TaskFolders {
  /** The folder of a quest; it may not exist. @throws LancelotError `invalid_params` for an id that is no plain name */
  folderOf(questId: string): string;
  /**
   * Creates the folder and reserves it for this host until `release` or the host's end. Nobody removes it meanwhile.
   * @throws LancelotError `conflict` while another window uses it, `unavailable` when the disk is full
   */
  use(questId: string): { readonly folder: string; release(): void };
  /**
   * Removes the folder of a quest. Its content is deleted in the background.
   * @throws LancelotError `conflict` while it is in use, or before `recoverGenerated` ended what a dead host left unfinished there
   */
  remove(questId: string): void;
  /** The folders of all workspaces, those that were not used for the longest time first. */
  list(): Promise<TaskFolder[]>;
  /** Quests of this workspace whose generated files a dead host left half applied. */
  interrupted(): string[];
  /**
   * Removes folders of ended and unknown quests that were not used for a time, and further ones while all take more than the quota. Writes a
   * receipt when it removed any.
   */
  collect(of: { isQuestOpen: (questId: string) => boolean; now: () => Date }): Promise<{ folders: number; bytes: number }>;
  /** Resolves when everything that was removed is deleted, with the number of entries that cannot be. */
  deleted(): Promise<number>;
}

export function createTaskFolders(deps: {
  storage: Storage;
  ledger: Pick<Ledger, "record">;
  /** Absolute, links resolved. */
  workspace: string;
  settings: () => Pick<CheckpointSettings, "max_task_bytes" | "keep_task_days">;
  /** Why the owner's limits are unknown; then nothing is removed by them. */
  configProblem?: () => string | null;
  log: Log;
}): TaskFolders {
  const { storage, ledger, log } = deps;
  const root = join(storage.dataDir, "tasks");
  const trash = createTaskTrash(join(root, trashName));
  const mine = createHash("sha256").update(deps.workspace).digest("hex").slice(0, 32);
  /** How often each folder is in use by this host. */
  const used = new Map<string, number>();
  const leaseOf = (folder: string) => createLease({ storage, name: `task ${folder.slice(root.length + 1)}`, now: Date.now });
  const pending = storage.db.prepare("SELECT 1 FROM changes WHERE quest_id = ? AND status = 'pending' LIMIT 1");

  function folderOf(questId: string): string {
    if (!questIdPattern.test(questId)) throw new LancelotError("invalid_params", "This is not the id of a task.");
    return join(root, mine, questId);
  }

  /** Moves the folder to the trash; false when it is in use, unfinished or gone. */
  function discard(folder: string): boolean {
    if (used.has(folder)) return false;
    const lease = leaseOf(folder);
    if (!lease.take(removalMs)) return false;
    try {
      return unfinishedJournals(folder).length === 0 && trash.throwAway(folder);
    } finally {
      lease.release();
    }
  }

  function deleteSoon(): void {
    void trash
      .empty()
      .then((left) => {
        if (left > 0) log(`${left} entries of removed task folders belong to other users and stay in ${join(root, trashName)}`);
      })
      .catch((error: unknown) => log("removed task folders could not be deleted; retrying later", error));
  }

  async function list(): Promise<TaskFolder[]> {
    const found: TaskFolder[] = [];
    for (const workspace of names(root)) {
      if (workspace === trashName) continue;
      for (const questId of names(join(root, workspace))) {
        const folder = join(root, workspace, questId);
        const stats = statFolder(folder);
        if (stats === null || !questIdPattern.test(questId)) continue;
        const bytes = (await sizeOf(folder)) + readCopyRecord(folder).bytes;
        found.push({ questId, folder, workspace: workspace === mine ? "this" : "other", bytes, lastUsed: stats.mtime });
      }
    }
    return found.sort((a, b) => a.lastUsed.getTime() - b.lastUsed.getTime());
  }

  return {
    folderOf,

    use(questId) {
      const folder = folderOf(questId);
      const lease = leaseOf(folder);
      if (!lease.take(forever))
        throw new LancelotError("conflict", "Another window works on this task. Close it there, or wait until it ends.");
      used.set(folder, (used.get(folder) ?? 0) + 1);
      let released = false;
      const release = (): void => {
        if (released) return;
        released = true;
        const count = (used.get(folder) ?? 1) - 1;
        if (count > 0) used.set(folder, count);
        else {
          used.delete(folder);
          lease.release();
        }
      };
      try {
        // The trash is created while there is space: a full disk must not prevent a removal.
        mkdirSync(join(root, trashName), { recursive: true, mode: 0o700 });
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        touch(folder);
      } catch (error) {
        release();
        throw fileError(error, "The task's folder");
      }
      return {
        folder,
        release() {
          if (!released) touch(folder);
          release();
        },
      };
    },

    remove(questId) {
      const folder = folderOf(questId);
      if (statFolder(folder) === null) return;
      try {
        if (!discard(folder) && statFolder(folder) !== null)
          throw new LancelotError("conflict", "The task's files are in use. End its commands first.");
      } catch (error) {
        throw fileError(error, "The task's folder");
      }
      deleteSoon();
    },

    list,

    interrupted: () =>
      names(join(root, mine)).filter((questId) => {
        const folder = join(root, mine, questId);
        return !used.has(folder) && unfinishedJournals(folder).length > 0;
      }),

    async collect({ isQuestOpen, now }) {
      const { max_task_bytes: most, keep_task_days: days } = deps.settings();
      const all = await list();
      let total = all.reduce((sum, { bytes }) => sum + bytes, 0);
      const oldest = now().getTime() - days * dayMs;
      const removed = { folders: 0, bytes: 0 };
      const clock = createClock({ storage, now: () => now().getTime() });
      const isOld = (lastUsed: Date): boolean => clock.mayRemove(days) && lastUsed.getTime() < oldest;
      if (deps.configProblem !== undefined && deps.configProblem() !== null) {
        deleteSoon();
        return removed;
      }
      for (const { questId, folder, bytes, lastUsed } of all) {
        if (!isOld(lastUsed) && total <= most) continue;
        if (isQuestOpen(questId) || pending.get(questId) !== undefined) continue;
        if (!discard(folder)) continue;
        removed.folders += 1;
        removed.bytes += bytes;
        total -= bytes;
      }
      // Also continues what an earlier host began.
      deleteSoon();
      if (removed.folders > 0) {
        ledger.record(
          {
            actionType: "system",
            actionName: "tasks.collect",
            inputs: { limitBytes: most, keepDays: days, reason: "limits of config/checkpoints.yaml" },
            riskTier: "T0",
            parentId: null,
            questId: null,
          },
          { status: "success", outputs: { ...removed, leftBytes: total } },
        );
      }
      return removed;
    },

    deleted: () => trash.empty(),
  };
}

/** Records the use in the folder's own time, which no command changes: the content is in folders below. */
function touch(folder: string): void {
  const now = new Date();
  utimesSync(folder, now, now);
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function statFolder(folder: string): Stats | null {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  return stats?.isDirectory() === true ? stats : null;
}

/** Bytes on the disk of everything below a folder, without links and mounts. Ends early when the folder is removed meanwhile. */
async function sizeOf(path: string): Promise<number> {
  const pace = createPace();
  let bytes = 0;
  const opened: { folder: number; names: string[]; lock: () => void }[] = [];
  const enter = (folder: number): void => {
    try {
      const lock = unlock(folder, 0o500);
      opened.push({ folder, lock, names: namesIn(folder) });
    } catch (error) {
      closeSync(folder);
      // The folder of another user is closed, or another window removed it.
      if (!["ENOENT", "EACCES", "EPERM"].includes(errno(error) ?? "")) throw error;
    }
  };
  try {
    await withFolders([dirname(path)], async (above) => {
      const mount = mountOf(above);
      enter(openBelow(above, path.slice(dirname(path).length + 1)));
      for (let last = opened.at(-1); last !== undefined; last = opened.at(-1)) {
        await pace();
        const name = last.names.pop();
        if (name === undefined) {
          opened.pop();
          last.lock();
          closeSync(last.folder);
          continue;
        }
        const stats = entryIn(last.folder, name);
        // Hard links of one file share its space.
        bytes += stats === null ? 0 : (stats.blocks * 512) / (stats.isDirectory() ? 1 : stats.nlink);
        if (stats?.isDirectory() !== true) continue;
        const folder = openBelow(last.folder, name);
        if (mountOf(folder) === mount) enter(folder);
        else closeSync(folder);
      }
    });
  } catch (error) {
    // Another window removes the folder, or folders are deeper than files may be open.
    if (!["ENOENT", "ENOTDIR", "EACCES", "EMFILE"].includes(errno(error) ?? "")) throw error;
  } finally {
    for (const { folder, lock } of opened.toReversed()) {
      lock();
      closeSync(folder);
    }
  }
  return Math.round(bytes);
}
