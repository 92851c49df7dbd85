import { createHash, randomBytes } from "node:crypto";
import { constants, createReadStream, realpathSync, type Stats } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, readlink, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import { formatBytes } from "./text/output-bounds.ts";
import { diskPath, fromBytes, realPath } from "./byte-path.ts";
import { at, itself } from "./descriptor-paths.ts";
import { errno, fileError } from "./file-errors.ts";
import { openOwn } from "./folder-access.ts";

/** A file's display name, and the resolved path from the path gate. Only the resolved path is ever opened. */
export interface FilePath {
  /** Absolute, with all links resolved and any bytes as text (`byte-path.ts`). */
  readonly absolute: string;
  readonly display: string;
}

export interface FileContent {
  readonly bytes: Buffer;
  readonly mode: number;
}

/** Provider name and version for receipts of file operations. */
export const fileProvider = { name: "file-ops", version: "1" } as const;

export const temporaryName = /^\.lancelot-[0-9a-f]{16}\.tmp$/;

// Windows lacks this flag; there the path was resolved immediately before opening.
const noFollow = constants.O_NOFOLLOW ?? 0;
const nonBlock = constants.O_NONBLOCK ?? 0;
const directory = constants.O_DIRECTORY ?? 0;
const byDescriptor = process.platform === "linux";

/** Status of a path without following links; null when it does not exist. */
export async function statPath(path: FilePath): Promise<Stats | null> {
  try {
    return await lstat(diskPath(path.absolute));
  } catch (error) {
    if (errno(error) === "ENOENT" || errno(error) === "ENOTDIR") return null;
    throw fileError(error, path.display);
  }
}

export interface ReadOptions {
  /** Also opens a file of this user that its own permissions make unreadable. Tools never do. */
  readonly isOwn?: boolean;
}

/**
 * Opens a regular file for reading and verifies that it is the one the path gate checked.
 * @throws LancelotError `not_found`, `denied` when a link replaced it, `invalid_params` for anything but a regular file.
 */
export async function openForReading(path: FilePath, { isOwn = false }: ReadOptions = {}): Promise<{ handle: FileHandle; stats: Stats }> {
  let handle: FileHandle;
  try {
    const flags = constants.O_RDONLY | noFollow | nonBlock;
    handle = isOwn ? await openOwn(path.absolute, flags) : await open(diskPath(path.absolute), flags);
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
 * Reads a complete file; null when it does not exist.
 * @throws LancelotError `too_large` above `maxBytes`.
 */
export async function readWhole(path: FilePath, maxBytes: number, options?: ReadOptions): Promise<FileContent | null> {
  if ((await statPath(path)) === null) return null;
  const { handle, stats } = await openForReading(path, options);
  try {
    if (stats.size > maxBytes) {
      throw new LancelotError(
        "too_large",
        `${path.display} has ${formatBytes(stats.size)}; the limit for reading it at once is ${formatBytes(maxBytes)}. Read it in parts with read_file.`,
      );
    }
    return { bytes: await handle.readFile(), mode: stats.mode & 0o7777 };
  } catch (error) {
    throw fileError(error, path.display);
  } finally {
    await handle.close();
  }
}

/** SHA-256 of a file of any size; null when it does not exist. */
export async function hashFile(path: FilePath, options?: ReadOptions): Promise<string | null> {
  if ((await statPath(path)) === null) return null;
  const { handle } = await openForReading(path, options);
  try {
    return await hashHandle(handle);
  } catch (error) {
    throw fileError(error, path.display);
  } finally {
    await handle.close();
  }
}

/** SHA-256 and permission bits of a file; null when it does not exist. @throws LancelotError as `openForReading`. */
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
  /** SHA-256 of the content that must currently exist, null for no file; otherwise the write is refused. */
  readonly expected: string | null;
  /** Permission bits; by default those of the replaced file. */
  readonly mode?: number;
}

/**
 * Atomically creates or replaces a file: readers see the old or the new bytes, never a part. Keeps mode and owner, and creates missing
 * folders. Verifies the parent folder through its open descriptor (Linux) or immediately before the last step.
 * Hard links of the file keep the old content (docs/decisions/0011-edit-placement.md).
 * @returns the number of other hard links.
 * @throws LancelotError `conflict` when the file does not match `expected`, `denied` when its folder was replaced.
 */
export async function writeAtomic(path: FilePath, bytes: Uint8Array, options: WriteOptions): Promise<number> {
  const folder = await openFolder(path, true);
  const temporary = folder.child(`.lancelot-${randomBytes(8).toString("hex")}.tmp`);
  const target = folder.child(basename(path.absolute));
  let made = false;
  try {
    const before = await lstatOrNull(target);
    if (before !== null && !before.isFile())
      throw new LancelotError("conflict", `${path.display} is no longer a regular file. It was not changed.`);
    if (before !== null && (before.mode & 0o222) === 0) {
      throw new LancelotError("unavailable", `${path.display} is read-only. Make it writable first.`);
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
    // The temporary file is gone after a rename, but not after a link or a failure.
    if (made) await unlink(temporary).catch(() => undefined);
    await folder.close();
  }
}

/** Removes a file if it matches `expected`. @throws LancelotError as `writeAtomic`. */
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
export async function changeMode(path: FilePath, mode: number, options?: ReadOptions): Promise<void> {
  const { handle } = await openForReading(path, options);
  try {
    await handle.chmod(mode);
  } catch (error) {
    throw fileError(error, path.display);
  } finally {
    await handle.close();
  }
}

interface Folder {
  /** Path of an entry through the open folder's descriptor, where the system supports it. */
  child(name: string): string | Buffer;
  check(): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the parent folder, creating missing folders one at a time below verified ones. */
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
      child: (name) => at(handle.fd, name),
      check: () => checkDescriptor(handle, parent, path),
      // Some file systems cannot flush a folder. The file itself is already durable.
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
    handle = await open(diskPath(folder), constants.O_RDONLY | directory | noFollow);
  } catch (error) {
    if (errno(error) !== "ENOENT" || !create || dirname(folder) === folder) throw error;
    const above = await openChecked(dirname(folder), path, create);
    const child = at(above.fd, basename(folder));
    try {
      await mkdir(child).catch((problem: unknown) => {
        if (errno(problem) !== "EEXIST") throw problem;
      });
      handle = await open(child, constants.O_RDONLY | directory | noFollow);
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

/** Verifies that the opened file is at the checked location. Outside Linux, only its path can be resolved again. */
async function checkDescriptor(handle: FileHandle, expected: string, path: FilePath): Promise<void> {
  const found = byDescriptor ? fromBytes(await readlink(itself(handle.fd), { encoding: "buffer" })) : null;
  const same = found === null ? await leadsTo(expected) : found === expected || (await isRespelled(handle, found, expected));
  if (!same) throw moved(path);
}

/** True when a path contains no link. Case-insensitive file systems, or those that normalize Unicode, may report another spelling. */
async function leadsTo(path: string): Promise<boolean> {
  return spelled(await realPath(path)) === spelled(path);
}

/** Recognizes the same entry under another spelling on a case-insensitive disk, where no link is involved. */
async function isRespelled(handle: FileHandle, found: string, expected: string): Promise<boolean> {
  if (expected.includes("\0") || spelled(found) !== spelled(expected)) return false;
  const [opened, named] = [await handle.stat({ bigint: true }), await lstat(expected, { bigint: true })];
  // Resolves every part of the path but keeps the given spelling, unlike the system's own resolution.
  return opened.ino === named.ino && opened.dev === named.dev && realpathSync(expected) === expected;
}

function spelled(path: string): string {
  return path.normalize("NFC").toLowerCase();
}

async function expectContent(target: string | Buffer, expected: string | null, path: FilePath): Promise<void> {
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

/** Moves a new file into place without replacing one that was created in the meantime. */
async function linkNew(temporary: string | Buffer, target: string | Buffer): Promise<void> {
  try {
    await link(temporary, target);
  } catch (error) {
    // File systems without hard links rely on the preceding check alone.
    if (errno(error) !== "EPERM" && errno(error) !== "ENOTSUP" && errno(error) !== "ENOSYS" && errno(error) !== "EMLINK") throw error;
    await rename(temporary, target);
  }
}

async function keepOwner(handle: FileHandle, before: Stats): Promise<void> {
  if (process.getuid === undefined || (before.uid === process.getuid() && before.gid === process.getgid?.())) return;
  // Only root may change the owner. Other users keep the group where they can.
  await handle.chown(before.uid, before.gid).catch(() => handle.chown(process.getuid?.() ?? -1, before.gid).catch(() => undefined));
}

async function lstatOrNull(path: string | Buffer): Promise<Stats | null> {
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
  return new LancelotError("denied", `${path.display} now resolves to a different path than when it was checked. It was not changed.`);
}

function changed(path: FilePath): LancelotError {
  return new LancelotError("conflict", `${path.display} was changed by another program in the meantime. It was not overwritten.`);
}
