import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  futimesSync,
  lchownSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  type Stats,
  symlinkSync,
  unlinkSync,
  utimesSync,
} from "node:fs";
import { fromBytes } from "../byte-path.ts";
import { at, itself, pathOnly } from "../descriptor-paths.ts";
import { createPace } from "../effects/tree-walk.ts";
import { errno } from "../file-errors.ts";

// Reaches entries of hostile trees on Linux through the descriptor of their folder, so that no link is followed and no path is too long. Names
// and paths are text of any bytes (byte-path.ts).

const noFollow = constants.O_NOFOLLOW ?? 0;
/** Opens a folder only to reach what it contains. */
const folderFlags = pathOnly | (constants.O_DIRECTORY ?? 0) | noFollow;
export const permissionBits = 0o7777;

/** Opens a folder that is not part of a hostile tree. The caller closes it, as all that these functions open. */
export function openRoot(path: string): number {
  return openSync(path, folderFlags);
}

/**
 * Opens the folder at a path below an open one, one name after the other. Throws ENOTDIR when a link, file or pipe is on the way.
 * @param prepare is called before each folder is opened, with the open one above it; false ends the way
 */
export function openBelow(root: number, path: string): number;
export function openBelow(root: number, path: string, prepare: (above: number, name: string) => boolean): number | null;
export function openBelow(root: number, path: string, prepare?: (above: number, name: string) => boolean): number | null {
  let folder = openSync(at(root, "."), folderFlags);
  for (const name of path.split("/").filter((part) => part !== "")) {
    const above = folder;
    try {
      if (prepare?.(above, name) === false) return null;
      folder = openSync(at(above, name), folderFlags);
    } finally {
      closeSync(above);
    }
  }
  return folder;
}

/** The same; null when there is no folder at this path. */
export function openIfFolder(root: number, path: string): number | null {
  try {
    return openBelow(root, path);
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes(errno(error) ?? "")) return null;
    throw error;
  }
}

/** Opens the roots for the time of `work`. */
export async function withFolders<T>(paths: readonly string[], work: (...folders: number[]) => Promise<T>): Promise<T> {
  const opened: number[] = [];
  try {
    for (const path of paths) opened.push(openRoot(path));
    return await work(...opened);
  } finally {
    for (const folder of opened) closeSync(folder);
  }
}

/** Status of an entry itself; null when it does not exist. */
export function entryIn(folder: number, name: string): Stats | null {
  return lstatSync(at(folder, name), { throwIfNoEntry: false }) ?? null;
}

/** Names in an open folder, sorted. A folder that its owner may not read is opened for that moment. */
export function namesIn(folder: number): string[] {
  const list = (): string[] => readdirSync(itself(folder), { encoding: "buffer" }).map(fromBytes).sort();
  try {
    return list();
  } catch (error) {
    if (errno(error) !== "EACCES") throw error;
  }
  return withMode(folder, 0o700, list);
}

/** Gives the owner these additional permissions on the open folder. @returns a function that removes them again */
export function unlock(folder: number, bits: number): () => void {
  const mode = fstatSync(folder).mode & permissionBits;
  if ((mode & bits) === bits || process.getuid?.() === 0) return () => undefined;
  chmodSync(itself(folder), mode | bits);
  return () => chmodSync(itself(folder), mode);
}

/** Does `work` while the owner has these additional permissions on the open folder. */
export function withMode<T>(folder: number, bits: number, work: () => T): T {
  const lock = unlock(folder, bits);
  try {
    return work();
  } finally {
    lock();
  }
}

/** Identifies the mount that an open folder belongs to: renaming works within one, and no tree is removed across several. */
export function mountOf(folder: number): string {
  return /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${folder}`, "latin1"))?.[1] ?? "";
}

export function isFolder(stats: Stats | null): boolean {
  return stats?.isDirectory() === true;
}

/** True for the mark of a deleted entry in an upper layer. */
export function isDeletionMark(stats: Stats | null): boolean {
  return stats?.isCharacterDevice() === true && stats.rdev === 0;
}

export interface RemoveOptions {
  /** Gets each failure: entries of another user, mount points. By default the first one is thrown. */
  readonly onFailure?: (error: unknown) => void;
  /** Moves a folder elsewhere instead of entering it; false when it cannot be moved. Keeps the number of open folders small. */
  readonly moveDeep?: (folder: number, name: string) => boolean;
}

/** Folders below each other that are entered before `moveDeep` is asked. */
const deep = 100;

/** Removes an entry with all that is below it, whatever its permissions are. Never follows a link, and leaves out mount points. */
export async function removeTree(parent: number, name: string, options: RemoveOptions = {}): Promise<void> {
  const pace = createPace();
  const mount = mountOf(parent);
  const opened: { folder: number; above: number; name: string; names: string[] }[] = [];
  const fail = (error: unknown): void => {
    if (errno(error) === "ENOENT") return;
    if (options.onFailure === undefined) throw error;
    options.onFailure(error);
  };

  function remove(above: number, entry: string): void {
    try {
      unlinkSync(at(above, entry));
    } catch (error) {
      if (errno(error) === "EISDIR" || errno(error) === "EPERM") enter(above, entry, error);
      else fail(error);
    }
  }

  function enter(above: number, entry: string, refused: unknown): void {
    let folder = -1;
    try {
      folder = openSync(at(above, entry), folderFlags);
      if (mountOf(folder) !== mount) throw Object.assign(new Error("This is a mount point."), { code: "EBUSY" });
      const { mode, uid } = fstatSync(folder);
      const mine = uid === process.getuid?.();
      if (mine && (mode & 0o700) !== 0o700) chmodSync(itself(folder), 0o700);
      if (opened.length >= deep && options.moveDeep?.(above, entry) === true) {
        closeSync(folder);
        return;
      }
      opened.push({ folder, above, name: entry, names: namesIn(folder) });
    } catch (error) {
      if (folder !== -1) closeSync(folder);
      fail(errno(error) === "ENOTDIR" ? refused : error);
    }
  }

  try {
    remove(parent, name);
    for (let last = opened.at(-1); last !== undefined; last = opened.at(-1)) {
      await pace();
      const next = last.names.pop();
      if (next !== undefined) {
        remove(last.folder, next);
        continue;
      }
      opened.pop();
      closeSync(last.folder);
      try {
        rmdirSync(at(last.above, last.name));
      } catch (error) {
        fail(error);
      }
    }
  } finally {
    for (const { folder } of opened) closeSync(folder);
  }
}

/**
 * Copies a file, a link or a folder with its content to a new name: modes, times and, as root, owners. Shares the content of files where
 * the file system can. Pipes, sockets and devices are left out.
 */
export async function copyTree(from: number, name: string, to: number, copy: string): Promise<void> {
  const pace = createPace();
  async function visit(source: number, entry: string, target: number, as: string): Promise<void> {
    await pace();
    const stats = entryIn(source, entry);
    if (stats?.isFile() === true) copyFile(source, entry, target, as);
    else if (stats?.isSymbolicLink() === true) {
      symlinkSync(readlinkSync(at(source, entry), { encoding: "buffer" }), at(target, as));
      if (process.getuid?.() === 0) lchownSync(at(target, as), stats.uid, stats.gid);
      lutimesSync(at(target, as), stats.atime, stats.mtime);
    } else if (stats?.isDirectory() === true) {
      mkdirSync(at(target, as), { mode: 0o700 });
      const inner = openBelow(source, entry);
      const made = openBelow(target, as);
      try {
        for (const child of namesIn(inner)) await visit(inner, child, made, child);
        if (process.getuid?.() === 0) chownSync(itself(made), stats.uid, stats.gid);
        chmodSync(itself(made), stats.mode & permissionBits);
        utimesSync(itself(made), stats.atime, stats.mtime);
      } finally {
        closeSync(made);
        closeSync(inner);
      }
    }
  }
  await visit(from, name, to, copy);
}

/** Copies a regular file to a new name; another program cannot redirect either side. */
function copyFile(from: number, name: string, to: number, copy: string): void {
  const source = openSync(at(from, name), constants.O_RDONLY | noFollow | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(source);
    if (!stats.isFile()) return;
    const target = createFile(to, copy);
    try {
      copyFileSync(itself(source), itself(target), constants.COPYFILE_FICLONE);
      if (process.getuid?.() === 0) fchownSync(target, stats.uid, stats.gid);
      fchmodSync(target, stats.mode & permissionBits);
      futimesSync(target, stats.atime, stats.mtime);
    } finally {
      closeSync(target);
    }
  } finally {
    closeSync(source);
  }
}

/** Creates a file that did not exist, for writing. */
export function createFile(folder: number, name: string): number {
  return openSync(at(folder, name), constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollow, 0o600);
}

/** Moves an entry, including a folder of this user that is read-only. */
export function moveEntry(from: number, name: string, to: number, as: string): void {
  try {
    renameSync(at(from, name), at(to, as));
  } catch (error) {
    const folder = errno(error) === "EACCES" ? openIfFolder(from, name) : null;
    if (folder === null) throw error;
    try {
      // The entry for the folder above is written into the folder that moves.
      withMode(folder, 0o700, () => renameSync(at(from, name), at(to, as)));
    } finally {
      closeSync(folder);
    }
  }
}
