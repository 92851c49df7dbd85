import { randomUUID } from "node:crypto";
import type { Storage } from "../../storage/storage.ts";
import { type CheckpointFile, columns, type FileRow, toFile } from "./checkpoints.ts";
import type { EntryKind, FileImage } from "./file-image.ts";
import type { FilePath } from "../file-operations.ts";

/** A file that a command changed, as its checkpoint stores it. */
export interface CommandFile {
  readonly path: FilePath;
  readonly before: FileImage;
  readonly after: FileImage;
  /** Size before the command in bytes; 0 when it did not exist. */
  readonly size: number;
  readonly lost: "unkept" | "shared" | null;
  /** Null when it did not exist before, or when its earlier hash is unknown. */
  readonly beforeKind: EntryKind | null;
}

export interface OpenCommand {
  readonly id: string;
  readonly questId: string | null;
  readonly receiptId: string | null;
}

/** Checkpoints of commands: opened before a command runs, filled when its changes are known. */
export interface CommandCheckpointStore {
  /** Null while a live host has an open checkpoint in this workspace. */
  open(of: { questId: string | null; receiptId: string | null }): string | null;
  /** Takes over the checkpoints of hosts that died and abandoned ones of this host. `active`: checkpoints of commands that run here. */
  adopt(active: ReadonlySet<string>): OpenCommand[];
  /** Changes that other actions recorded since this checkpoint was opened, by absolute path, in order. */
  others(id: string): Map<string, CheckpointFile[]>;
  /** Records the changed files and closes the checkpoint. */
  fill(id: string, files: readonly CommandFile[]): void;
  /** Removes the checkpoint of a command that changed nothing. */
  discard(id: string): void;
}

export function createCommandCheckpointStore(deps: { storage: Storage; workspace: string; now: () => Date }): CommandCheckpointStore {
  const { storage, workspace, now } = deps;
  const { db } = storage;
  const insert = db.prepare(
    "INSERT INTO checkpoints (id, workspace, quest_id, receipt_id, host_id, created_at, kind) VALUES (?, ?, ?, ?, ?, ?, 'command')",
  );
  const openOnes = db.prepare<[string], { id: string; quest_id: string | null; receipt_id: string | null; host_id: string }>(
    "SELECT id, quest_id, receipt_id, host_id FROM checkpoints WHERE workspace = ? AND finished = 0 AND kind = 'command' ORDER BY seq",
  );
  const takeOver = db.prepare("UPDATE checkpoints SET host_id = ? WHERE id = ? AND host_id = ? AND finished = 0");
  const otherFiles = db.prepare<[string, string], FileRow>(
    `SELECT f.* FROM checkpoint_files f JOIN checkpoints c ON c.id = f.checkpoint_id
     WHERE c.workspace = ? AND c.kind <> 'command' AND c.seq > (SELECT seq FROM checkpoints WHERE id = ?) ORDER BY c.seq, f.position`,
  );
  const insertFile = db.prepare(
    `INSERT INTO checkpoint_files (checkpoint_id, position, absolute, path, before_hash, before_mode, before_size, before_kind,
       after_hash, after_mode, after_kind, touched, lost)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)`,
  );
  const close = db.prepare("UPDATE checkpoints SET finished = 1 WHERE id = ?");
  const remove = db.prepare("DELETE FROM checkpoints WHERE id = ? AND finished = 0");

  return {
    open: ({ questId, receiptId }) =>
      storage.transaction(() => {
        if (openOnes.all(workspace).some(({ host_id: host }) => host !== storage.hostId && storage.hostAlive(host))) return null;
        const id = randomUUID();
        insert.run(id, workspace, questId, receiptId, storage.hostId, now().toISOString());
        return id;
      }),

    adopt: (active) =>
      storage.transaction(() =>
        openOnes.all(workspace).flatMap(({ id, quest_id: questId, receipt_id: receiptId, host_id: host }) => {
          const mine = host === storage.hostId;
          if (mine ? active.has(id) : storage.hostAlive(host)) return [];
          return takeOver.run(storage.hostId, id, host).changes === 1 ? [{ id, questId, receiptId }] : [];
        }),
      ),

    others: (id) =>
      Map.groupBy(
        otherFiles.all(workspace, id).map((row) => toFile(row)),
        (file) => file.path.absolute,
      ),

    fill(id, files) {
      storage.transaction(() => {
        for (const [position, { path, before, after, size, lost, beforeKind }] of files.entries()) {
          const from = [...columns(before), size, beforeKind];
          const to = [...columns(after), after?.kind ?? null, lost === null ? 0 : lost === "unkept" ? 1 : 2];
          insertFile.run(id, position, path.absolute, path.display, ...from, ...to);
        }
        close.run(id);
      });
    },

    discard(id) {
      remove.run(id);
    },
  };
}
