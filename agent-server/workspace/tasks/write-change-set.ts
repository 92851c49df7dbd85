import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  copyFileSync,
  lchownSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  type Stats,
  symlinkSync,
  unlinkSync,
  utimesSync,
} from "node:fs";
import { randomBytes } from "node:crypto";
import { createPace } from "../effects/tree-walk.ts";
import { diskPath, fromBytes } from "../byte-path.ts";
import { at, itself } from "../descriptor-paths.ts";
import { errno, fileError } from "../file-errors.ts";
import { entryIn, isFolder, openBelow, openIfFolder, permissionBits, removeTree, unlock, withFolders } from "./folder-descriptors.ts";
import { sameContent } from "./layer-scan.ts";
import { split } from "./write-to-view.ts";

/** An entry as a command left it. */
export interface ChangedEntry {
  /** As text of any bytes (byte-path.ts). */
  readonly path: string;
  readonly kind: "file" | "link" | "folder";
  /** Permission bits; null keeps those of the view. */
  readonly mode: number | null;
  /** Modification time in seconds. */
  readonly mtime: number;
  /** Absolute path of the content of a file, outside of the view. */
  readonly content: string;
  readonly target: string;
}

export interface ChangeSet {
  /** Paths that are gone, or have another kind now; folders before their content. */
  readonly removed: readonly string[];
  /** Folders before their content. */
  readonly entries: readonly ChangedEntry[];
}

/**
 * Writes what a command did to a copy into the open view, so that its layer has it. No link is followed. A removed folder stays while it
 * has entries that the copy did not have.
 * @throws LancelotError `unavailable` when the disk is full
 */
export async function writeChangeSet(merged: string, { removed, entries }: ChangeSet): Promise<void> {
  const pace = createPace();
  try {
    await withFolders([merged], async (root) => {
      for (const path of removed.toReversed()) {
        await pace();
        remove(root, path);
      }
      for (const entry of entries) {
        await pace();
        await write(root, entry);
      }
      // A folder without permissions could not be filled before.
      for (const { path, kind, mode } of entries.toReversed()) if (kind === "folder" && mode !== null) setMode(root, path, mode);
    });
  } catch (error) {
    throw fileError(error, "The task's copy of the workspace");
  }
}

function remove(root: number, path: string): void {
  const { above, name } = split(path);
  const folder = openIfFolder(root, above);
  if (folder === null) return;
  const lock = unlock(folder, 0o700);
  try {
    if (isFolder(entryIn(folder, name))) rmdirSync(at(folder, name));
    else unlinkSync(at(folder, name));
  } catch (error) {
    if (!["ENOENT", "ENOTEMPTY"].includes(errno(error) ?? "")) throw error;
  } finally {
    lock();
    closeSync(folder);
  }
}

async function write(root: number, entry: ChangedEntry): Promise<void> {
  const { above, name } = split(entry.path);
  const folder = await enter(root, above);
  const lock = unlock(folder, 0o700);
  try {
    const before = entryIn(folder, name);
    const around = entryIn(folder, ".");
    if (entry.kind === "folder") await makeFolder(folder, name, before, around);
    else if (entry.kind === "link") await writeLink(folder, name, entry, before, around);
    else await writeFile(folder, name, entry, before, around);
  } finally {
    lock();
    closeSync(folder);
  }
}

/** Opens a folder, and creates it where the user has removed it or put something else in its place meanwhile. */
async function enter(root: number, path: string): Promise<number> {
  const there = openIfFolder(root, path);
  if (there !== null) return there;
  let folder = openBelow(root, "");
  for (const name of path.split("/").filter((part) => part !== "")) {
    try {
      const lock = unlock(folder, 0o700);
      try {
        await makeFolder(folder, name, entryIn(folder, name), entryIn(folder, "."));
        const inner = openBelow(folder, name);
        lock();
        closeSync(folder);
        folder = inner;
      } catch (error) {
        lock();
        throw error;
      }
    } catch (error) {
      closeSync(folder);
      throw error;
    }
  }
  return folder;
}

async function makeFolder(parent: number, name: string, before: Stats | null, around: Stats | null): Promise<void> {
  if (before?.isDirectory() === true) return;
  if (before !== null) await removeTree(parent, name);
  mkdirSync(at(parent, name), { mode: 0o755 });
  if (around !== null && process.getuid?.() === 0) chownSync(at(parent, name), around.uid, around.gid);
}

async function writeLink(
  parent: number,
  name: string,
  { target }: ChangedEntry,
  before: Stats | null,
  around: Stats | null,
): Promise<void> {
  if (before?.isSymbolicLink() === true && fromBytes(readlinkSync(at(parent, name), { encoding: "buffer" })) === target) return;
  const temporary = temporaryName();
  symlinkSync(diskPath(target), at(parent, temporary));
  if (around !== null && process.getuid?.() === 0) lchownSync(at(parent, temporary), around.uid, around.gid);
  await place(parent, temporary, name, before);
}

async function writeFile(parent: number, name: string, entry: ChangedEntry, before: Stats | null, around: Stats | null): Promise<void> {
  const mode = entry.mode ?? (before?.isFile() === true ? before.mode & permissionBits : 0o644);
  if (before?.isFile() === true && sameContent(entry.content, at(parent, name))) {
    if ((before.mode & permissionBits) !== mode) chmodSync(at(parent, name), mode);
    return;
  }
  const temporary = temporaryName();
  try {
    copyFileSync(entry.content, at(parent, temporary), constants.COPYFILE_EXCL);
    const owner = before?.isFile() === true ? before : around;
    if (owner !== null && process.getuid?.() === 0) chownSync(at(parent, temporary), owner.uid, owner.gid);
    utimesSync(at(parent, temporary), entry.mtime, entry.mtime);
    chmodSync(at(parent, temporary), mode);
    await place(parent, temporary, name, before);
  } catch (error) {
    await removeTree(parent, temporary);
    throw error;
  }
}

async function place(parent: number, temporary: string, name: string, before: Stats | null): Promise<void> {
  if (isFolder(before)) await removeTree(parent, name);
  renameSync(at(parent, temporary), at(parent, name));
}

function setMode(root: number, path: string, mode: number): void {
  const folder = openBelow(root, path);
  try {
    if (((entryIn(folder, ".")?.mode ?? mode) & permissionBits) !== mode) chmodSync(itself(folder), mode);
  } finally {
    closeSync(folder);
  }
}

function temporaryName(): string {
  return `.lancelot-${randomBytes(8).toString("hex")}.tmp`;
}
