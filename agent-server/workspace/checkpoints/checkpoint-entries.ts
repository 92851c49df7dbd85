import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, rename, rmdir, symlink, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { diskPath, realPath } from "../byte-path.ts";
import { type FileImage, isSpecial, specialKind } from "./file-image.ts";
import type { ObjectStore } from "./object-store.ts";
import { errno, fileError } from "../file-errors.ts";
import { changeMode, type FilePath, hashFile, openForReading, readWhole, removeFile, statPath, writeAtomic } from "../file-operations.ts";
import { folderMode, isRefused, setMode, withAccess } from "../folder-access.ts";
import { sha256 } from "../text/encoding.ts";

/** Permission bits of links: systems that store any ignore them. */
const linkMode = 0o777;
const ownerWrite = 0o200;
const ownerReadWrite = 0o600;

/** Image of a path, without following links. Null when nothing exists there, or when a link replaced a folder above it. */
export function imageOf(path: FilePath): Promise<FileImage> {
  return withAccess(path.absolute, async () => {
    const stats = (await isReachedWithoutLinks(dirname(path.absolute))) ? await statPath(path) : null;
    if (stats === null) return null;
    const image = imageWithoutContent(path, stats);
    if (image !== null) return image;
    if (stats.isSymbolicLink()) return { hash: sha256(await targetOf(path)), mode: linkMode, kind: "link" };
    const hash = await hashFile(path, { isOwn: true });
    return hash === null ? null : { hash, mode: stats.mode & 0o7777 };
  });
}

/** The same, and stores the content. Without `anything`, only a file is accepted, and its permissions must allow reading it. */
export function storeEntry(path: FilePath, objects: ObjectStore, anything: boolean): Promise<{ image: FileImage; size: number }> {
  return anything ? withAccess(path.absolute, () => storeAnything(path, objects)) : storeFile(path, objects, false);
}

async function storeAnything(path: FilePath, objects: ObjectStore): Promise<{ image: FileImage; size: number }> {
  const stats = (await isReachedWithoutLinks(dirname(path.absolute))) ? await statPath(path) : null;
  if (stats === null) return { image: null, size: 0 };
  const image = imageWithoutContent(path, stats);
  if (image !== null) return { image, size: 0 };
  if (!stats.isSymbolicLink()) return storeFile(path, objects, true);
  const target = await targetOf(path);
  return { image: { hash: await objects.put(target), mode: linkMode, kind: "link" }, size: target.byteLength };
}

async function storeFile(path: FilePath, objects: ObjectStore, isOwn: boolean): Promise<{ image: FileImage; size: number }> {
  if ((await statPath(path)) === null) return { image: null, size: 0 };
  const { handle, stats: opened } = await openForReading(path, { isOwn });
  try {
    return { image: { hash: await objects.putFile(handle, opened.size), mode: opened.mode & 0o7777 }, size: opened.size };
  } finally {
    await handle.close();
  }
}

/** The bytes of a file, also when its permissions or those of a folder above refuse the user; null when it does not exist. */
export async function readOwn(path: FilePath): Promise<Buffer | null> {
  const content = await withAccess(path.absolute, () => readWhole(path, Number.MAX_SAFE_INTEGER, { isOwn: true }));
  return content?.bytes ?? null;
}

/** The image of a folder or a special file; null for others. */
function imageWithoutContent({ absolute }: FilePath, stats: Stats): FileImage {
  if (stats.isDirectory()) return { hash: "", mode: folderMode(absolute, stats), kind: "folder" };
  const kind = specialKind(stats.mode);
  return kind === null ? null : { hash: "", mode: stats.mode & 0o7777, kind };
}

async function targetOf(path: FilePath): Promise<Buffer> {
  try {
    return await readlink(diskPath(path.absolute), { encoding: "buffer" });
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
  const bytes = to === null || to.hash === "" ? Buffer.alloc(0) : await objects.get(to.hash);
  try {
    await withAccess(path.absolute, async () => {
      if (to !== null && to.hash === "" && to.kind === from?.kind) await changeModeOnly(path, to.mode);
      else await withWritableFolder(path, to !== null, () => replace(path, from, to, bytes));
    });
  } catch (error) {
    throw fileError(error, path.display);
  }
}

/** Changes the permission bits of a folder or special file. */
async function changeModeOnly(path: FilePath, mode: number): Promise<void> {
  if (!(await isReachedWithoutLinks(dirname(path.absolute)))) throw elsewhere(path);
  setMode(path.absolute, mode);
}

async function replace(path: FilePath, from: FileImage, to: FileImage, bytes: Buffer): Promise<void> {
  if (isSpecial(to?.kind)) throw notCreated(path);
  const isFile = from !== null && from.kind === undefined;
  const staysFile = to !== null && to.kind === undefined && (isFile || from === null);
  if (!staysFile && !sameImage(await imageOf(path), from)) throw changed(path);
  if (isFile && (from.mode & ownerReadWrite) !== ownerReadWrite) await changeMode(path, from.mode | ownerReadWrite, { isOwn: true });
  if (staysFile) {
    const expected = from?.hash ?? null;
    if (expected === to.hash) await changeMode(path, to.mode);
    else await writeAtomic(path, bytes, { expected, mode: to.mode });
    return;
  }
  const disk = diskPath(path.absolute);
  if (from?.kind === "folder") await removeFolder(path, to !== null);
  else if (isFile) await removeFile(path, from.hash);
  else if (from !== null) await unlink(disk);
  if (to === null) return;
  if (to.kind === "folder") {
    await mkdir(disk);
    setMode(path.absolute, to.mode);
  } else if (to.kind === "link") await placeLink(path, bytes);
  else await writeAtomic(path, bytes, { expected: null, mode: to.mode });
}

/** Creates the link under a temporary name first, so that a crash leaves either the finished link or none. */
async function placeLink(path: FilePath, target: Buffer): Promise<void> {
  const temporary = diskPath(join(dirname(path.absolute), `.lancelot-${randomBytes(8).toString("hex")}.tmp`));
  await symlink(target, temporary);
  try {
    if ((await statPath(path)) !== null) throw changed(path);
    await rename(temporary, diskPath(path.absolute));
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}

async function removeFolder(path: FilePath, needed: boolean): Promise<void> {
  try {
    await rmdir(diskPath(path.absolute));
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
    if (!(await isReachedWithoutLinks(existing))) throw elsewhere(path);
    if (existing !== parent) {
      if (!create) return;
      await mkdir(diskPath(parent), { recursive: true });
    }
    const stats = await lstat(diskPath(parent));
    const mine = process.getuid === undefined || process.getuid() === stats.uid;
    if (!mine || (stats.mode & ownerWrite) !== 0) {
      await work();
      return;
    }
    handle = await open(diskPath(parent), constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
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
    await lstat(diskPath(folder));
    return folder;
  } catch (error) {
    if (errno(error) !== "ENOENT" || dirname(folder) === folder) throw error;
    return deepest(dirname(folder));
  }
}

/** True for an existing folder that is reached without a link. */
export function isPlainFolder(folder: string): Promise<boolean> {
  return isReachedWithoutLinks(folder).catch(() => false);
}

/** The same, but a folder that permissions hide is an error. */
async function isReachedWithoutLinks(folder: string): Promise<boolean> {
  try {
    return spelled(await realPath(folder)) === spelled(folder);
  } catch (error) {
    if (isRefused(error)) throw error;
    return false;
  }
}

/** Normalizes spelling, because case-insensitive file systems and those that normalize Unicode may report a different spelling. */
function spelled(path: string): string {
  return process.platform === "linux" ? path : path.normalize("NFC").toLowerCase();
}

function elsewhere(path: FilePath): LancelotError {
  return new LancelotError("denied", `${path.display} now resolves to a different path than when it was checked. It was not changed.`);
}

/** Why a special file stays missing. */
export function notCreated(path: FilePath): LancelotError {
  return new LancelotError("conflict", `${path.display} was a pipe, socket or device, which cannot be created again.`);
}

function changed(path: FilePath): LancelotError {
  return new LancelotError("conflict", `${path.display} was changed by another program in the meantime. It was not overwritten.`);
}
