import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { LancelotError } from "../contract/errors.ts";

/** A piece of an export's text, and the number of items in it. */
export interface ExportPiece {
  text: string;
  count: number;
}

/**
 * Writes a file to `exports/` of the data folder, readable by its owner only, and yields to the event loop after each piece.
 * The file is renamed into place when complete; a cancelled or failed export leaves no file.
 * @param of.extension without its dot; `now` in milliseconds since 1970
 * @returns the file's name, number of items, bytes and SHA-256 in hex
 * @throws LancelotError `cancelled`; `unavailable` on a disk error; any error of `pieces`
 */
export async function writeExportFile(of: {
  dataDir: string;
  /** Prefix of the file name. */
  name: string;
  extension: string;
  now: () => number;
  pieces: AsyncIterable<ExportPiece> | Iterable<ExportPiece>;
  signal?: AbortSignal | undefined;
}): Promise<{ file: string; count: number; bytes: number; sha256: string }> {
  const folder = join(of.dataDir, "exports");
  const time = new Date(of.now()).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const file = `${of.name}-${time}-${randomBytes(3).toString("hex")}.${of.extension}`;
  const temporary = join(folder, `${file}.tmp`);
  const hash = createHash("sha256");
  let bytes = 0;
  let count = 0;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const handle = await open(temporary, "wx", 0o600);
    try {
      for await (const piece of of.pieces) {
        if (of.signal?.aborted === true) throw new LancelotError("cancelled", "The export was canceled, and its file was deleted.");
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
    await rename(temporary, join(folder, file));
    await syncFolder(folder);
  } catch (error) {
    // If this fails too, the original error is still the one to report.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw toUserExportError(error);
  }
  return { file, count, bytes, sha256: hash.digest("hex") };
}

/** Syncs a folder, so that a new file name survives a power failure. Does nothing where folders cannot be synced (Windows). */
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

function toUserExportError(error: unknown): unknown {
  if (error instanceof LancelotError) return error;
  const code = (error as NodeJS.ErrnoException).code;
  if (code === undefined) return error;
  const what =
    code === "ENOSPC"
      ? "The disk that holds Lancelot's data folder is full, so nothing was exported. Free some space and try again."
      : "The export could not be written. Check the permissions of the folder exports in Lancelot's data folder.";
  return new LancelotError("unavailable", what, { data: { reason: code }, cause: error });
}
