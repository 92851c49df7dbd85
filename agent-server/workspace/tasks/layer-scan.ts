import { chmodSync, closeSync, constants, lstatSync, openSync, readdirSync, readlinkSync, readSync, type Stats } from "node:fs";
import { join } from "node:path";
import { createPace } from "../effects/tree-walk.ts";
import { diskPath, fromBytes } from "../byte-path.ts";
import { errno } from "../file-errors.ts";
import { temporaryName } from "../file-operations.ts";

/** Bytes of the longest path that the system takes, less those of a name that is looked up below it. */
const maxPathBytes = 4_095 - 255;

/** The entry at a path. `other`: a pipe, socket or device, or a folder so deep that no path names what it contains. */
export interface LayerEntry {
  readonly kind: "file" | "link" | "folder" | "other";
  /** Permission bits; always the same for links. */
  readonly mode: number;
  /** Bytes of a file. */
  readonly size: number;
}

/** A path that a task's view shows otherwise than the workspace does. */
export interface LayerChange {
  /** Relative to the workspace, with forward slashes; of any bytes (byte-path.ts). */
  readonly path: string;
  /** In the workspace; null when nothing stands there. */
  readonly before: LayerEntry | null;
  /** In the view; null when nothing stands there. */
  readonly after: LayerEntry | null;
}

export interface LayerFolders {
  /** The workspace itself. */
  readonly lower: string;
  /** What the task wrote. */
  readonly upper: string;
  /** Both merged, as an open view shows them. */
  readonly merged: string;
}

/**
 * Lists what differs between the workspace and the view of a task, folders before their content. The cost grows with the size of the layer and
 * with the content of deleted folders, whose entries are listed one by one. Files that were written with the content they had are no change.
 *
 * The upper layer has the written entries, and a character device 0:0 for each deleted entry. A folder that was removed and created again
 * hides what the workspace has in its place. Its mark is an extended attribute, which Node cannot read, so the view is asked for one name
 * that only the workspace has.
 * @param onUnchanged receives files and links that were written but equal the workspace's: their copies hide what the user changes later
 */
export async function scanLayer(
  { lower, upper, merged }: LayerFolders,
  onUnchanged: (path: string) => void = () => undefined,
): Promise<LayerChange[]> {
  const pace = createPace();
  const changes: LayerChange[] = [];
  const maxBytes = maxPathBytes - Math.max(...[lower, upper, merged].map((folder) => Buffer.byteLength(folder)));

  /** @param inLower whether the workspace has a folder at `path`, reached without a link */
  async function visit(path: string, inLower: boolean): Promise<void> {
    await pace();
    const written = namesIn(join(upper, path));
    for (const name of written) {
      const child = below(path, name);
      const now = statOf(join(upper, child));
      if (now === null) continue;
      const was = inLower ? statOf(join(lower, child)) : null;
      if (isDeletion(now)) {
        if (was !== null) await listDeleted(child, was);
        continue;
      }
      const [before, after] = [was === null ? null : entryOf(was), entryOf(now)];
      if (Buffer.byteLength(child) > maxBytes) {
        changes.push({ path: child, before, after: { ...after, kind: "other" } });
        continue;
      }
      const wasFolder = before?.kind === "folder";
      if (wasFolder && after.kind !== "folder") await listBelow(child);
      if (before === null || differ(before, after, join(lower, child), join(upper, child))) changes.push({ path: child, before, after });
      else if (after.kind !== "folder") onUnchanged(child);
      if (after.kind === "folder") await visit(child, wasFolder);
    }
    if (inLower) await listHidden(path, new Set(written));
  }

  /** Lists what a folder that was created again no longer shows. */
  async function listHidden(path: string, written: ReadonlySet<string>): Promise<void> {
    const others = namesIn(join(lower, path)).filter((name) => !written.has(name));
    const [one] = others;
    if (one === undefined || statOf(join(merged, path, one)) !== null) return;
    for (const name of others) await listIfThere(below(path, name));
  }

  async function listIfThere(path: string): Promise<void> {
    const was = statOf(join(lower, path));
    if (was !== null) await listDeleted(path, was);
  }

  async function listDeleted(path: string, was: Stats): Promise<void> {
    changes.push({ path, before: entryOf(was), after: null });
    if (was.isDirectory()) await listBelow(path);
  }

  /** Lists everything in a folder of the workspace as deleted. */
  async function listBelow(path: string): Promise<void> {
    await pace();
    for (const name of namesIn(join(lower, path))) await listIfThere(below(path, name));
  }

  await visit("", true);
  return changes;
}

function below(path: string, name: string): string {
  return path === "" ? name : `${path}/${name}`;
}

/** Names in a folder, sorted. A folder that its owner may not read is opened for that moment. */
function namesIn(folder: string): string[] {
  const place = diskPath(folder);
  const read = () =>
    readdirSync(place, { encoding: "buffer" })
      .map(fromBytes)
      .filter((name) => !temporaryName.test(name))
      .sort();
  try {
    return read();
  } catch (error) {
    if (errno(error) !== "EACCES") throw error;
  }
  const { mode } = lstatSync(place);
  chmodSync(place, 0o700);
  try {
    return read();
  } finally {
    chmodSync(place, mode & 0o7777);
  }
}

/** An entry; null where there is none, also because a folder above it is no folder. @param path as `fromBytes` names it */
export function statOf(path: string): Stats | null {
  try {
    return lstatSync(diskPath(path), { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    if (errno(error) === "ENOTDIR" || errno(error) === "ELOOP") return null;
    throw error;
  }
}

function isDeletion(stats: Stats): boolean {
  return stats.isCharacterDevice() && stats.rdev === 0;
}

function entryOf(stats: Stats): LayerEntry {
  const kind = stats.isFile() ? "file" : stats.isSymbolicLink() ? "link" : stats.isDirectory() ? "folder" : "other";
  return { kind, mode: kind === "link" ? 0o777 : stats.mode & 0o7777, size: kind === "file" ? stats.size : 0 };
}

function differ(before: LayerEntry, after: LayerEntry, was: string, now: string): boolean {
  if (before.kind !== after.kind || before.mode !== after.mode || before.size !== after.size) return true;
  if (after.kind === "link") return !targetOf(was).equals(targetOf(now));
  return after.kind === "other" || (after.kind === "file" && !sameContent(diskPath(was), diskPath(now)));
}

function targetOf(link: string): Buffer {
  return readlinkSync(diskPath(link), { encoding: "buffer" });
}

const chunkBytes = 64 * 1024;

/** Compares two files of equal size; one that cannot be read counts as different. */
export function sameContent(one: string | Buffer, other: string | Buffer): boolean {
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const opened: number[] = [];
  try {
    for (const path of [one, other]) opened.push(openSync(path, flags));
    const [first = -1, second = -1] = opened;
    const [a, b] = [Buffer.allocUnsafe(chunkBytes), Buffer.allocUnsafe(chunkBytes)];
    for (;;) {
      const [left, right] = [readSync(first, a), readSync(second, b)];
      if (left !== right || a.compare(b, 0, right, 0, left) !== 0) return false;
      if (left === 0) return true;
    }
  } catch {
    return false;
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}
