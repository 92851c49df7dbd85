import { type FileImage, isSpecial } from "./file-image.ts";
import { randomUUID } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Checkpoint, RestoreOf } from "../../contract/changes.ts";
import { LancelotError } from "../../contract/errors.ts";
import { diskPath } from "../byte-path.ts";
import type { Storage } from "../../storage/storage.ts";
import type { ObjectStore } from "./object-store.ts";
import { storeEntry } from "./checkpoint-entries.ts";
import { type FilePath, temporaryName } from "../file-operations.ts";

/** A file an effect may change. `planned` is the intended content, when known in advance (null: deleted). */
export interface Touch {
  readonly path: FilePath;
  readonly planned?: Buffer | null;
  /** Intended permission bits. By default the current ones; for a new file, the system's default. */
  readonly plannedMode?: number;
  /**
   * Replaces `planned`: content that is already in the object store, or an entry that is not a file. The path may then be a link or a
   * folder.
   */
  readonly plannedImage?: FileImage;
}

/** One file of a checkpoint. `after` is undefined when the host died before it recorded the result. */
export interface CheckpointFile {
  readonly path: FilePath;
  readonly before: FileImage;
  readonly after: FileImage | undefined;
  /** The intended state; undefined when the effect did not declare one. */
  readonly planned: FileImage | undefined;
  /** Why it cannot be undone: its content was not kept, or two actions changed it concurrently. Null when it can be undone. */
  readonly lost: "unkept" | "shared" | null;
}

/** `restore`: the next host completes it when this host dies. */
export type CheckpointKind = "action" | "restore" | "command";

/** Before-images of files that effects may change, stored so that each effect can be undone exactly. */
export interface Checkpoints {
  /** Stores the current state of the files; durable when it returns. */
  take(of: { questId: string | null; receiptId: string | null; touches: readonly Touch[]; kind?: "action" | "restore" }): Promise<string>;
  /** Stores the resulting state of the files and returns it in the same order. */
  finishFiles(checkpointId: string, paths: readonly FilePath[]): Promise<FileImage[]>;
  finish(checkpointId: string): void;
  list(filter: { questId?: string; limit: number }): Checkpoint[];
  /** Files of a checkpoint, or of every checkpoint of a quest, in the order they were recorded. @throws LancelotError `not_found`. */
  files(of: RestoreOf): CheckpointFile[];
  /** The quest a checkpoint belongs to; null when there is none, or no such checkpoint. */
  questOf(id: string): string | null;
  /** Receipts of the actions behind a checkpoint, or behind every checkpoint of a quest. */
  receipts(of: RestoreOf): string[];
  /** True when a later checkpoint contains the file: a later action may have changed it. */
  touchedLater(checkpointId: string, path: FilePath): boolean;
  /** Takes over interrupted restores of hosts that died. */
  adopt(): { id: string; questId: string | null; receiptId: string | null }[];
  /** Number of these checkpoints that were removed to free space, and the time of the last removal; null when none. */
  dropped(of: RestoreOf): { count: number; at: string } | null;
  /** Removes temporary files of hosts that died during a write. */
  sweep(): SweptAction[];
}

/** An action whose host died before it recorded the result. */
export interface SweptAction {
  readonly id: string;
  readonly questId: string | null;
  readonly receiptId: string | null;
}

interface CheckpointRow {
  id: string;
  quest_id: string | null;
  receipt_id: string | null;
  host_id: string;
  created_at: string;
}

export interface FileRow {
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
  before_kind: string | null;
  planned_kind: string | null;
  planned_mode: number | null;
  after_kind: string | null;
  lost: number;
}

export function createCheckpoints(deps: { storage: Storage; objects: ObjectStore; workspace: string; now: () => Date }): Checkpoints {
  const { storage, objects, workspace } = deps;
  const { db } = storage;
  const insert = db.prepare(
    "INSERT INTO checkpoints (id, workspace, quest_id, receipt_id, host_id, created_at, kind) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const insertFile = db.prepare(
    `INSERT INTO checkpoint_files (checkpoint_id, position, absolute, path, before_hash, before_mode, before_size, before_kind,
       planned, planned_hash, planned_mode, planned_kind)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const updateFile = db.prepare(
    "UPDATE checkpoint_files SET after_hash = ?, after_mode = ?, after_kind = ?, touched = 1 WHERE checkpoint_id = ? AND absolute = ?",
  );
  const plannedImages = db.prepare(
    `SELECT 1 FROM checkpoint_files f JOIN checkpoints c ON c.id = f.checkpoint_id WHERE f.checkpoint_id = ? AND f.absolute = ?
     AND (c.kind <> 'action' OR f.planned = 1 AND f.planned_mode IS NOT NULL OR f.before_kind IS NOT NULL)`,
  );
  const close = db.prepare("UPDATE checkpoints SET finished = 1 WHERE id = ?");
  const listAll = db.prepare("SELECT * FROM checkpoints WHERE workspace = ? AND dropped_at IS NULL ORDER BY seq DESC LIMIT ?");
  const listQuest = db.prepare(
    "SELECT * FROM checkpoints WHERE workspace = ? AND quest_id = ? AND dropped_at IS NULL ORDER BY seq DESC LIMIT ?",
  );
  const one = db.prepare("SELECT * FROM checkpoints WHERE workspace = ? AND id = ?");
  const filesOf = db.prepare("SELECT * FROM checkpoint_files WHERE checkpoint_id = ? ORDER BY position");
  const firstFilesOf = db.prepare("SELECT * FROM checkpoint_files WHERE checkpoint_id = ? ORDER BY position LIMIT ?");
  const countOf = db.prepare("SELECT count(*) AS total FROM checkpoint_files WHERE checkpoint_id = ?");
  const filesOfQuest = db.prepare(
    `SELECT f.* FROM checkpoint_files f JOIN checkpoints c ON c.id = f.checkpoint_id
     WHERE c.workspace = ? AND c.quest_id = ? AND c.created_at >= ? ORDER BY c.seq, f.position`,
  );
  const receiptsOf = db.prepare("SELECT receipt_id FROM checkpoints WHERE workspace = ? AND id = ? AND receipt_id IS NOT NULL");
  const receiptsOfQuest = db.prepare(
    "SELECT receipt_id FROM checkpoints WHERE workspace = ? AND quest_id = ? AND created_at >= ? AND receipt_id IS NOT NULL ORDER BY seq",
  );
  const later = db.prepare(
    `SELECT 1 FROM checkpoint_files f JOIN checkpoints c ON c.id = f.checkpoint_id
     WHERE f.absolute = ? AND c.seq > (SELECT seq FROM checkpoints WHERE id = ?) LIMIT 1`,
  );
  const unfinished = db.prepare(
    `SELECT DISTINCT c.id, c.host_id, c.quest_id, c.receipt_id, c.kind, f.absolute FROM checkpoints c JOIN checkpoint_files f ON f.checkpoint_id = c.id
     WHERE c.workspace = ? AND c.finished = 0 AND c.kind <> 'command'`,
  );
  const openRestores = db.prepare<[string], { id: string; quest_id: string | null; receipt_id: string | null; host_id: string }>(
    "SELECT id, quest_id, receipt_id, host_id FROM checkpoints WHERE workspace = ? AND finished = 0 AND kind = 'restore' ORDER BY seq",
  );
  const takeOver = db.prepare("UPDATE checkpoints SET host_id = ? WHERE id = ? AND host_id = ? AND finished = 0");
  const droppedOf = db.prepare<[string, string | null, string | null, string], { count: number; at: string | null }>(
    `SELECT count(*) AS count, max(dropped_at) AS at FROM checkpoints
     WHERE workspace = ? AND dropped_at IS NOT NULL AND (id = ? OR quest_id = ? AND created_at >= ?)`,
  );

  async function plannedOf({ planned, plannedImage, plannedMode }: Touch): Promise<FileImage | undefined> {
    if (plannedImage !== undefined || planned === undefined) return plannedImage;
    return planned === null ? null : { hash: await objects.put(planned), mode: plannedMode ?? 0 };
  }

  return {
    async take({ questId, receiptId, touches, kind = "action" }) {
      const images = await inBatches(touches, async (touch) => ({
        path: touch.path,
        before: await storeEntry(touch.path, objects, touch.plannedImage !== undefined),
        planned: await plannedOf(touch),
        plannedMode: touch.plannedImage?.mode ?? touch.plannedMode ?? null,
      }));
      const id = randomUUID();
      storage.transaction(() => {
        insert.run(id, workspace, questId, receiptId, storage.hostId, deps.now().toISOString(), kind);
        images.forEach(({ path, before, planned, plannedMode }, position) => {
          const { image, size } = before;
          const from = [...columns(image), size, image?.kind ?? null];
          const to = [planned === undefined ? 0 : 1, planned?.hash ?? null, plannedMode, planned?.kind ?? null];
          insertFile.run(id, position, path.absolute, path.display, ...from, ...to);
        });
      });
      return id;
    },

    async finishFiles(checkpointId, paths) {
      const left = await inBatches(paths, async (path) => {
        const anything = plannedImages.get(checkpointId, path.absolute) !== undefined;
        return (await storeEntry(path, objects, anything)).image;
      });
      storage.transaction(() => {
        for (const [at, path] of paths.entries()) {
          const after = left[at] ?? null;
          updateFile.run(...columns(after), after?.kind ?? null, checkpointId, path.absolute);
        }
      });
      return left;
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
        total: (countOf.get(row.id) as { total: number }).total,
        files: (firstFilesOf.all(row.id, maxListed) as FileRow[]).map((file) => ({
          path: file.path,
          existed: file.before_hash !== null || file.before_kind !== null,
          size: file.before_size,
        })),
      }));
    },

    files(of) {
      if ("id" in of && one.get(workspace, of.id) === undefined) {
        throw new LancelotError("not_found", "There is no such checkpoint in this workspace.");
      }
      const rows = ("id" in of ? filesOf.all(of.id) : filesOfQuest.all(workspace, of.questId, of.since ?? "")) as FileRow[];
      return rows.map(toFile);
    },

    questOf: (id) => (one.get(workspace, id) as CheckpointRow | undefined)?.quest_id ?? null,

    receipts(of) {
      const rows = "id" in of ? receiptsOf.all(workspace, of.id) : receiptsOfQuest.all(workspace, of.questId, of.since ?? "");
      return (rows as { receipt_id: string }[]).map((row) => row.receipt_id);
    },

    adopt: () =>
      openRestores.all(workspace).flatMap(({ id, quest_id: questId, receipt_id: receiptId, host_id: host }) => {
        if (host === storage.hostId || storage.hostAlive(host)) return [];
        return takeOver.run(storage.hostId, id, host).changes === 1 ? [{ id, questId, receiptId }] : [];
      }),

    dropped(of) {
      const [id, questId, since] = "id" in of ? [of.id, null, ""] : [null, of.questId, of.since ?? ""];
      const { count = 0, at = null } = droppedOf.get(workspace, id, questId, since) ?? {};
      return at === null ? null : { count, at };
    },

    touchedLater: (checkpointId, path) => later.get(path.absolute, checkpointId) !== undefined,

    sweep() {
      const rows = unfinished.all(workspace) as {
        id: string;
        host_id: string;
        quest_id: string | null;
        receipt_id: string | null;
        absolute: string;
        kind: CheckpointKind;
      }[];
      const swept = new Map<string, SweptAction>();
      for (const row of rows) {
        if (storage.hostAlive(row.host_id)) continue;
        removeTemporaries(dirname(row.absolute));
        // An interrupted restore is completed instead.
        if (row.kind !== "action") continue;
        close.run(row.id);
        swept.set(row.id, { id: row.id, questId: row.quest_id, receiptId: row.receipt_id });
      }
      return [...swept.values()];
    },
  };
}

/** Parses one checkpoint row. */
export function toFile(row: FileRow): CheckpointFile {
  return {
    path: { absolute: row.absolute, display: row.path },
    before: toImage(row.before_hash, row.before_mode, row.before_kind),
    after: row.touched === 1 ? toImage(row.after_hash, row.after_mode, row.after_kind) : undefined,
    planned: row.planned === 1 ? toImage(row.planned_hash, row.planned_mode ?? row.before_mode, row.planned_kind) : undefined,
    lost: row.lost === 0 ? null : row.lost === 1 ? "unkept" : "shared",
  };
}

/** Hash and mode of an image as column values. */
export function columns(image: FileImage): [hash: string | null, mode: number | null] {
  return [image === null || image.hash === "" ? null : image.hash, image?.mode ?? null];
}

function toImage(hash: string | null, mode: number | null, kind: string | null): FileImage {
  if (kind === "folder" || isSpecial(kind)) return { hash: "", mode: mode ?? 0o755, kind };
  if (hash === null) return null;
  return kind === "link" ? { hash, mode: mode ?? 0o777, kind } : { hash, mode: mode ?? 0o644 };
}

/** Files listed per checkpoint. */
const maxListed = 500;

/** Files processed concurrently, limited because each one is open during that time. */
const batch = 32;

async function inBatches<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += batch) results.push(...(await Promise.all(items.slice(at, at + batch).map(work))));
  return results;
}

function removeTemporaries(folder: string): void {
  let names: string[];
  try {
    names = readdirSync(diskPath(folder), { encoding: "utf8" });
  } catch {
    // The folder no longer exists, and neither do its temporary files.
    return;
  }
  for (const name of names) if (temporaryName.test(name)) rmSync(diskPath(join(folder, name)), { force: true });
}
