import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, type Stats } from "node:fs";
import { createPace, isRacy } from "../effects/tree-walk.ts";
import { fromBytes } from "../byte-path.ts";
import { at } from "../descriptor-paths.ts";
import { errno } from "../file-errors.ts";
import { temporaryName } from "../file-operations.ts";
import { entryIn, namesIn, openBelow, openIfFolder, permissionBits, withFolders } from "./folder-descriptors.ts";

/** An entry of an open view, for a copy of it. */
export interface ViewFile {
  readonly kind: "file" | "link" | "folder";
  /** Permission bits. */
  readonly mode: number;
  /** string of a file; 0 otherwise. */
  readonly size: number;
  /** Modification time in seconds. */
  readonly mtime: number;
  /** Differs after each change. */
  readonly stamp: string;
  /** A change at this moment might leave the same stamp. */
  readonly isRacy: boolean;
  readonly target: string;
}

/** Entries by their paths below the view (byte-path.ts); folders before their content. */
export type ViewFiles = Map<string, ViewFile>;

/** An entry whose place in the copy is judged. */
export interface ViewPath {
  readonly path: string;
  readonly isFolder: boolean;
}

const fileFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const chunkBytes = 256 * 1024;

/** Entries that are judged together: git is started for each batch. */
const judgedAtOnce = 2_000;

/**
 * Lists the entries of an open view. Pipes, sockets and devices are left out.
 * @param leftOut which of some entries are left out, with all that is in them @param isClosed folders that are not entered
 */
export async function listViewFiles(
  merged: string,
  { leftOut, isClosed }: { leftOut: (entries: readonly ViewPath[]) => Promise<ReadonlySet<string>>; isClosed: (path: string) => boolean },
): Promise<ViewFiles> {
  const pace = createPace();
  const found: ViewFiles = new Map();
  await withFolders([merged], async (root) => {
    for (let folders: string[] = [""]; folders.length > 0; ) {
      const batch: ViewFiles = new Map();
      while (folders.length > 0 && batch.size < judgedAtOnce) {
        const level: ViewFiles = new Map();
        for (const folder of folders) await readFolder(root, folder, level, pace);
        for (const [path, file] of level) batch.set(path, file);
        folders = [...level].filter(([path, { kind }]) => kind === "folder" && !isClosed(path)).map(([path]) => path);
      }
      const without = new Set(await leftOut([...batch].map(([path, { kind }]) => ({ path, isFolder: kind === "folder" }))));
      for (const [path, file] of batch) {
        if (without.has(path) || without.has(folderOf(path))) without.add(path);
        else found.set(path, file);
      }
      folders = folders.filter((path) => !without.has(path));
    }
  });
  return found;
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

async function readFolder(root: number, path: string, into: ViewFiles, pace: () => Promise<void> | undefined): Promise<void> {
  const folder = openIfFolder(root, path);
  if (folder === null) return;
  try {
    for (const name of namesIn(folder)) {
      await pace();
      if (temporaryName.test(name)) continue;
      const stats = entryIn(folder, name);
      const file = stats === null ? null : toViewFile(folder, name, stats);
      if (file !== null) into.set(path === "" ? name : `${path}/${name}`, file);
    }
  } catch (error) {
    // Closed to this user, or removed meanwhile.
    if (!["EACCES", "ENOENT"].includes(errno(error) ?? "")) throw error;
  } finally {
    closeSync(folder);
  }
}

/** The entry at a path of an open view; null where it has none that can be copied. */
export async function statViewFile(merged: string, path: string): Promise<ViewFile | null> {
  const slash = path.lastIndexOf("/");
  return withFolders([merged], (root) => {
    const folder = openIfFolder(root, path.slice(0, Math.max(0, slash)));
    if (folder === null) return Promise.resolve(null);
    try {
      const name = path.slice(slash + 1);
      const stats = entryIn(folder, name);
      return Promise.resolve(stats === null ? null : toViewFile(folder, name, stats));
    } finally {
      closeSync(folder);
    }
  });
}

function toViewFile(folder: number, name: string, stats: Stats): ViewFile | null {
  const kind = stats.isFile() ? "file" : stats.isSymbolicLink() ? "link" : stats.isDirectory() ? "folder" : null;
  if (kind === null) return null;
  const size = kind === "file" ? stats.size : 0;
  return {
    ...{ kind, size },
    mode: stats.mode & permissionBits,
    mtime: Math.floor(stats.mtimeMs / 1000),
    stamp: [kind, stats.mode, size, stats.mtimeMs, stats.ctimeMs].join(":"),
    isRacy: isRacy(stats, Date.now()),
    target: kind === "link" ? fromBytes(readlinkSync(at(folder, name), { encoding: "buffer" })) : "",
  };
}

/**
 * Reads exactly `size` bytes of a file in an open view, with zeros in place of bytes that were cut off meanwhile.
 * @returns null for a file that cannot be read
 */
export async function readViewFile(merged: string, path: string, size: number): Promise<AsyncGenerator<Buffer> | null> {
  const slash = path.lastIndexOf("/");
  const opened = await withFolders([merged], (root) => {
    try {
      const folder = openBelow(root, path.slice(0, Math.max(0, slash)));
      try {
        return Promise.resolve(openSync(at(folder, path.slice(slash + 1)), fileFlags));
      } finally {
        closeSync(folder);
      }
    } catch (error) {
      if (errno(error) === null) throw error;
      return Promise.resolve(null);
    }
  });
  if (opened === null) return null;
  if (!fstatSync(opened).isFile()) {
    closeSync(opened);
    return null;
  }
  return chunksOf(opened, size);
}

async function* chunksOf(file: number, size: number): AsyncGenerator<Buffer> {
  const pace = createPace();
  try {
    for (let left = size; left > 0; ) {
      await pace();
      const chunk = Buffer.alloc(Math.min(left, chunkBytes));
      const length = readSync(file, chunk, 0, chunk.length, null);
      yield length === 0 ? chunk : chunk.subarray(0, length);
      left -= length === 0 ? chunk.length : length;
    }
  } finally {
    closeSync(file);
  }
}
