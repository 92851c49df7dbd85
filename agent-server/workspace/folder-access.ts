import { chmodSync, closeSync, constants, fstatSync, lstatSync, openSync, type Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import { diskPath } from "./byte-path.ts";
import { itself, pathOnly } from "./descriptor-paths.ts";
import { errno } from "./file-errors.ts";

const noFollow = constants.O_NOFOLLOW ?? 0;
const ownerAll = 0o700;

/** Folders whose owner lacked permissions and has them while this process works in them, with their own permission bits. */
const held = new Map<string, { users: number; mode: number }>();

/** Permission bits of a folder, without what this process granted itself. */
export function folderMode(absolute: string, stats: Stats): number {
  return held.get(absolute)?.mode ?? stats.mode & 0o7777;
}

/** Sets the permission bits of a file, folder or special file, never of a link's target. */
export function setMode(absolute: string, mode: number): void {
  const own = held.get(absolute);
  if (own !== undefined) own.mode = mode;
  chmodEntry(absolute, own === undefined ? mode : mode | ownerAll);
}

/**
 * Gives the owner of a folder access to it, when that is this user and the folder's permissions refuse it. A command can take these
 * permissions away, but its changes must stay known. @returns true when the folder must be released
 */
export function holdFolder(absolute: string, stats: Stats): boolean {
  const own = held.get(absolute);
  if (own !== undefined) {
    own.users += 1;
    return true;
  }
  const mode = stats.mode & 0o7777;
  if (!isOwn(stats) || (mode & ownerAll) === ownerAll) return false;
  chmodEntry(absolute, mode | ownerAll);
  held.set(absolute, { users: 1, mode });
  return true;
}

/** Restores the permissions of held folders when nobody else needs them. */
export function releaseFolders(folders: readonly string[]): void {
  for (const folder of folders.toReversed()) {
    const own = held.get(folder);
    if (own === undefined) continue;
    own.users -= 1;
    if (own.users > 0) continue;
    held.delete(folder);
    try {
      chmodEntry(folder, own.mode);
    } catch (error) {
      // The folder was removed or replaced in the meantime.
      if (errno(error) === null) throw error;
    }
  }
}

/** Runs `work`, and when permissions refuse it, again with access to the folders above `absolute` that belong to this user. */
export async function withAccess<T>(absolute: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isRefused(error)) throw error;
  }
  const folders = holdAbove(absolute);
  try {
    return await work();
  } finally {
    releaseFolders(folders);
  }
}

/** The same for work that does not wait. */
export function withAccessSync<T>(absolute: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!isRefused(error)) throw error;
  }
  const folders = holdAbove(absolute);
  try {
    return work();
  } finally {
    releaseFolders(folders);
  }
}

/** Opens a file, also when its permissions refuse this user as its owner. They stay as they are. */
export async function openOwn(absolute: string, flags: number): Promise<FileHandle> {
  try {
    return await open(diskPath(absolute), flags);
  } catch (error) {
    if (!isRefused(error)) throw error;
  }
  const restore = grantRead(absolute);
  try {
    return await open(diskPath(absolute), flags);
  } finally {
    restore();
  }
}

/** The same without waiting. @returns the descriptor */
export function openOwnSync(absolute: string, flags: number): number {
  try {
    return openSync(diskPath(absolute), flags);
  } catch (error) {
    if (!isRefused(error)) throw error;
  }
  const restore = grantRead(absolute);
  try {
    return openSync(diskPath(absolute), flags);
  } finally {
    restore();
  }
}

/** @returns restores the permissions */
function grantRead(absolute: string): () => void {
  const stats = lstatSync(diskPath(absolute));
  if (!stats.isFile()) return () => undefined;
  chmodEntry(absolute, stats.mode | 0o400);
  return () => chmodEntry(absolute, stats.mode);
}

/** True when the system refused an operation because of permissions. */
export function isRefused(error: unknown): boolean {
  return errno(error) === "EACCES" || (error instanceof LancelotError && errno(error.cause) === "EACCES");
}

/** Holds every folder above a path that needs it, the top one first. */
function holdAbove(absolute: string): string[] {
  const above: string[] = [];
  for (let at = dirname(absolute); at !== dirname(at); at = dirname(at)) above.unshift(at);
  const folders: string[] = [];
  try {
    for (const folder of above) {
      const stats = lstatSync(diskPath(folder), { throwIfNoEntry: false });
      if (stats?.isDirectory() !== true) break;
      if (holdFolder(folder, stats)) folders.push(folder);
    }
  } catch (error) {
    if (errno(error) === null) throw error;
  }
  return folders;
}

function chmodEntry(absolute: string, mode: number): void {
  if (process.platform !== "linux") {
    if (lstatSync(absolute).isSymbolicLink()) throw new LancelotError("denied", "The path became a symbolic link. It was not changed.");
    chmodSync(absolute, mode & 0o7777);
    return;
  }
  const descriptor = openSync(diskPath(absolute), pathOnly | noFollow);
  try {
    if (fstatSync(descriptor).isSymbolicLink()) throw new LancelotError("denied", "The path became a symbolic link. It was not changed.");
    chmodSync(itself(descriptor), mode & 0o7777);
  } finally {
    closeSync(descriptor);
  }
}

/** True for entries whose permissions apply to this process and that it may change. Root is not restricted by them. */
function isOwn(stats: Stats): boolean {
  const user = process.geteuid?.();
  return user !== undefined && user !== 0 && user === stats.uid;
}
