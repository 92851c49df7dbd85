import { createHash, randomBytes } from "node:crypto";
import { constants, createReadStream, realpathSync, type Stats } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, readlink, realpath, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import { formatBytes } from "./text/output-bounds.ts";
import { errno, fileError } from "./file-errors.ts";

/** A file as named to people, and where the gate said it is. Only the second is ever opened. */
export interface FilePath {
  /** Absolute, every link in it resolved. */
  readonly absolute: string;
  readonly display: string;
}

export interface FileContent {
  readonly bytes: Buffer;
  readonly mode: number;
}

/** Name and version of what reads and writes files, for receipts. */
export const fileProvider = { name: "file-ops", version: "1" } as const;

export const temporaryName = /^\.lancelot-[0-9a-f]{16}\.tmp$/;

// Absent on Windows; there nothing is opened through a link because the path was resolved just before.
const noFollow = constants.O_NOFOLLOW ?? 0;
const nonBlock = constants.O_NONBLOCK ?? 0;
const directory = constants.O_DIRECTORY ?? 0;
const byDescriptor = process.platform === "linux";

/** Status of a path that is not followed; null when nothing is there. */
export async function statPath(path: FilePath): Promise<Stats | null> {
  try {
    return await lstat(path.absolute);
  } catch (error) {
    if (errno(error) === "ENOENT" || errno(error) === "ENOTDIR") return null;
    throw fileError(error, path.display);
  }
}

/**
 * Opens a regular file for reading, and makes sure it is the one the gate judged.
 * @throws LancelotError `not_found`, `denied` when a link was put in its way, `invalid_params` for what is no regular file.
 */
export async function openForReading(path: FilePath): Promise<{ handle: FileHandle; stats: Stats }> {
  let handle: FileHandle;
  try {
    handle = await open(path.absolute, constants.O_RDONLY | noFollow | nonBlock);
  } catch (error) {
    throw fileError(error, path.display);
  }
  try {
    const stats = await handle.stat();
    if (stats.isDirectory()) throw new LancelotError("invalid_params", `${path.display} is a folder.`);
    if (!stats.isFile()) throw new LancelotError("invalid_params", `${path.display} is not a regular file.`);
    await checkDescriptor(handle, path.absolute, path);
    return { handle, stats };
  } catch (error) {
    await handle.close();
    throw fileError(error, path.display);
  }
}

/**
 * Reads a whole file; null when there is none.
 * @throws LancelotError `too_large` above `maxBytes`.
 */
export async function readWhole(path: FilePath, maxBytes: number): Promise<FileContent | null> {
  if ((await statPath(path)) === null) return null;
  const { handle, stats } = await openForReading(path);
  try {
    if (stats.size > maxBytes) {
      throw new LancelotError(
        "too_large",
        `${path.display} has ${formatBytes(stats.size)}; at most ${formatBytes(maxBytes)} can be taken in as a whole. Read it in parts with read_file.`,
      );
    }
    return { bytes: await handle.readFile(), mode: stats.mode & 0o7777 };
  } catch (error) {
    throw fileError(error, path.display);
  } finally {
    await handle.close();
  }
}

/** SHA-256 of a file's bytes, however many; null when there is no file. */
export async function hashFile(path: FilePath): Promise<string | null> {
  if ((await statPath(path)) === null) return null;
  const { handle } = await openForReading(path);
  try {
    return await hashHandle(handle);
  } catch (error) {
    throw fileError(error, path.display);
  } finally {
    await handle.close();
  }
}

/** SHA-256 of a file's bytes with its permission bits; null when there is no file. @throws LancelotError as `openForReading`. */
export async function readImage(path: FilePath): Promise<{ hash: string; mode: number } | null> {
  if ((await statPath(path)) === null) return null;
  const { handle, stats } = await openForReading(path);
  try {
    return { hash: await hashHandle(handle), mode: stats.mode & 0o7777 };
  } catch (error) {
    throw fileError(error, path.display);
  } finally {
    await handle.close();
  }
}

export interface WriteOptions {
  /** SHA-256 of what must stand there now, null for nothing; the write is refused when it is otherwise. */
  readonly expected: string | null;
  /** Permission bits; those of the file it replaces unless given. */
  readonly mode?: number;
}

/**
 * Replaces or makes a file in one step: readers see the old bytes or the new ones, never a part. Mode and owner stay, missing
 * folders are made. What the parent folder is gets checked on the open folder itself (Linux) or just before the last step.
 * Other names of the file (hard links) keep the old content (docs/decisions/0011-edit-placement.md).
 * @returns how many other names it had.
 * @throws LancelotError `conflict` when the file is no longer what was expected, `denied` when its folder is another one now.
 */
export async function writeAtomic(path: FilePath, bytes: Uint8Array, options: WriteOptions): Promise<number> {
  const folder = await openFolder(path, true);
  const temporary = folder.child(`.lancelot-${randomBytes(8).toString("hex")}.tmp`);
  const target = folder.child(basename(path.absolute));
  let made = false;
  try {
    const before = await lstatOrNull(target);
    if (before !== null && !before.isFile())
      throw new LancelotError("conflict", `${path.display} is not a regular file any more; it was not touched.`);
    if (before !== null && (before.mode & 0o222) === 0) {
      throw new LancelotError("unavailable", `${path.display} is read-only. Make it writable first if it is to be changed.`);
    }
    const handle = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollow, 0o600);
    made = true;
    try {
      await handle.writeFile(bytes);
      if (before !== null) await keepOwner(handle, before);
      await handle.chmod(options.mode ?? (before === null ? 0o666 & ~currentUmask() : before.mode & 0o7777));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await folder.check();
    await expectContent(target, options.expected, path);
    if (options.expected === null) await linkNew(temporary, target);
    else await rename(temporary, target);
    await folder.sync();
    return before === null ? 0 : before.nlink - 1;
  } catch (error) {
    throw fileError(error, path.display);
  } finally {
    // After a rename it is gone already; after a link or a failure it is not.
    if (made) await unlink(temporary).catch(() => undefined);
    await folder.close();
  }
}

/** Removes a file if it still is what was expected. @throws LancelotError as `writeAtomic`. */
export async function removeFile(path: FilePath, expected: string): Promise<void> {
  const folder = await openFolder(path, false);
  try {
    const target = folder.child(basename(path.absolute));
    await folder.check();
    await expectContent(target, expected, path);
    await unlink(target);
    await folder.sync();
  } catch (error) {
    throw fileError(error, path.display);
  } finally {
    await folder.close();
  }
}

/** Changes the permission bits of a file. */
export async function changeMode(path: FilePath, mode: number): Promise<void> {
  const { handle } = await openForReading(path);
  try {
    await handle.chmod(mode);
  } catch (error) {
    throw fileError(error, path.display);
  } finally {
    await handle.close();
  }
}

interface Folder {
  /** Path of an entry that leads through the open folder where the system can. */
  child(name: string): string;
  check(): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the parent folder of a path, making what is missing of it one step at a time below what was checked. */
async function openFolder(path: FilePath, create: boolean): Promise<Folder> {
  const parent = dirname(path.absolute);
  try {
    if (!byDescriptor) {
      if (create) await mkdir(parent, { recursive: true });
      return {
        child: (name) => join(parent, name),
        check: async () => {
          if (!(await leadsTo(parent))) throw moved(path);
        },
        sync: () => Promise.resolve(),
        close: () => Promise.resolve(),
      };
    }
    const handle = await openChecked(parent, path, create);
    return {
      child: (name) => `/proc/self/fd/${handle.fd}/${name}`,
      check: () => checkDescriptor(handle, parent, path),
      // Some file systems cannot flush a folder; the file itself is already on disk then.
      sync: () => handle.sync().catch(() => undefined),
      close: () => handle.close(),
    };
  } catch (error) {
    throw fileError(error, path.display);
  }
}

async function openChecked(folder: string, path: FilePath, create: boolean): Promise<FileHandle> {
  let handle: FileHandle;
  try {
    handle = await open(folder, constants.O_RDONLY | directory | noFollow);
  } catch (error) {
    if (errno(error) !== "ENOENT" || !create || dirname(folder) === folder) throw error;
    const above = await openChecked(dirname(folder), path, create);
    try {
      await mkdir(`/proc/self/fd/${above.fd}/${basename(folder)}`).catch((problem: unknown) => {
        if (errno(problem) !== "EEXIST") throw problem;
      });
      handle = await open(`/proc/self/fd/${above.fd}/${basename(folder)}`, constants.O_RDONLY | directory | noFollow);
    } finally {
      await above.close();
    }
  }
  try {
    await checkDescriptor(handle, folder, path);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Makes sure that what was opened lies where it was judged. Elsewhere than on Linux only its path can be looked up again. */
async function checkDescriptor(handle: FileHandle, expected: string, path: FilePath): Promise<void> {
  const found = byDescriptor ? await readlink(`/proc/self/fd/${handle.fd}`) : null;
  const same = found === null ? await leadsTo(expected) : found === expected || (await isRespelled(handle, found, expected));
  if (!same) throw moved(path);
}

/** True while no link is in a path. Disks that ignore case, or spell letters otherwise, may answer with another spelling. */
async function leadsTo(path: string): Promise<boolean> {
  return spelled(await realpath(path)) === spelled(path);
}

/** The same file under another spelling of its own name, on a disk that ignores case: no link leads there, and it is the same entry. */
async function isRespelled(handle: FileHandle, found: string, expected: string): Promise<boolean> {
  if (spelled(found) !== spelled(expected)) return false;
  const [opened, named] = [await handle.stat({ bigint: true }), await lstat(expected, { bigint: true })];
  // Looks at every part of the path and leaves their spelling alone, unlike the system's own.
  return opened.ino === named.ino && opened.dev === named.dev && realpathSync(expected) === expected;
}

function spelled(path: string): string {
  return path.normalize("NFC").toLowerCase();
}

async function expectContent(target: string, expected: string | null, path: FilePath): Promise<void> {
  const stats = await lstatOrNull(target);
  if (stats === null && expected === null) return;
  if (stats === null || expected === null || !stats.isFile()) throw changed(path);
  const handle = await open(target, constants.O_RDONLY | noFollow | nonBlock);
  try {
    if ((await hashHandle(handle)) !== expected) throw changed(path);
  } finally {
    await handle.close();
  }
}

async function hashHandle(handle: FileHandle): Promise<string> {
  const digest = createHash("sha256");
  for await (const chunk of createReadStream("", { fd: handle, autoClose: false, start: 0 })) digest.update(chunk as Buffer);
  return digest.digest("hex");
}

/** Puts a new file in place without ever replacing one that appeared meanwhile. */
async function linkNew(temporary: string, target: string): Promise<void> {
  try {
    await link(temporary, target);
  } catch (error) {
    // File systems without hard links: the check just before is all there is.
    if (errno(error) !== "EPERM" && errno(error) !== "ENOTSUP" && errno(error) !== "ENOSYS" && errno(error) !== "EMLINK") throw error;
    await rename(temporary, target);
  }
}

async function keepOwner(handle: FileHandle, before: Stats): Promise<void> {
  if (process.getuid === undefined || (before.uid === process.getuid() && before.gid === process.getgid?.())) return;
  // Only root may give a file away; others keep the group where they can.
  await handle.chown(before.uid, before.gid).catch(() => handle.chown(process.getuid?.() ?? -1, before.gid).catch(() => undefined));
}

async function lstatOrNull(path: string): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (errno(error) === "ENOENT") return null;
    throw error;
  }
}

let umask: number | null = null;
function currentUmask(): number {
  umask ??= process.umask();
  return umask;
}

function moved(path: FilePath): LancelotError {
  return new LancelotError("denied", `${path.display} leads elsewhere than when it was judged; it was not touched.`);
}

function changed(path: FilePath): LancelotError {
  return new LancelotError("conflict", `${path.display} was changed by someone else meanwhile; it was not touched.`);
}
