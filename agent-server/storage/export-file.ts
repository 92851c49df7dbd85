import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { LancelotError } from "../contract/errors.ts";

/** Text of an exported file, and how many of what is counted are in it. */
export interface ExportPiece {
  text: string;
  count: number;
}

/**
 * Writes a file to `exports/` of the data folder, readable by its owner only, piece by piece with a turn of the event loop after each.
 * It has its name when it is whole; one that is cancelled or fails leaves nothing.
 * @param of.extension without its dot; `now` in milliseconds since 1970
 * @returns the file's name, what was counted, its bytes and its SHA-256 in hex
 * @throws LancelotError `cancelled`; `unavailable` when the disk refuses; what `pieces` throws
 */
export async function writeExportFile(of: {
  dataDir: string;
  /** Start of the file's name. */
  name: string;
  extension: string;
  now: () => number;
  pieces: AsyncIterable<ExportPiece> | Iterable<ExportPiece>;
  signal?: AbortSignal | undefined;
}): Promise<{ file: string; count: number; bytes: number; sha256: string }> {
  const folder = join(of.dataDir, "exports");
  const time = new Date(of.now()).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const file = `${of.name}-${time}-${randomBytes(3).toString("hex")}.${of.extension}`;
  const beside = join(folder, `${file}.tmp`);
  const hash = createHash("sha256");
  let bytes = 0;
  let count = 0;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const handle = await open(beside, "wx", 0o600);
    try {
      for await (const piece of of.pieces) {
        if (of.signal?.aborted === true) throw new LancelotError("cancelled", "The export was stopped; nothing of it was kept.");
        const data = Buffer.from(piece.text, "utf8");
        hash.update(data);
        bytes += data.length;
        count += piece.count;
        await handle.writeFile(data);
        await setImmediate();
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(beside, join(folder, file));
    await syncFolder(folder);
  } catch (error) {
    // Where even this fails there is nothing to remove.
    await rm(beside, { force: true }).catch(() => undefined);
    throw wordExportError(error);
  }
  return { file, count, bytes, sha256: hash.digest("hex") };
}

/** So that the name survives a power cut too; where folders cannot be synced (Windows) the system sees to it. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (!["EISDIR", "EPERM", "EACCES", "EINVAL"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

function wordExportError(error: unknown): unknown {
  if (error instanceof LancelotError) return error;
  const code = (error as NodeJS.ErrnoException).code;
  if (code === undefined) return error;
  const what =
    code === "ENOSPC"
      ? "The disk that holds Lancelot's data folder is full, so nothing was exported. Free some space and try again."
      : "The export could not be written. Check the permissions of the folder exports in Lancelot's data folder.";
  return new LancelotError("unavailable", what, { data: { reason: code }, cause: error });
}
