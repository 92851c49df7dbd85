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

/** Permission bits of links: systems that keep some do not look at them. */
const linkMode = 0o777;
const ownerWrite = 0o200;

/**
 * What stands at a path: file, link (its target is not looked at), folder; null for nothing, and behind a link that stands where a folder
 * above was there is nothing. @throws LancelotError for anything else.
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
 * The same, with its bytes stored. `anything`: links and folders too, and behind a link that stands where a folder above was there is
 * nothing.
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

/** True when two images are of the same thing; permissions of links do not count. */
export function sameImage(a: FileImage, b: FileImage): boolean {
  if (a === null || b === null) return a === b;
  return a.kind === b.kind && a.hash === b.hash && (a.kind === "link" || a.mode === b.mode);
}

/**
 * Makes what stands at a path `to`, if it still is `from`. Missing folders above are made; read-only ones are made writable for the moment.
 * A folder that is not empty is not removed: what is in it is somebody's.
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

/** Beside it first, so that a host that dies leaves the link or nothing. */
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
      throw new LancelotError("conflict", `${path.display} is a folder with files in it now. It was left as it is.`);
    throw error;
  }
}

/** Makes the folders above that are missing, and sees that no link is among them. Nothing is done where there is nothing to remove because the folder is gone. */
async function withWritableFolder(path: FilePath, create: boolean, work: () => Promise<void>): Promise<void> {
  const parent = dirname(path.absolute);
  let handle: FileHandle | null = null;
  try {
    const existing = await deepest(parent);
    if (spelled(await realpath(existing)) !== spelled(existing))
      throw new LancelotError("denied", `${path.display} leads elsewhere than when it was judged; it was not touched.`);
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

/** The innermost folder above that is there. */
async function deepest(folder: string): Promise<string> {
  try {
    await lstat(folder);
    return folder;
  } catch (error) {
    if (errno(error) !== "ENOENT" || dirname(folder) === folder) throw error;
    return deepest(dirname(folder));
  }
}

/** True for a folder that is there and is reached without a link. */
export async function isPlainFolder(folder: string): Promise<boolean> {
  try {
    return spelled(await realpath(folder)) === spelled(folder);
  } catch {
    return false;
  }
}

/** Disks that ignore case, or spell letters otherwise, may answer with another spelling. */
function spelled(path: string): string {
  return process.platform === "linux" ? path : path.normalize("NFC").toLowerCase();
}

function changed(path: FilePath): LancelotError {
  return new LancelotError("conflict", `${path.display} was changed by someone else meanwhile; it was not touched.`);
}
