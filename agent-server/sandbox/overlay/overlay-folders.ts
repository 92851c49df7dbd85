import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { OverlayLayer } from "../../workspace/workspace.ts";

/**
 * The extended attributes that mark what a layer hides. Only root can mount with `trusted` ones; an engine may give no choice. A mount
 * does not understand the other kind, so a task keeps one kind.
 */
export type OverlayMarks = "user" | "trusted";

export interface OverlayOptions {
  /** The id of the sandbox that opens the view. */
  readonly sandbox: string;
  /**
   * Keeps the files that a task wrote, between its commands; absolute, in no layer's `lower`. Its file system must support overlays (not
   * overlayfs, NFS or vfat).
   */
  readonly folder: string;
  readonly layers: readonly OverlayLayer[];
  /** The user's environment, of which the PATH is used. */
  readonly env: NodeJS.ProcessEnv;
  /** The user that commands run as when this process is root; absent otherwise. */
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
  /** `user` unless given. */
  readonly marks?: OverlayMarks;
}

/** The folder of a task that its commands see as /tmp; it contains their home folder. */
export const temporaryName = "tmp";

/** Exists where the layers have `trusted` marks. */
const trustedFile = "trusted-marks";

/** Records the start of the system during which the layers were last mounted. */
const bootFile = "boot";

/**
 * Creates what a view needs in the task's folder, and frees layers for another mount. A merged folder takes mode and owner of the upper
 * one, so these are the shown folder's.
 * @returns whether the contents of the layers were discarded, because the system stopped before they reached the disk
 * @throws LancelotError `unavailable` for layers with the other kind of marks
 */
export function prepareFolders({ folder, layers, owner, marks = "user" }: Omit<OverlayOptions, "sandbox" | "env">): boolean {
  const own = (path: string): void => {
    if (owner !== undefined) chownSync(path, owner.uid, owner.gid);
  };
  const make = (path: string, mode: number): boolean => {
    if (existsSync(path)) return false;
    mkdirSync(path, { mode: 0o700 });
    chmodSync(path, mode);
    own(path);
    return true;
  };
  // Where a layer is shown below /tmp, an engine of root would create these folders as its own.
  const makeMountPoint = (above: string, path: string): void => {
    for (const name of path.split("/")) {
      above = join(above, name);
      make(above, 0o755);
    }
  };
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  own(folder);
  if (make(join(folder, temporaryName), 0o1777))
    for (const { lower } of layers) if (lower.startsWith("/tmp/")) makeMountPoint(join(folder, temporaryName), lower.slice("/tmp/".length));
  make(join(folder, temporaryName, "home"), 0o700);
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const mark = join(folder, bootFile);
  const wasReset = existsSync(mark) && readFileSync(mark, "utf8") !== boot;
  const isTrusted = join(folder, trustedFile);
  if (wasReset || !layers.some(({ name }) => existsSync(join(folder, name, "upper")))) {
    rmSync(isTrusted, { force: true });
    if (marks === "trusted") writeFileSync(isTrusted, "", { mode: 0o600 });
  } else if (existsSync(isTrusted) !== (marks === "trusted"))
    throw new LancelotError(
      "unavailable",
      "Commands of this task ran in another sandbox, which stores their files in another way. Switch back to it, or start a new task.",
    );
  for (const { name, lower } of layers) {
    const layer = join(folder, name);
    make(layer, 0o700);
    releaseLayer(layer);
    if (wasReset) rmSync(join(layer, "upper"), { recursive: true, force: true });
    for (const part of ["lower", "work"]) make(join(layer, part), 0o700);
    const { mode, uid, gid } = statSync(lower);
    const upper = join(layer, "upper");
    if (make(upper, mode & 0o7777) && process.getuid?.() === 0) chownSync(upper, uid, gid);
  }
  writeFileSync(mark, boot, { mode: 0o600 });
  return wasReset;
}

/**
 * Removes the mark that a layer was mounted. It is mounted without waiting for the disk, so the system refuses to mount it again until
 * somebody has judged whether its contents are whole: they are as long as the system has not started again since.
 */
export function releaseLayer(layer: string): void {
  const own = join(layer, "work", "work");
  // The system closes its folders there to everybody.
  for (const closed of [own, join(own, "incompat"), join(own, "incompat/volatile")]) if (existsSync(closed)) chmodSync(closed, 0o700);
  rmSync(own, { recursive: true, force: true });
}

/** True when two layers of a task would show the same folder, or one of them a folder that contains the task's own. */
export function overlaps(folder: string, layers: readonly OverlayLayer[]): boolean {
  const holds = (outer: string, inner: string): boolean => inner === outer || inner.startsWith(outer.endsWith("/") ? outer : `${outer}/`);
  return layers.some(({ lower }, at) => holds(lower, folder) || layers.some((other, index) => index !== at && holds(lower, other.lower)));
}
