import { chmodSync, closeSync, fstatSync, renameSync, type Stats } from "node:fs";
import { LancelotError } from "../../contract/errors.ts";
import { displayPath } from "../byte-path.ts";
import { createPace } from "../effects/tree-walk.ts";
import { at } from "../descriptor-paths.ts";
import {
  copyTree,
  entryIn,
  isDeletionMark,
  isFolder,
  mountOf,
  namesIn,
  openBelow,
  permissionBits,
  removeTree,
  unlock,
} from "./folder-descriptors.ts";
import type { GeneratedCheck } from "./generated-check.ts";
import { identityOf, type Step } from "./generated-journal.ts";
import type { OpaqueFolders } from "./layer-drop.ts";
import { split } from "./write-to-view.ts";

/** A change of the layer before it is applied. */
export interface Cleaning {
  readonly path: string;
  /** `remove`: a pipe, socket, device or mark. `mode`: setuid bits. `unlink`: a hard link to a file that stays in the layer. */
  readonly kind: "remove" | "mode" | "unlink";
}

export interface Planned {
  readonly steps: Step[];
  readonly settled: string[];
  readonly locked: { path: string; mode: number }[];
  readonly cleanings: Cleaning[];
  /** Entries that are never applied, as text. */
  readonly skipped: string[];
  /** Mounts of the folders that entries are put into. */
  readonly mounts: Set<string>;
}

const setuidBits = 0o6000;

/** Plans how the workspace gets what a closed layer has at the paths. Changes nothing. */
export async function planGenerated(
  { layer, workspace, opaque }: { layer: number; workspace: number; opaque: OpaqueFolders },
  paths: readonly string[],
  check: GeneratedCheck,
): Promise<Planned> {
  const pace = createPace();
  const planned: Planned = { steps: [], settled: [], locked: [], cleanings: [], skipped: [], mounts: new Set() };
  const { steps, settled, locked, cleanings, skipped, mounts } = planned;
  const links = new Map<number, { paths: string[]; count: number }>();
  const seen = new Set<string>();
  const made = new Set<string>();

  const hides = (path: string): boolean => (opaque.get(path) ?? []).length > 0;

  /** Notes a folder that gets or loses entries. */
  function changes(folder: string, opened: number): void {
    if (seen.has(folder)) return;
    seen.add(folder);
    noteFolder(planned, folder, opened);
  }

  function noteFile(path: string, stats: Stats): void {
    if ((stats.mode & setuidBits) !== 0) cleanings.push({ path, kind: "mode" });
    if (stats.nlink < 2) return;
    const known = links.get(stats.ino) ?? { paths: [], count: stats.nlink };
    known.paths.push(path);
    links.set(stats.ino, known);
  }

  const kindOf = (stats: Stats) => (stats.isDirectory() ? "folder" : stats.isSymbolicLink() ? "link" : "file");

  /** Looks at everything below a folder that is moved or removed as a whole. */
  async function look(parent: number, name: string, path: string, isNew: boolean): Promise<void> {
    await pace();
    const folder = openBelow(parent, name);
    const lock = unlock(folder, 0o500);
    try {
      const names = namesIn(folder);
      check.folder(path, names);
      for (const inner of names) {
        const child = `${path}/${inner}`;
        const stats = entryIn(folder, inner);
        if (stats === null) continue;
        if (!stats.isDirectory() && !stats.isFile() && !stats.isSymbolicLink()) {
          if (!isNew) continue;
          if (!isDeletionMark(stats)) skipped.push(displayPath(child));
          cleanings.push({ path: child, kind: "remove" });
          continue;
        }
        check.name(child, kindOf(stats));
        if (stats.isDirectory()) await look(folder, inner, child, isNew);
        else if (stats.isFile() && isNew) noteFile(child, stats);
      }
    } finally {
      lock();
      closeSync(folder);
    }
  }

  /** Plans one entry; the folders above it are given where they exist. `hidden`: the view shows nothing of the workspace's folder. */
  async function visit(above: number | null, below: number | null, folder: string, name: string, hidden: boolean): Promise<void> {
    await pace();
    const path = folder === "" ? name : `${folder}/${name}`;
    const now = above === null ? null : entryIn(above, name);
    const was = below === null ? null : entryIn(below, name);
    if (now === null || isDeletionMark(now)) {
      if (now !== null) settled.push(path);
      if (was !== null && below !== null && (now !== null || hidden)) await remove(below, folder, name, path, was);
      return;
    }
    if (above === null) return;
    check.name(path, kindOf(now));
    if (now.isDirectory() && was?.isDirectory() === true && below !== null && !hidden && !hides(path)) {
      await merge(above, below, folder, name, now, was);
      return;
    }
    if (now.isDirectory()) await look(above, name, path, true);
    else if (now.isFile()) noteFile(path, now);
    else if (!now.isSymbolicLink()) {
      skipped.push(displayPath(path));
      return;
    }
    if (was !== null && below !== null) await judgeRemoval(below, name, path, was);
    if (below !== null) changes(folder, below);
    steps.push({ kind: "put", path, source: path, put: identityOf(now), had: was === null ? null : identityOf(was) });
  }

  async function merge(above: number, below: number, folder: string, name: string, now: Stats, was: Stats): Promise<void> {
    const path = folder === "" ? name : `${folder}/${name}`;
    const start = { steps: steps.length, settled: settled.length, skipped: skipped.length, locked: locked.length };
    settled.push(path);
    const [from, to] = [attributesOf(was), attributesOf(now)];
    const differs = from.mode !== to.mode || (process.getuid?.() === 0 && (from.uid !== to.uid || from.gid !== to.gid));
    const opened = [openBelow(above, name), openBelow(below, name)];
    const [layerFolder = -1, workspaceFolder = -1] = opened;
    const locks = opened.map((one) => unlock(one, 0o500));
    try {
      const names = namesIn(layerFolder);
      const known = namesIn(workspaceFolder);
      const shown = names.filter((inner) => !isDeletionMark(entryIn(layerFolder, inner)));
      if (shown.length > 0) check.folder(path, [...shown, ...known]);
      for (const inner of names) await visit(layerFolder, workspaceFolder, path, inner, false);
      if (isReplaced(path, known, start)) {
        for (const list of ["steps", "settled", "locked"] as const) planned[list].splice(start[list]);
        changes(folder, below);
        steps.push({ kind: "put", path, source: path, put: identityOf(now), had: identityOf(was) });
        return;
      }
    } finally {
      for (const lock of locks) lock();
      for (const one of opened) closeSync(one);
    }
    if (differs) steps.push({ kind: "attributes", path, from, to });
  }

  /** True when the layer replaces all that a folder of the workspace contains, so that the whole folder can be moved instead. */
  function isReplaced(path: string, known: readonly string[], start: { steps: number; settled: number; skipped: number }): boolean {
    // Skipped entries stay in the workspace, and a deletion mark must not be moved there.
    if (known.length === 0 || skipped.length > start.skipped || settled.length > start.settled + 1) return false;
    const replaced = new Set<string>();
    for (const step of steps.slice(start.steps)) if (step.kind === "put" && step.had !== null) replaced.add(step.path);
    return known.every((name) => replaced.has(`${path}/${name}`));
  }

  async function judgeRemoval(below: number, name: string, path: string, was: Stats): Promise<void> {
    check.name(path, kindOf(was));
    if (was.isDirectory()) await look(below, name, path, false);
  }

  async function remove(below: number, folder: string, name: string, path: string, was: Stats): Promise<void> {
    await judgeRemoval(below, name, path, was);
    changes(folder, below);
    steps.push({ kind: "remove", path, had: identityOf(was) });
  }

  /** Plans one of the given paths, from the workspace's own folder down. */
  async function start(path: string): Promise<void> {
    const { above, name } = split(path);
    const opened: number[] = [];
    const open = (folder: number, inner: string): number => {
      const found = openBelow(folder, inner);
      opened.push(found);
      return found;
    };
    try {
      let [layerFolder, workspaceFolder, hidden, folder]: [number | null, number | null, boolean, string] = [layer, workspace, false, ""];
      const missing: Step[] = [];
      mounts.add(mountOf(workspace));
      for (const part of above.split("/").filter((one) => one !== "")) {
        folder = folder === "" ? part : `${folder}/${part}`;
        const now: Stats | null = layerFolder === null ? null : entryIn(layerFolder, part);
        const was: Stats | null = workspaceFolder === null ? null : entryIn(workspaceFolder, part);
        if (was !== null && !was.isDirectory() && isFolder(now)) throw replaced(path);
        hidden ||= hides(folder) || (now !== null && !now.isDirectory());
        layerFolder = layerFolder !== null && isFolder(now) ? open(layerFolder, part) : null;
        workspaceFolder = workspaceFolder !== null && isFolder(was) ? open(workspaceFolder, part) : null;
        check.folder(
          folder,
          [layerFolder, workspaceFolder].flatMap((one) => (one === null ? [] : namesIn(one))),
        );
        if (workspaceFolder === null && now !== null && !made.has(folder))
          missing.push({ kind: "folder", path: folder, attributes: attributesOf(now), remove: false });
      }
      const before = steps.length;
      await visit(layerFolder, workspaceFolder, folder, name, hidden);
      if (steps.length === before) return;
      steps.splice(before, 0, ...missing);
      for (const { path: one } of missing) made.add(one);
    } finally {
      for (const one of opened) closeSync(one);
    }
  }

  for (const path of paths) if (!paths.some((other) => path.startsWith(`${other}/`))) await start(path);
  for (const { paths: found, count } of links.values())
    if (found.length < count) for (const path of found) cleanings.push({ path, kind: "unlink" });
  return planned;
}

/** Notes the mount of a folder of the workspace, and that it is read-only. */
export function noteFolder({ locked, mounts }: Pick<Planned, "locked" | "mounts">, path: string, folder: number): void {
  mounts.add(mountOf(folder));
  const { mode, uid } = fstatSync(folder);
  if (uid !== 0 && uid === process.getuid?.() && (mode & 0o300) !== 0o300) locked.push({ path, mode: mode & permissionBits });
}

/** Removes entries from the layer that are never applied. */
export async function cleanLayer(layer: number, cleanings: readonly Cleaning[]): Promise<void> {
  for (const { path, kind } of cleanings) {
    const { above, name } = folderAndName(path);
    const folder = openBelow(layer, above);
    const lock = unlock(folder, 0o700);
    try {
      if (kind === "remove") await removeTree(folder, name);
      else if (kind === "mode") {
        const stats = entryIn(folder, name);
        if (stats?.isFile() === true) chmodSync(at(folder, name), stats.mode & permissionBits & ~setuidBits);
      } else {
        await removeTree(folder, ".lancelot-copy.tmp");
        await copyTree(folder, name, folder, ".lancelot-copy.tmp");
        renameSync(at(folder, ".lancelot-copy.tmp"), at(folder, name));
      }
    } finally {
      lock();
      closeSync(folder);
    }
  }
}

export function folderAndName(path: string): { above: string; name: string } {
  const slash = path.lastIndexOf("/");
  return { above: path.slice(0, Math.max(0, slash)), name: path.slice(slash + 1) };
}

export function attributesOf({ mode, uid, gid }: Stats): { mode: number; uid: number; gid: number } {
  return { mode: mode & permissionBits, uid, gid };
}

function replaced(path: string): LancelotError {
  return new LancelotError("denied", `A folder above ${path} is a link or file in the workspace. Nothing was changed.`);
}
