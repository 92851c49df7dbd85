import { mkdir, statfs } from "node:fs/promises";
import { LancelotError } from "../../contract/errors.ts";
import { gigabytes } from "./machine.ts";

/** Free bytes on the disk of a folder. */
export async function freeBytes(folder: string): Promise<number> {
  await mkdir(folder, { recursive: true });
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** @param missing bytes still to be downloaded */
export function diskFull(missing: number, cause?: unknown): LancelotError {
  const next = `Free ${gigabytes(Math.max(missing, 100_000_000))} and download it again. The download resumes where it stopped.`;
  return new LancelotError("unavailable", `The disk is full. ${next}`, { data: { next, reason: "disk_full" }, cause });
}

/** The user's error for a file system error; undefined for any other error. */
export function diskError(error: unknown, missing: number): LancelotError | undefined {
  const code = codeOf(error) ?? (error instanceof Error ? codeOf(error.cause) : undefined);
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return diskFull(missing, error);
    case "EACCES":
    case "EPERM":
    case "EROFS": {
      const next = "Check the permissions of Lancelot's data folder, then download it again.";
      return new LancelotError("unavailable", `The data folder cannot be written (${code}). ${next}`, { data: { next }, cause: error });
    }
    case "EBUSY":
    case "ENOTEMPTY": {
      const next = "Close Lancelot's other windows and try again.";
      return new LancelotError("unavailable", `A file of the local model is in use. ${next}`, { data: { next }, cause: error });
    }
    case "EIO": {
      const next = "Check the disk.";
      return new LancelotError("unavailable", `The disk reports an error (${code}). ${next}`, { data: { next }, cause: error });
    }
    case undefined:
    default:
      return undefined;
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
