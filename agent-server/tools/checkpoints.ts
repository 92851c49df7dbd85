import { randomUUID } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Checkpoint } from "../contract/changes.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Storage } from "../storage/storage.ts";
import type { ObjectStore } from "./checkpoints-objects.ts";
import { type FilePath, openForReading, statPath, temporaryName } from "./providers/file-ops.ts";

/** State of a file at one moment: the hash its bytes are stored under and its permission bits; null when it was not there. */
export type FileImage = { readonly hash: string; readonly mode: number } | null;

/** A file an effect may change. `planned` is what it is about to become (null: gone), where that is known before. */
export interface Touch {
  readonly path: FilePath;
  readonly planned?: Buffer | null;
  /** Permission bits it is about to have; those it has (of a new file: whatever the system gives) unless said. */
  readonly plannedMode?: number;
}

/** One file of a checkpoint. `after` is undefined when the effect never told what it left: its host died. */
export interface CheckpointFile {
  readonly path: FilePath;
  readonly before: FileImage;
  readonly after: FileImage | undefined;
  /** What the effect was about to leave; undefined when it did not say. */
  readonly planned: FileImage | undefined;
}

/** Before-images of what an effect may change, kept so that it can be undone exactly. */
export interface Checkpoints {
  /** Stores the files as they are; durable when it returns. */
  take(of: { questId: string | null; receiptId: string | null; touches: readonly Touch[] }): Promise<string>;
  /** Stores what the effect left in a file, and says what that is. */
  finishFile(checkpointId: string, path: FilePath): Promise<FileImage>;
  finish(checkpointId: string): void;
  list(filter: { questId?: string; limit: number }): Checkpoint[];
  /** Files of a checkpoint, or of every checkpoint of a quest, in the order they were taken. @throws LancelotError `not_found`. */
  files(of: { id: string } | { questId: string }): CheckpointFile[];
  /** Receipts of the actions a checkpoint, or every checkpoint of a quest, was taken for. */
  receipts(of: { id: string } | { questId: string }): string[];
  /** True when a checkpoint taken after this one holds the file: an action of ours came later and may have changed it. */
  touchedLater(checkpointId: string, path: FilePath): boolean;
  /** Removes what a host that died while it wrote left beside files. */
  sweep(): void;
}

interface CheckpointRow {
  id: string;
  quest_id: string | null;
  receipt_id: string | null;
  host_id: string;
  created_at: string;
}

interface FileRow {
  absolute: string;
  path: string;
  before_hash: string | null;
  before_mode: number | null;
  before_size: number;
  planned: number;
  planned_hash: string | null;
  after_hash: string | null;
  after_mode: number | null;
  touched: number;
}

export function createCheckpoints(deps: { storage: Storage; objects: ObjectStore; workspace: string; now: () => Date }): Checkpoints {
  const { storage, objects, workspace } = deps;
  const { db } = storage;
  const insert = db.prepare("INSERT INTO checkpoints (id, workspace, quest_id, receipt_id, host_id, created_at) VALUES (?, ?, ?, ?, ?, ?)");
  const insertFile = db.prepare(
    `INSERT INTO checkpoint_files (checkpoint_id, position, absolute, path, before_hash, before_mode, before_size, planned, planned_hash)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const updateFile = db.prepare(
    "UPDATE checkpoint_files SET after_hash = ?, after_mode = ?, touched = 1 WHERE checkpoint_id = ? AND absolute = ?",
  );
  const close = db.prepare("UPDATE checkpoints SET finished = 1 WHERE id = ?");
  const listAll = db.prepare("SELECT * FROM checkpoints WHERE workspace = ? ORDER BY seq DESC LIMIT ?");
  const listQuest = db.prepare("SELECT * FROM checkpoints WHERE workspace = ? AND quest_id = ? ORDER BY seq DESC LIMIT ?");
  const one = db.prepare("SELECT * FROM checkpoints WHERE workspace = ? AND id = ?");
  const filesOf = db.prepare("SELECT * FROM checkpoint_files WHERE checkpoint_id = ? ORDER BY position");
  const filesOfQuest = db.prepare(
    `SELECT f.* FROM checkpoint_files f JOIN checkpoints c ON c.id = f.checkpoint_id
     WHERE c.workspace = ? AND c.quest_id = ? ORDER BY c.seq, f.position`,
  );
  const receiptsOf = db.prepare("SELECT receipt_id FROM checkpoints WHERE workspace = ? AND id = ? AND receipt_id IS NOT NULL");
  const receiptsOfQuest = db.prepare(
    "SELECT receipt_id FROM checkpoints WHERE workspace = ? AND quest_id = ? AND receipt_id IS NOT NULL ORDER BY seq",
  );
  const later = db.prepare(
    `SELECT 1 FROM checkpoint_files f JOIN checkpoints c ON c.id = f.checkpoint_id
     WHERE f.absolute = ? AND c.seq > (SELECT seq FROM checkpoints WHERE id = ?) LIMIT 1`,
  );
  const unfinished = db.prepare(
    `SELECT DISTINCT c.id, c.host_id, f.absolute FROM checkpoints c JOIN checkpoint_files f ON f.checkpoint_id = c.id
     WHERE c.workspace = ? AND c.finished = 0`,
  );

  async function image(path: FilePath): Promise<{ image: FileImage; size: number }> {
    if ((await statPath(path)) === null) return { image: null, size: 0 };
    const { handle, stats } = await openForReading(path);
    try {
      return { image: { hash: await objects.putFile(handle, stats.size), mode: stats.mode & 0o7777 }, size: stats.size };
    } finally {
      await handle.close();
    }
  }

  return {
    async take({ questId, receiptId, touches }) {
      const images = await Promise.all(
        touches.map(async ({ path, planned }) => ({
          path,
          before: await image(path),
          planned: planned === undefined ? 0 : 1,
          plannedHash: planned === undefined || planned === null ? null : await objects.put(planned),
        })),
      );
      const id = randomUUID();
      storage.transaction(() => {
        insert.run(id, workspace, questId, receiptId, storage.hostId, deps.now().toISOString());
        images.forEach(({ path, before, planned, plannedHash }, position) => {
          const { image, size } = before;
          insertFile.run(id, position, path.absolute, path.display, image?.hash ?? null, image?.mode ?? null, size, planned, plannedHash);
        });
      });
      return id;
    },

    async finishFile(checkpointId, path) {
      const { image: after } = await image(path);
      updateFile.run(after?.hash ?? null, after?.mode ?? null, checkpointId, path.absolute);
      return after;
    },

    finish(checkpointId) {
      close.run(checkpointId);
    },

    list({ questId, limit }) {
      const rows = (questId === undefined ? listAll.all(workspace, limit) : listQuest.all(workspace, questId, limit)) as CheckpointRow[];
      return rows.map((row) => ({
        id: row.id,
        questId: row.quest_id,
        receiptId: row.receipt_id,
        createdAt: row.created_at,
        files: (filesOf.all(row.id) as FileRow[]).map((file) => ({
          path: file.path,
          existed: file.before_hash !== null,
          size: file.before_size,
        })),
      }));
    },

    files(of) {
      if ("id" in of && one.get(workspace, of.id) === undefined) {
        throw new LancelotError("not_found", "There is no such checkpoint in this workspace.");
      }
      const rows = ("id" in of ? filesOf.all(of.id) : filesOfQuest.all(workspace, of.questId)) as FileRow[];
      return rows.map((row) => ({
        path: { absolute: row.absolute, display: row.path },
        before: toImage(row.before_hash, row.before_mode),
        after: row.touched === 1 ? toImage(row.after_hash, row.after_mode) : undefined,
        planned: row.planned === 1 ? toImage(row.planned_hash, row.before_mode) : undefined,
      }));
    },

    receipts(of) {
      const rows = "id" in of ? receiptsOf.all(workspace, of.id) : receiptsOfQuest.all(workspace, of.questId);
      return (rows as { receipt_id: string }[]).map((row) => row.receipt_id);
    },

    touchedLater: (checkpointId, path) => later.get(path.absolute, checkpointId) !== undefined,

    sweep() {
      const rows = unfinished.all(workspace) as { id: string; host_id: string; absolute: string }[];
      for (const row of rows) {
        if (storage.hostAlive(row.host_id)) continue;
        removeTemporaries(dirname(row.absolute));
        close.run(row.id);
      }
    },
  };
}

function toImage(hash: string | null, mode: number | null): FileImage {
  return hash === null ? null : { hash, mode: mode ?? 0o644 };
}

function removeTemporaries(folder: string): void {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    // The folder is gone, and what was in it.
    return;
  }
  for (const name of names) if (temporaryName.test(name)) rmSync(join(folder, name), { force: true });
}
