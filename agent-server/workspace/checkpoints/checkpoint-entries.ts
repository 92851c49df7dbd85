import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { chmod, type FileHandle, lstat, mkdir, open, readlink, realpath, rename, rmdir, symlink, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { FileImage } from "./file-image.ts";
import type { ObjectStore } from "./object-store.ts";
import { errno, fileError } from "../file-errors.ts";
import { changeMode, type FilePath, hashFile, openForReading, removeFile, statPath, writeAtomic } from "../file-operations.ts";
import { sha256 } from "../text/encoding.ts";

/** Permission bits of links: systems that store any ignore them. */
const linkMode = 0o777;
const ownerWrite = 0o200;

/**
 * Image of a path: file, link (not followed) or folder. Null when nothing exists there, or when a link replaced a folder above it.
 * @throws LancelotError for any other file type.
 */
export async function imageOf(path: FilePath): Promise<FileImage> {
  const stats = (await isPlainFolder(dirname(path.absolute))) ? await statPath(path) : null;
  if (stats === null) return null;
  if (stats.isDirectory()) return { hash: "", mode: stats.mode & 0o7777, kind: "folder" };
  if (stats.isSymbolicLink()) return { hash: sha256(await targetOf(path)), mode: linkMode, kind: "link" };
  if (!stats.isFile()) throw new LancelotError("invalid_params", `${path.display} is not a regular file.`);
  const hash = await hashFile(path);
  return hash === null ? null : { hash, mode: stats.mode & 0o7777 };
}

/**
 * The same, and stores the content. `anything` also accepts links and folders, and returns null when a link replaced a folder above the
 * path.
 */
export async function storeEntry(path: FilePath, objects: ObjectStore, anything: boolean): Promise<{ image: FileImage; size: number }> {
  if (anything && !(await isPlainFolder(dirname(path.absolute)))) return { image: null, size: 0 };
  const stats = await statPath(path);
  if (stats === null) return { image: null, size: 0 };
  if (anything && stats.isDirectory()) return { image: { hash: "", mode: stats.mode & 0o7777, kind: "folder" }, size: 0 };
  if (anything && stats.isSymbolicLink()) {
    const target = await targetOf(path);
    return { image: { hash: await objects.put(target), mode: linkMode, kind: "link" }, size: target.byteLength };
  }
  const { handle, stats: opened } = await openForReading(path);
  try {
    return { image: { hash: await objects.putFile(handle, opened.size), mode: opened.mode & 0o7777 }, size: opened.size };
  } finally {
    await handle.close();
  }
}

async function targetOf(path: FilePath): Promise<Buffer> {
  try {
    return await readlink(path.absolute, { encoding: "buffer" });
  } catch (error) {
    throw fileError(error, path.display);
  }
}

/** True when two images are equal; permissions of links are ignored. */
export function sameImage(a: FileImage, b: FileImage): boolean {
  if (a === null || b === null) return a === b;
  return a.kind === b.kind && a.hash === b.hash && (a.kind === "link" || a.mode === b.mode);
}

/**
 * Changes a path to `to` if it still equals `from`. Creates missing parent folders and makes read-only ones writable temporarily.
 * Never removes a folder with content, because that content may be the user's.
 * @throws LancelotError `conflict`, `denied` (the folder above leads elsewhere), `unavailable`.
 */
export async function putEntry(path: FilePath, from: FileImage, to: FileImage, objects: Pick<ObjectStore, "get">): Promise<void> {
  const bytes = to === null || to.kind === "folder" ? null : await objects.get(to.hash);
  try {
    await withWritableFolder(path, to !== null, async () => {
      if (to?.kind === undefined && to !== null && from?.kind === undefined) {
        if (from !== null && (from.mode & ownerWrite) === 0) await changeMode(path, from.mode | ownerWrite);
        const expected = from?.hash ?? null;
        if (expected === to.hash) await changeMode(path, to.mode);
        else await writeAtomic(path, bytes ?? Buffer.alloc(0), { expected, mode: to.mode });
        return;
      }
      if (to?.kind === "folder" && from?.kind === "folder") {
        await chmod(path.absolute, to.mode);
        return;
      }
      if (!sameImage(await imageOf(path), from)) throw changed(path);
      if (from?.kind === "folder") await removeFolder(path, to !== null);
      else if (from?.kind === "link") await unlink(path.absolute);
      else if (from !== null) await removeFile(path, from.hash);
      if (to === null) return;
      if (to.kind === "folder") {
        await mkdir(path.absolute);
        await chmod(path.absolute, to.mode);
      } else if (to.kind === "link") await placeLink(path, bytes ?? Buffer.alloc(0));
      else await writeAtomic(path, bytes ?? Buffer.alloc(0), { expected: null, mode: to.mode });
    });
  } catch (error) {
    throw fileError(error, path.display);
  }
}

/** Creates the link under a temporary name first, so that a crash leaves either the finished link or none. */
async function placeLink(path: FilePath, target: Buffer): Promise<void> {
  const temporary = join(dirname(path.absolute), `.lancelot-${randomBytes(8).toString("hex")}.tmp`);
  await symlink(target, temporary);
  try {
    if ((await statPath(path)) !== null) throw changed(path);
    await rename(temporary, path.absolute);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}

async function removeFolder(path: FilePath, needed: boolean): Promise<void> {
  try {
    await rmdir(path.absolute);
  } catch (error) {
    if (!needed && (errno(error) === "ENOTEMPTY" || errno(error) === "EEXIST")) return;
    if (errno(error) === "ENOTEMPTY" || errno(error) === "EEXIST")
      throw new LancelotError("conflict", `${path.display} is now a folder that contains files. It was not changed.`);
    throw error;
  }
}

/**
 * Creates missing parent folders and refuses links among them. Does nothing when the entry is to be removed and its folder no longer
 * exists.
 */
async function withWritableFolder(path: FilePath, create: boolean, work: () => Promise<void>): Promise<void> {
  const parent = dirname(path.absolute);
  let handle: FileHandle | null = null;
  try {
    const existing = await deepest(parent);
    if (spelled(await realpath(existing)) !== spelled(existing))
      throw new LancelotError("denied", `${path.display} now resolves to a different path than when it was checked. It was not changed.`);
    if (existing !== parent) {
      if (!create) return;
      await mkdir(parent, { recursive: true });
    }
    const stats = await lstat(parent);
    const mine = process.getuid === undefined || process.getuid() === stats.uid;
    if (!mine || (stats.mode & ownerWrite) !== 0) {
      await work();
      return;
    }
    handle = await open(parent, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    await handle.chmod((stats.mode & 0o7777) | ownerWrite);
    try {
      await work();
    } finally {
      await handle.chmod(stats.mode & 0o7777);
    }
  } finally {
    await handle?.close();
  }
}

/** The deepest existing folder of a path. */
async function deepest(folder: string): Promise<string> {
  try {
    await lstat(folder);
    return folder;
  } catch (error) {
    if (errno(error) !== "ENOENT" || dirname(folder) === folder) throw error;
    return deepest(dirname(folder));
  }
}

/** True for an existing folder that is reached without a link. */
export async function isPlainFolder(folder: string): Promise<boolean> {
  try {
    return spelled(await realpath(folder)) === spelled(folder);
  } catch {
    return false;
  }
}

/** Normalizes spelling, because case-insensitive file systems and those that normalize Unicode may report a different spelling. */
function spelled(path: string): string {
  return process.platform === "linux" ? path : path.normalize("NFC").toLowerCase();
}

function changed(path: FilePath): LancelotError {
  return new LancelotError("conflict", `${path.display} was changed by another program in the meantime. It was not overwritten.`);
}
