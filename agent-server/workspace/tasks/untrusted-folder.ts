import { closeSync, constants, type Dirent, fstatSync, lstatSync, openSync, opendirSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { itself } from "../descriptor-paths.ts";
import { errno } from "../file-errors.ts";

const folderFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);
/** A pipe in place of a file must not block. */
const fileFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const chunkBytes = 256 * 1024;

export interface UntrustedEntry {
  readonly name: string;
  /** `other`: a link, pipe, socket or device; a deleted entry of an overlay is a device. */
  readonly kind: "file" | "folder" | "other";
}

/**
 * A folder that a command may still be changing. No link is followed, in it or above its entries, and everything is bounded: on Linux each
 * folder stays open, and its entries are opened relative to it, so that a folder replaced by a link in the meantime leads nowhere.
 */
export interface UntrustedFolder {
  /** Sorted; names that are not valid UTF-8 are omitted. @throws LancelotError `too_large` for more than `max` entries. */
  entries(max: number): UntrustedEntry[];
  kind(name: string): UntrustedEntry["kind"] | null;
  /** Runs work in an inner folder; null when there is none. */
  within<T>(name: string, work: (inner: UntrustedFolder) => Promise<T>): Promise<T | null>;
  /** The content of a regular file; null when there is none. @throws LancelotError `too_large`. */
  read(name: string, maxBytes: number): Buffer | null;
  /** Copies a regular file to a new one and returns its size in bytes; null when there is none. @throws LancelotError `too_large`. */
  copy(name: string, to: string, maxBytes: number): number | null;
}

/** @returns null when there is no folder at `path`. */
export async function inUntrustedFolder<T>(path: string, work: (folder: UntrustedFolder) => Promise<T>): Promise<T | null> {
  const descriptor = open(path, folderFlags);
  if (descriptor === null) return null;
  try {
    if (!fstatSync(descriptor).isDirectory()) return null;
    return await work(folderAt(process.platform === "linux" ? itself(descriptor) : path));
  } finally {
    closeSync(descriptor);
  }
}

function folderAt(place: string): UntrustedFolder {
  const at = (name: string): string => {
    if (name === "" || name === "." || name === ".." || /[/\\\0]/.test(name)) throw new Error("Not the name of an entry.");
    return join(place, name);
  };

  function withFile<T>(name: string, work: (descriptor: number) => T): T | null {
    const descriptor = open(at(name), fileFlags);
    if (descriptor === null) return null;
    try {
      return fstatSync(descriptor).isFile() ? work(descriptor) : null;
    } finally {
      closeSync(descriptor);
    }
  }

  return {
    entries(max) {
      const found: UntrustedEntry[] = [];
      const folder = opendirSync(`${place}/.`);
      try {
        let seen = 0;
        for (let entry: Dirent | null = folder.readSync(); entry !== null; entry = folder.readSync()) {
          seen += 1;
          if (seen > max) throw tooLarge();
          if (entry.name.includes("\ufffd") || entry.name.includes("\\")) continue;
          found.push({ name: entry.name, kind: entry.isFile() ? "file" : entry.isDirectory() ? "folder" : "other" });
        }
      } finally {
        folder.closeSync();
      }
      return found.sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    kind(name) {
      const stats = lstatSync(at(name), { throwIfNoEntry: false });
      if (stats === undefined) return null;
      return stats.isFile() ? "file" : stats.isDirectory() ? "folder" : "other";
    },
    within: (name, work) => inUntrustedFolder(at(name), work),
    read: (name, maxBytes) =>
      withFile(name, (descriptor) => {
        const chunks: Buffer[] = [];
        eachChunk(descriptor, maxBytes, (chunk) => chunks.push(Buffer.from(chunk)));
        return Buffer.concat(chunks);
      }),
    copy: (name, to, maxBytes) =>
      withFile(name, (descriptor) => {
        const target = openSync(to, "wx", 0o600);
        try {
          return eachChunk(descriptor, maxBytes, (chunk) => {
            for (let done = 0; done < chunk.length; ) done += writeSync(target, chunk, done);
          });
        } finally {
          closeSync(target);
        }
      }),
  };
}

/** Reads to the end, whatever size was announced, because the file may grow meanwhile. */
function eachChunk(descriptor: number, maxBytes: number, use: (chunk: Buffer) => void): number {
  const buffer = Buffer.allocUnsafe(chunkBytes);
  let bytes = 0;
  for (;;) {
    const length = readSync(descriptor, buffer, 0, buffer.length, null);
    if (length === 0) return bytes;
    bytes += length;
    if (bytes > maxBytes) throw tooLarge();
    use(buffer.subarray(0, length));
  }
}

function open(path: string, flags: number): number | null {
  try {
    return openSync(path, flags);
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP", "EMLINK", "ENXIO", "ENODEV", "ENAMETOOLONG"].includes(errno(error) ?? "")) return null;
    throw new LancelotError("unavailable", "The task's copy of the repository cannot be read. Its commits were not imported.", {
      cause: error,
    });
  }
}

function tooLarge(): LancelotError {
  return new LancelotError("too_large", "The task's copy of the repository is larger than the limit. Its commits were not imported.");
}
