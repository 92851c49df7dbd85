import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  mkdirSync,
  renameSync,
  type Stats,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { LancelotError } from "../../contract/errors.ts";
import { createPace } from "../effects/tree-walk.ts";
import { errno, fileError } from "../file-errors.ts";
import { at, itself } from "../descriptor-paths.ts";
import {
  copyTree,
  createFile,
  entryIn,
  isFolder,
  namesIn,
  openBelow,
  openIfFolder,
  permissionBits,
  removeTree,
  unlock,
  withFolders,
  withMode,
} from "./folder-descriptors.ts";
import { sameContent } from "./layer-scan.ts";

export interface ViewFolders {
  /** The merged folder of an open view. */
  readonly merged: string;
  /** The workspace itself. */
  readonly lower: string;
}

/**
 * `tree` is a path with all that is below it. `entry` leaves alone the content of a folder that both sides have, so that only the folder's
 * own permissions change.
 */
export type RevertScope = "tree" | "entry";

/**
 * Atomically creates or replaces a file in an open view, with the folders above it; null removes the file. Links in the view are never
 * followed. This process must be the user that mounted the view, otherwise the system cannot store its files there.
 * @param path relative to the workspace, with forward slashes
 * @param mode permission bits without setuid and setgid
 * @throws LancelotError `denied` for a link above the path, `conflict` where a folder is (or a file above the path), `unavailable` when
 *   the disk is full
 */
export async function putInView({ merged, lower }: ViewFolders, path: string, bytes: Uint8Array | null, mode: number): Promise<void> {
  const { above, name } = split(path);
  try {
    await withFolders([merged, lower], async (view, workspace) => {
      const folder = enterFolders(view, above, path, bytes === null ? null : workspace);
      if (folder === null) return;
      try {
        const before = entryIn(folder, name);
        if (isFolder(before)) throw new LancelotError("conflict", `${path} is a folder in the task's files. It was not changed.`);
        withMode(folder, 0o700, () => {
          if (bytes !== null) replaceFile(folder, name, bytes, mode & 0o1777, before);
          else if (before !== null) unlinkSync(at(folder, name));
        });
      } finally {
        closeSync(folder);
      }
    });
  } catch (error) {
    throw fileError(error, path);
  }
}

/**
 * Makes a path of an open view show what the workspace has, whatever the view has there. The layer then contains a copy, so a later change
 * in the workspace is not shown before `dropFromLayer` removed it.
 * @throws LancelotError as `putInView`
 */
export async function revertInView({ merged, lower }: ViewFolders, path: string, scope: RevertScope = "tree"): Promise<void> {
  const { above, name } = split(path);
  try {
    await withFolders([merged, lower], async (view, workspace) => {
      const source = openIfFolder(workspace, above);
      const was = source === null ? null : entryIn(source, name);
      const folder = was === null ? openIfFolder(view, above) : enterFolders(view, above, path, workspace);
      const lock = folder === null ? null : unlock(folder, 0o700);
      try {
        if (folder === null) return;
        if (source === null || was === null) await removeTree(folder, name);
        else await restore(folder, source, name, was, scope);
      } finally {
        lock?.();
        for (const opened of [source, folder]) if (opened !== null) closeSync(opened);
      }
    });
  } catch (error) {
    throw fileError(error, path);
  }
}

const pace = createPace();

/** Makes an entry of the view equal to the workspace's. */
async function restore(view: number, workspace: number, name: string, was: Stats, scope: RevertScope): Promise<void> {
  await pace();
  const now = entryIn(view, name);
  if (was.isDirectory()) {
    await restoreFolder(view, workspace, name, was, now, scope);
    return;
  }
  if (now?.isFile() === true && was.isFile() && sameAttributes(was, now) && was.size === now.size) {
    if (sameContent(at(workspace, name), at(view, name))) return;
  }
  const temporary = temporaryName();
  await copyTree(workspace, name, view, temporary);
  if (isFolder(now)) await removeTree(view, name);
  try {
    renameSync(at(view, temporary), at(view, name));
  } catch (error) {
    await removeTree(view, temporary);
    // The workspace has a pipe, socket or device there, which is never copied.
    if (errno(error) !== "ENOENT") throw error;
  }
}

async function restoreFolder(view: number, workspace: number, name: string, was: Stats, now: Stats | null, scope: RevertScope) {
  if (now !== null && !now.isDirectory()) unlinkSync(at(view, name));
  if (now?.isDirectory() !== true) mkdirSync(at(view, name), { mode: 0o700 });
  const [source, folder] = [openBelow(workspace, name), openBelow(view, name)];
  try {
    if (scope === "tree" || now?.isDirectory() !== true) {
      if (((now?.mode ?? 0) & 0o700) !== 0o700) chmodSync(itself(folder), 0o700);
      const names = namesIn(source);
      const known = new Set(names);
      for (const inner of namesIn(folder)) if (!known.has(inner)) await removeTree(folder, inner);
      for (const inner of names) {
        const stats = entryIn(source, inner);
        if (stats !== null) await restore(folder, source, inner, stats, scope);
      }
    }
    setAttributes(folder, was);
  } finally {
    closeSync(source);
    closeSync(folder);
  }
}

function replaceFile(folder: number, name: string, bytes: Uint8Array, mode: number, before: Stats | null): void {
  const temporary = temporaryName();
  const file = createFile(folder, temporary);
  let placed = false;
  try {
    writeFileSync(file, bytes);
    own(file, before ?? entryIn(folder, "."));
    fchmodSync(file, mode);
    fsyncSync(file);
    renameSync(at(folder, temporary), at(folder, name));
    placed = true;
  } finally {
    closeSync(file);
    if (!placed) unlinkSync(at(folder, temporary));
  }
}

/** Gives what root creates to the user whose files are around it. */
function own(file: number, like: Stats | null): void {
  if (process.getuid?.() === 0 && like !== null) fchownSync(file, like.uid, like.gid);
}

/**
 * Opens the folder at a path below the view's root.
 * @param workspace creates missing folders with the attributes they have there; null returns null for a missing folder
 */
function enterFolders(view: number, above: string, path: string, workspace: number | null): number | null {
  let done = "";
  return openBelow(view, above, (folder, name) => {
    done = done === "" ? name : `${done}/${name}`;
    const found = entryIn(folder, name);
    if (found === null && workspace === null) return false;
    if (found === null && workspace !== null) createFolder(folder, name, workspace, done);
    else if (found?.isSymbolicLink() === true)
      throw new LancelotError("denied", `A folder above ${path} is a symbolic link in the task's files. Nothing was changed.`);
    else if (!isFolder(found)) throw new LancelotError("conflict", `A folder above ${path} is no folder in the task's files.`);
    return true;
  });
}

function createFolder(parent: number, name: string, workspace: number, path: string): void {
  withMode(parent, 0o700, () => mkdirSync(at(parent, name)));
  const like = openIfFolder(workspace, path);
  const made = openBelow(parent, name);
  try {
    const around = entryIn(like ?? parent, ".");
    if (around !== null && process.getuid?.() === 0) chownSync(itself(made), around.uid, around.gid);
    if (around !== null && like !== null) chmodSync(itself(made), around.mode & permissionBits);
  } finally {
    closeSync(made);
    if (like !== null) closeSync(like);
  }
}

/** Gives an open folder the permissions, times and, as root, the owner of another. */
export function setAttributes(folder: number, { mode, uid, gid, atime, mtime }: Stats): void {
  if (process.getuid?.() === 0) chownSync(itself(folder), uid, gid);
  chmodSync(itself(folder), mode & permissionBits);
  utimesSync(itself(folder), atime, mtime);
}

function sameAttributes(one: Stats, other: Stats): boolean {
  return one.mode === other.mode && one.uid === other.uid && one.gid === other.gid;
}

function temporaryName(): string {
  return `.lancelot-${randomBytes(8).toString("hex")}.tmp`;
}

/** NUL that stands for no byte. */
const misplacedNul = /\0(?![89a-f][0-9a-f])/;

/** Splits a path into its folder and its last name. @throws LancelotError `invalid_params` for a path that is not below the workspace. */
export function split(path: string): { above: string; name: string } {
  const parts = path.split("/");
  if (parts.some((part) => part === "" || part === "." || part === ".." || misplacedNul.test(part)))
    throw new LancelotError("invalid_params", `${path} is not a path in the workspace.`);
  return { above: parts.slice(0, -1).join("/"), name: parts.at(-1) ?? "" };
}
