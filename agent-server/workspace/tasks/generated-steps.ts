import { createHash } from "node:crypto";
import { chmodSync, chownSync, closeSync, fstatSync, lstatSync, mkdirSync, rmdirSync } from "node:fs";
import { basename, join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { diskPath, displayPath } from "../byte-path.ts";
import { createPace } from "../effects/tree-walk.ts";
import { errno } from "../file-errors.ts";
import { at, itself } from "../descriptor-paths.ts";
import { copyTree, entryIn, moveEntry, openIfFolder, permissionBits, removeTree, unlock, withFolders } from "./folder-descriptors.ts";
import { type Identity, identityOf, isSame, keptFolder, type Plan, type Step } from "./generated-journal.ts";
import { folderAndName } from "./generated-plan.ts";

/** An entry by its open folder. */
interface Place {
  readonly folder: number;
  readonly name: string;
}

/** One step with its open folders. */
interface Opened {
  readonly index: number;
  readonly path: string;
  /** Where the step changes the workspace. */
  readonly target: Place;
  /** What a put moves there; in a plan of copies, its copy next to the place. */
  readonly origin: Place;
  /** Where the entry that the workspace had goes; in a plan of copies, a name next to the place. */
  readonly old: Place;
  /** The same in the journal. */
  readonly kept: Place;
  /** What a put takes from the source folder. */
  readonly source: Place;
}

type Work = (step: Step, opened: Opened) => void | Promise<void>;

/**
 * Does work for each step, with its folders reached without links. A group of steps in one folder opens it once.
 * @param onMissing gets a step whose folder in the workspace does not exist or is reached by a link
 */
async function forEachStep(
  { journal, plan, reverse = false }: { journal: string; plan: Plan; reverse?: boolean },
  work: Work,
  onMissing: (step: Step, index: number) => void,
): Promise<void> {
  const pace = createPace();
  await withFolders([plan.lower, plan.source, join(journal, keptFolder)], async (workspace, sources, kept) => {
    const group: { path: string | null; sourcePath: string | null; target: number | null; source: number | null; lock: () => void } = {
      path: null,
      sourcePath: null,
      target: null,
      source: null,
      lock: () => undefined,
    };
    const leave = (): void => {
      group.lock();
      for (const folder of [group.target, group.source]) if (folder !== null) closeSync(folder);
      Object.assign(group, { path: null, target: null, source: null, lock: () => undefined });
    };
    const order = plan.steps.map((step, index) => ({ step, index }));
    try {
      for (const { step, index } of reverse ? order.toReversed() : order) {
        await pace();
        const { above, name } = folderAndName(step.path);
        const origin = folderAndName(step.kind === "put" ? step.source : step.path);
        if (group.path !== above || group.sourcePath !== origin.above) {
          leave();
          Object.assign(group, { path: above, sourcePath: origin.above });
          group.target = openIfFolder(workspace, above);
          group.source = openIfFolder(sources, origin.above);
          group.lock = group.target === null ? () => undefined : unlock(group.target, 0o300);
        }
        if (group.target === null) {
          onMissing(step, index);
          continue;
        }
        const beside = (use: string): Place => ({ folder: group.target ?? -1, name: temporaryName(journal, index, use) });
        const source = { folder: group.source ?? -1, name: origin.name };
        const inJournal = { folder: kept, name: String(index) };
        const unlockSource = group.source === null ? () => undefined : unlock(group.source, 0o300);
        try {
          await work(step, {
            index,
            path: step.path,
            target: { folder: group.target, name },
            source,
            kept: inJournal,
            origin: plan.copies ? beside("new") : source,
            old: plan.copies ? beside("old") : inJournal,
          });
        } finally {
          unlockSource();
        }
      }
    } finally {
      leave();
    }
  });
}

/** Copies the entries that will be put or replaced, when renaming does not work. @returns the copies, by step */
export async function prepareCopies(journal: string, plan: Plan): Promise<(Identity | null)[]> {
  const placed: (Identity | null)[] = plan.steps.map(() => null);
  await forEachStep(
    { journal, plan },
    async (step, { index, target, origin, kept, source, path }) => {
      if (step.kind === "folder" && !step.remove) createFolder(target, step.attributes);
      if (step.kind !== "put" && step.kind !== "remove") return;
      expect(target, step.had, path);
      if (step.had !== null) await copyTree(target.folder, target.name, kept.folder, kept.name);
      if (step.kind === "remove") return;
      await copyTree(source.folder, source.name, origin.folder, origin.name);
      const made = entryIn(origin.folder, origin.name);
      if (made !== null) placed[index] = identityOf(made);
    },
    refuse,
  );
  return placed;
}

/** Does all steps by renaming. @throws LancelotError `conflict`, `denied` when the workspace differs from the plan */
export async function doSteps(journal: string, plan: Plan): Promise<void> {
  await forEachStep(
    { journal, plan },
    (step, { target, origin, old, path }) => {
      if (step.kind === "folder") {
        if (step.remove) removeFolder(target);
        else createFolder(target, step.attributes);
      } else if (step.kind === "attributes") setAttributes(target, step.from, step.to);
      else {
        expect(target, step.had, path);
        if (step.had !== null) move(target, old, step.had);
        if (step.kind === "put") move(origin, target, step.put);
      }
    },
    refuse,
  );
}

/**
 * Reverts the steps that were done, the last one first. Steps that were not done yet are recognized.
 * @returns paths that someone else changed meanwhile: they stay, and what the workspace had is in the journal
 */
export async function revertSteps(journal: string, plan: Plan, placed: readonly (Identity | null)[]): Promise<string[]> {
  const conflicts: string[] = [];
  await forEachStep(
    { journal, plan, reverse: true },
    async (step, { index, target, origin, old, kept, path }) => {
      if (step.kind === "folder") {
        if (step.remove) createFolder(target, step.attributes);
        else removeFolder(target);
        return;
      }
      if (step.kind === "attributes") {
        setAttributes(target, step.to, step.from);
        return;
      }
      const put = placed[index] ?? null;
      const now = entryIn(target.folder, target.name);
      if (put !== null && step.kind === "put" && now !== null && isSame(now, put) && entryIn(origin.folder, origin.name) === null) {
        move(target, origin, put);
      }
      if (entryIn(old.folder, old.name) !== null && step.had !== null) {
        if (entryIn(target.folder, target.name) === null) move(old, target, step.had);
        else conflicts.push(displayPath(path));
      }
      if (!plan.copies) return;
      for (const copy of [origin, old]) await removeTree(copy.folder, copy.name);
      if (!conflicts.includes(displayPath(path))) await removeTree(kept.folder, kept.name);
    },
    (step, index) => {
      // A missing folder is usually one that the steps create, so that this one was not done.
      if ((step.kind === "put" || step.kind === "remove") && wasDone(journal, plan, step, index)) conflicts.push(displayPath(step.path));
    },
  );
  return conflicts;
}

/** True when a step was done whose folder in the workspace cannot be reached now. */
function wasDone(journal: string, plan: Plan, step: Step, index: number): boolean {
  if (exists(join(journal, keptFolder), String(index))) return true;
  return step.kind === "put" && !plan.copies && !exists(plan.source, step.source);
}

function exists(root: string, path: string): boolean {
  try {
    return lstatSync(diskPath(`${root}/${path}`), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** Removes copies that are no longer needed: those next to their place, and those that were put from elsewhere. */
export async function removeCopies(journal: string, plan: Plan): Promise<void> {
  await forEachStep(
    { journal, plan },
    async (step, { target, origin, old, source }) => {
      // Until now, copies of what it contained may have been in it.
      if (step.kind === "folder" && step.remove) removeFolder(target);
      if (step.kind !== "put" && step.kind !== "remove") return;
      for (const copy of [origin, old]) await removeTree(copy.folder, copy.name);
      if (step.kind === "put" && source.folder !== -1) await removeTree(source.folder, source.name);
    },
    () => undefined,
  );
}

/** Makes folders read-only again that a host left writable when it died. */
export async function lockFolders(plan: Plan): Promise<void> {
  await withFolders([plan.lower], (workspace) => {
    for (const { path, mode } of plan.locked) {
      const folder = openIfFolder(workspace, path);
      if (folder === null) continue;
      if ((fstatSync(folder).mode & permissionBits) === (mode | 0o300)) chmodSync(itself(folder), mode);
      closeSync(folder);
    }
    return Promise.resolve();
  });
}

function expect(target: Place, had: Identity | null, path: string): void {
  const now = entryIn(target.folder, target.name);
  if (now === null ? had === null : had !== null && isSame(now, had)) return;
  throw new LancelotError("conflict", `${displayPath(path)} was changed by another program in the meantime. It was not overwritten.`);
}

function refuse(step: Step): never {
  throw new LancelotError("denied", `A folder above ${displayPath(step.path)} became a link, or no longer exists. Nothing was changed.`);
}

/** Moves an entry, and gives a read-only folder its permissions again, also those that an interrupted move left it with. */
function move(from: Place, to: Place, known: Identity): void {
  moveEntry(from.folder, from.name, to.folder, to.name);
  if (!known.folder || (known.mode & 0o700) === 0o700) return;
  const folder = openIfFolder(to.folder, to.name);
  if (folder === null) return;
  if ((fstatSync(folder).mode & permissionBits) === (known.mode | 0o700)) chmodSync(itself(folder), known.mode);
  closeSync(folder);
}

function createFolder({ folder, name }: Place, { mode, uid, gid }: { mode: number; uid: number; gid: number }): void {
  try {
    mkdirSync(at(folder, name));
  } catch (error) {
    if (errno(error) === "EEXIST") return;
    throw error;
  }
  const made = openIfFolder(folder, name);
  if (made === null) return;
  if (process.getuid?.() === 0) chownSync(itself(made), uid, gid);
  chmodSync(itself(made), mode);
  closeSync(made);
}

/** Removes a folder unless someone put something into it. */
function removeFolder({ folder, name }: Place): void {
  try {
    rmdirSync(at(folder, name));
  } catch (error) {
    if (!["ENOTEMPTY", "ENOENT", "ENOTDIR"].includes(errno(error) ?? "")) throw error;
  }
}

function setAttributes({ folder, name }: Place, from: { mode: number }, to: { mode: number; uid: number; gid: number }): void {
  const opened = openIfFolder(folder, name);
  if (opened === null) return;
  if (process.getuid?.() === 0) chownSync(itself(opened), to.uid, to.gid);
  if ((fstatSync(opened).mode & permissionBits) === from.mode) chmodSync(itself(opened), to.mode);
  closeSync(opened);
}

/** Not random: the next host must find the copies again. */
function temporaryName(journal: string, index: number, use: string): string {
  const hash = createHash("sha256")
    .update(`${basename(journal)} ${index} ${use}`)
    .digest("hex");
  return `.lancelot-${hash.slice(0, 16)}.tmp`;
}
