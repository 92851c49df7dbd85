import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { closeSync, linkSync, mkdirSync, renameSync, rmdirSync, rmSync, type Stats, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { createPace } from "../effects/tree-walk.ts";
import { errno, fileError } from "../file-errors.ts";
import { at } from "../descriptor-paths.ts";
import {
  entryIn,
  isDeletionMark,
  isFolder,
  moveEntry,
  namesIn,
  openBelow,
  openIfFolder,
  permissionBits,
  removeTree,
  unlock,
  withFolders,
} from "./folder-descriptors.ts";
import type { LayerFolders } from "./layer-scan.ts";
import { type RevertScope, setAttributes, split } from "./write-to-view.ts";

/** Names that are asked for before a folder counts as opaque: the view may not show one that the workspace got a moment ago. */
const asked = 3;

/** Folders of a layer that show nothing of the workspace, with the names that they hide; none for a folder that only the layer had. */
export type OpaqueFolders = ReadonlyMap<string, readonly string[]>;

/**
 * Finds the opaque folders of the layer: those above the paths and those below them. Their mark is an extended attribute, which Node cannot
 * read, so the open view is asked for names that only the workspace has.
 * @param paths relative to the workspace, with forward slashes
 * @returns what `dropFromLayer` and `applyGenerated` need once the view is closed
 */
export async function findOpaque({ lower, upper, merged }: LayerFolders, paths: readonly string[]): Promise<OpaqueFolders> {
  const pace = createPace();
  const found = new Map<string, readonly string[]>();
  await withFolders([lower, upper, merged], async (workspace, layer, view) => {
    /** Looks at one folder; false when either side has none. */
    function look(path: string): boolean {
      const opened = [openIfFolder(workspace, path), openIfFolder(layer, path)];
      try {
        const [below, above] = opened;
        if (above === null || above === undefined) return false;
        if (below === null || below === undefined) {
          found.set(path, []);
          return false;
        }
        const written = new Set(namesIn(above));
        const hidden = namesIn(below).filter((name) => !written.has(name));
        const shown = openIfFolder(view, path);
        if (shown === null) return false;
        opened.push(shown);
        if (hidden.length > 0 && hidden.slice(0, asked).every((name) => entryIn(shown, name) === null)) found.set(path, hidden);
        return true;
      } finally {
        for (const folder of opened) if (folder !== null) closeSync(folder);
      }
    }

    async function lookBelow(path: string): Promise<void> {
      await pace();
      if (!look(path)) return;
      const folder = openBelow(layer, path);
      try {
        for (const name of namesIn(folder)) if (isFolder(entryIn(folder, name))) await lookBelow(`${path}/${name}`);
      } finally {
        closeSync(folder);
      }
    }

    for (const path of paths) {
      const { above, name } = split(path);
      const parts = above.split("/").filter((part) => part !== "");
      for (let depth = 1; depth <= parts.length; depth += 1) look(parts.slice(0, depth).join("/"));
      await lookBelow([...parts, name].join("/"));
    }
  });
  return found;
}

export interface ClosedLayer {
  /** What the task wrote, in no open view. */
  readonly upper: string;
  /** The workspace itself. */
  readonly lower: string;
  /** From `findOpaque`, asked while the view was open. */
  readonly opaque: OpaqueFolders;
}

/**
 * Removes what a closed layer has at a path, so that the workspace shows through: the entry or the mark of its deletion, and the folders
 * above it that became empty and equal. A deleted or recreated folder above the path then hides its other content name by name.
 * @throws LancelotError `conflict` when the layer has a file or link above the path where the workspace has a folder
 */
export async function dropFromLayer({ upper, lower, opaque }: ClosedLayer, path: string, scope: RevertScope = "tree"): Promise<void> {
  const { above, name } = split(path);
  const marks = createMarks(dirname(upper));
  try {
    await withFolders([upper, lower], async (layer, workspace) => {
      const source = openIfFolder(workspace, above);
      const was = source === null ? null : entryIn(source, name);
      if (source !== null) closeSync(source);
      if (was !== null) await uncover({ layer, workspace, opaque, marks }, above, path);
      const folder = openIfFolder(layer, above);
      if (folder === null) return;
      const lock = unlock(folder, 0o700);
      try {
        const inner = scope === "entry" && isFolder(was) ? openIfFolder(folder, name) : null;
        if (inner !== null && was !== null) setAttributes(inner, was);
        else await removeTree(folder, name);
        if (inner !== null) closeSync(inner);
      } finally {
        lock();
        closeSync(folder);
      }
      prune(layer, workspace, above, was === null ? opaque : new Map());
    });
  } catch (error) {
    throw fileError(error, path);
  } finally {
    marks.close();
  }
}

interface Uncovering {
  readonly layer: number;
  readonly workspace: number;
  readonly opaque: OpaqueFolders;
  readonly marks: Marks;
}

/** Makes no folder above the path hide the workspace's entries other than by a mark for each. */
async function uncover({ layer, workspace, opaque, marks }: Uncovering, above: string, path: string): Promise<void> {
  const parts = above.split("/").filter((part) => part !== "");
  for (let depth = 1; depth <= parts.length; depth += 1) {
    const folder = parts.slice(0, depth).join("/");
    const name = parts[depth - 1] ?? "";
    const parent = openBelow(layer, parts.slice(0, depth - 1).join("/"));
    const source = openBelow(workspace, folder);
    const lock = unlock(parent, 0o700);
    try {
      const fresh = freshName(name);
      restoreFresh(parent, name);
      const now = entryIn(parent, name);
      if (now === null) return;
      const deleted = isDeletionMark(now);
      if (!deleted && !now.isDirectory())
        throw new LancelotError("conflict", `A folder above ${path} is no folder in the task's files. Revert that first.`);
      if (!deleted && !opaque.has(folder) && entryIn(parent, fresh) === null) continue;
      const like = deleted ? entryIn(source, ".") : now;
      const hidden = new Set(deleted ? namesIn(source) : opaque.get(folder));
      if (like !== null)
        await renew(parent, name, like, (made, written) => {
          for (const inner of namesIn(source)) if (hidden.has(inner) && !written.has(inner)) marks.put(made, inner);
        });
    } finally {
      lock();
      closeSync(parent);
      closeSync(source);
    }
  }
}

/** Removes the mark of an opaque folder that hides nothing, so that it will show what the workspace gets there. */
export async function uncoverFolder(layer: number, path: string): Promise<void> {
  const slash = path.lastIndexOf("/");
  const name = path.slice(slash + 1);
  const parent = openIfFolder(layer, path.slice(0, Math.max(0, slash)));
  if (parent === null) return;
  const lock = unlock(parent, 0o700);
  try {
    restoreFresh(parent, name);
    const now = entryIn(parent, name);
    if (now?.isDirectory() === true) await renew(parent, name, now, () => undefined);
  } finally {
    lock();
    closeSync(parent);
  }
}

/** Replaces a folder or the mark of its deletion by a folder without the opaque mark. `finish` adds to it before it takes the place. */
async function renew(
  parent: number,
  name: string,
  like: Stats,
  finish: (made: number, written: ReadonlySet<string>) => void,
): Promise<void> {
  const pace = createPace();
  const fresh = freshName(name);
  const old = openIfFolder(parent, name);
  if (entryIn(parent, fresh) === null) mkdirSync(at(parent, fresh), { mode: 0o700 });
  const made = openBelow(parent, fresh);
  try {
    if (old !== null) {
      unlock(old, 0o700);
      for (const inner of namesIn(old)) {
        await pace();
        moveEntry(old, inner, made, inner);
      }
    }
    finish(made, new Set(namesIn(made)));
    setAttributes(made, like);
    if (old === null) unlinkSync(at(parent, name));
    else rmdirSync(at(parent, name));
    renameSync(at(parent, fresh), at(parent, name));
  } finally {
    closeSync(made);
    if (old !== null) closeSync(old);
  }
}

/** Not random: after a crash, the next call finds the new folder again. */
function freshName(name: string): string {
  return `.lancelot-${createHash("sha256").update(name).digest("hex").slice(0, 16)}.tmp`;
}

/** Gives a new folder its place after a crash between the removal of the old one and that. */
function restoreFresh(parent: number, name: string): void {
  const fresh = freshName(name);
  if (entryIn(parent, name) === null && entryIn(parent, fresh) !== null) renameSync(at(parent, fresh), at(parent, name));
}

/** Removes the folders above a path that are empty in the layer and equal to the workspace's. */
function prune(layer: number, workspace: number, above: string, opaque: OpaqueFolders): void {
  const parts = above.split("/").filter((part) => part !== "");
  for (let depth = parts.length; depth > 0; depth -= 1) {
    const path = parts.slice(0, depth).join("/");
    if (!removeIfEqual(layer, workspace, parts.slice(0, depth - 1).join("/"), parts[depth - 1] ?? "", (opaque.get(path) ?? []).length > 0))
      return;
  }
}

/** Removes one empty folder that the workspace shows equally; false when it stays. */
export function removeIfEqual(layer: number, workspace: number, above: string, name: string, hides: boolean): boolean {
  const opened = [openIfFolder(layer, above), openIfFolder(workspace, above)];
  try {
    const [parent, other] = opened;
    if (hides || parent === null || parent === undefined || other === null || other === undefined) return false;
    const [now, was] = [entryIn(parent, name), entryIn(other, name)];
    if (now === null || was === null || !now.isDirectory() || !was.isDirectory()) return false;
    if (((now.mode ^ was.mode) & permissionBits) !== 0 || now.uid !== was.uid || now.gid !== was.gid) return false;
    const lock = unlock(parent, 0o700);
    try {
      rmdirSync(at(parent, name));
      return true;
    } finally {
      lock();
    }
  } catch (error) {
    if (errno(error) === "ENOTEMPTY") return false;
    throw error;
  } finally {
    for (const folder of opened) if (folder !== null) closeSync(folder);
  }
}

/** Creates marks of deleted entries. */
interface Marks {
  put(folder: number, name: string): void;
  close(): void;
}

/** Node cannot create devices, so a program does that once, and further marks are hard links of the first. */
function createMarks(folder: string): Marks {
  let first: string | null = null;
  const make = (): string => {
    const path = join(folder, `mark-${randomBytes(8).toString("hex")}`);
    execFileSync("mknod", [path, "c", "0", "0"], { stdio: "ignore" });
    return path;
  };
  return {
    put(parent, name) {
      first ??= make();
      try {
        linkSync(first, at(parent, name));
      } catch (error) {
        if (errno(error) !== "EMLINK") throw error;
        rmSync(first);
        first = make();
        linkSync(first, at(parent, name));
      }
    },
    close() {
      if (first !== null) rmSync(first, { force: true });
    },
  };
}
