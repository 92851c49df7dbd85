import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { fileError } from "../file-errors.ts";
import { at } from "../descriptor-paths.ts";
import { entryIn, isDeletionMark, mountOf, openIfFolder, removeTree, unlock, withFolders } from "./folder-descriptors.ts";
import { createGeneratedCheck } from "./generated-check.ts";
import {
  journalFolder,
  keptFolder,
  type Plan,
  placedBy,
  readPlan,
  readState,
  type State,
  unfinishedJournals,
  writePlan,
  writeState,
} from "./generated-journal.ts";
import { cleanLayer, type Planned, planGenerated, folderAndName } from "./generated-plan.ts";
import { doSteps, lockFolders, prepareCopies, removeCopies, revertSteps } from "./generated-steps.ts";
import { planUndo } from "./generated-undo.ts";
import { type OpaqueFolders, removeIfEqual, uncoverFolder } from "./layer-drop.ts";

export interface GeneratedRequest {
  readonly taskFolder: string;
  /** Names the journal in the task's folder; never used twice. */
  readonly id: string;
  /**
   * What the task wrote. No view may be open, and no program may run that entered one: it could write to the workspace through the moved
   * folders.
   */
  readonly upper: string;
  /** The workspace itself. */
  readonly lower: string;
  /** From `findOpaque` for the paths, asked while the view was open. */
  readonly opaque: OpaqueFolders;
  /** Everything that is applied: the generated files and folders that are in no other, relative to the workspace. */
  readonly paths: readonly string[];
  readonly judgeName: (relative: string) => "secret" | "protected" | null;
}

export interface AppliedGenerated {
  readonly journal: string;
  /** Number of entries that were moved, removed or changed. */
  readonly steps: number;
  /** Pipes, sockets and devices, which are never applied. */
  readonly skipped: readonly string[];
}

/**
 * Applies generated entries of a closed layer to the workspace: a folder that the workspace does not have by one rename, others entry by
 * entry; across file systems by copies that are made first. What the workspace had is kept in the journal. When it cannot be completed,
 * nothing is changed; after a crash, `recoverGenerated` does that.
 *
 * Setuid bits, pipes, sockets and devices are taken out of the layer. A file with a hard link elsewhere in the layer is separated from it,
 * because writing to the link would change the workspace.
 * @throws LancelotError `denied` when repository metadata, secrets or protected names are among the entries (`data.paths`) or a folder
 *   above one became a link, `conflict` when the workspace changes meanwhile, `unavailable` when the disk is full
 */
export async function applyGenerated(request: GeneratedRequest): Promise<AppliedGenerated> {
  const { taskFolder, id, upper, lower } = request;
  const journal = journalFolder(taskFolder, id);
  try {
    const { planned, skipped, isOneMount } = await withFolders([upper, lower], (layer, workspace) => prepare(layer, workspace, request));
    mkdirSync(dirname(journal), { recursive: true, mode: 0o700 });
    mkdirSync(journal, { mode: 0o700 });
    mkdirSync(join(journal, keptFolder), { mode: 0o700 });
    const { steps, settled, locked } = planned;
    await run(journal, { version: 1, lower, source: upper, steps, copies: !isOneMount, settled, locked, reverts: null });
    return { journal, steps: steps.length, skipped };
  } catch (error) {
    throw fileError(error, "The folder of generated files");
  }
}

async function prepare(layer: number, workspace: number, { opaque, paths, judgeName }: GeneratedRequest) {
  const plan = async (): Promise<Planned> => {
    const check = createGeneratedCheck(judgeName);
    const planned = await planGenerated({ layer, workspace, opaque }, paths, check);
    const { refused } = check;
    if (refused.length === 0) return planned;
    throw new LancelotError("denied", `${refused[0] ?? ""} is never applied as a generated file. Nothing was changed.`, {
      data: { paths: refused.slice(0, 100) },
    });
  };
  const first = await plan();
  if (first.cleanings.length > 0) await cleanLayer(layer, first.cleanings);
  const planned = first.cleanings.length > 0 ? await plan() : first;
  const mount = mountOf(layer);
  return { planned, skipped: first.skipped, isOneMount: [...planned.mounts].every((other) => other === mount) };
}

/**
 * Gives the workspace what it had before a journal. What the journal had put there is kept in a new journal, whose undo applies it again.
 * @returns the new journal, and the paths that were changed since and stay as they are
 * @throws LancelotError `conflict` when the journal was undone already or is unfinished, else as `applyGenerated`
 */
export async function undoGenerated(journal: string): Promise<{ journal: string; conflicts: readonly string[] }> {
  if (generatedState(journal) !== "applied")
    throw new LancelotError("conflict", "These generated files are not applied, so they cannot be undone.");
  const done = readPlan(journal);
  const placed = placedBy(done, readState(journal) ?? { status: "done", placed: [] });
  const undo = join(dirname(journal), `${basename(journal).slice(0, 100)}-${randomBytes(4).toString("hex")}`);
  const source = join(journal, keptFolder);
  try {
    const { steps, conflicts, locked, copies } = await withFolders([done.lower, source], (workspace, kept) =>
      Promise.resolve(planUndo(workspace, kept, done.steps, placed)),
    );
    mkdirSync(join(undo, keptFolder), { recursive: true, mode: 0o700 });
    await run(undo, { version: 1, lower: done.lower, source, steps, copies, settled: [], locked, reverts: journal });
    return { journal: undo, conflicts };
  } catch (error) {
    throw fileError(error, "The folder of generated files");
  }
}

/**
 * `applied`: the workspace has what the journal put there. `reverted`: it has what it had before. `unfinished`: a host works on it, or died
 * meanwhile. `none`: nothing was changed.
 */
export function generatedState(journal: string): "applied" | "reverted" | "unfinished" | "none" {
  const status = readState(journal)?.status;
  if (status === undefined) return "none";
  return status === "done" ? "applied" : status === "reverted" ? "reverted" : "unfinished";
}

/**
 * Ends what a host left unfinished when it died: completes it when only the layer was not cleaned up, and reverts it otherwise. Call it
 * while no other host uses the task's folder, before the next view of it is opened.
 * @returns conflicts: paths that were changed meanwhile and stay as they are; what the workspace had is in the journal
 */
export async function recoverGenerated(
  taskFolder: string,
): Promise<{ journal: string; outcome: "applied" | "reverted"; conflicts: readonly string[] }[]> {
  const recovered: { journal: string; outcome: "applied" | "reverted"; conflicts: readonly string[] }[] = [];
  try {
    for (const journal of unfinishedJournals(taskFolder)) {
      const state = readState(journal);
      if (state === null) {
        await removeJournal(journal);
        continue;
      }
      const plan = readPlan(journal);
      if (state.status === "applied") {
        await finish(journal, plan, state);
        recovered.push({ journal, outcome: "applied", conflicts: [] });
      } else recovered.push({ journal, outcome: "reverted", conflicts: await revert(journal, plan, state) });
    }
    return recovered;
  } catch (error) {
    throw fileError(error, "The folder of generated files");
  }
}

async function run(journal: string, plan: Plan): Promise<void> {
  let state: State = { status: "preparing", placed: [] };
  try {
    writePlan(journal, plan);
    if (plan.copies) {
      writeState(journal, state);
      state = { ...state, placed: await prepareCopies(journal, plan) };
    }
    state = { ...state, status: "applying" };
    writeState(journal, state);
    await doSteps(journal, plan);
    state = { ...state, status: "applied" };
    writeState(journal, state);
  } catch (error) {
    await revert(journal, plan, state);
    throw error;
  }
  await finish(journal, plan, state);
}

async function finish(journal: string, plan: Plan, state: State): Promise<void> {
  if (plan.copies) await removeCopies(journal, plan);
  await settle(plan);
  if (plan.reverts !== null) writeState(plan.reverts, { status: "reverted", placed: [] });
  writeState(journal, { ...state, status: "done" });
}

async function revert(journal: string, plan: Plan, state: State): Promise<string[]> {
  const conflicts = await revertSteps(journal, plan, placedBy(plan, state));
  await lockFolders(plan);
  if (conflicts.length === 0) await removeJournal(journal);
  else writeState(journal, { ...state, status: "reverted" });
  return conflicts;
}

/** Removes deletion marks and empty folders from the layer, so that it shows the workspace there. */
async function settle({ lower, source, steps, settled, reverts }: Plan): Promise<void> {
  if (reverts !== null) return;
  const made = steps.filter(({ kind }) => kind === "folder").map(({ path }) => path);
  await withFolders([source, lower], async (layer, workspace) => {
    for (const path of made) await uncoverFolder(layer, path);
    for (const path of [...made, ...settled].toReversed()) {
      const { above, name } = folderAndName(path);
      const folder = openIfFolder(layer, above);
      if (folder === null) continue;
      const lock = unlock(folder, 0o300);
      try {
        if (isDeletionMark(entryIn(folder, name))) unlinkSync(at(folder, name));
        else removeIfEqual(layer, workspace, above, name, false);
      } finally {
        lock();
        closeSync(folder);
      }
    }
  });
}

async function removeJournal(journal: string): Promise<void> {
  await withFolders([dirname(journal)], (folder) => removeTree(folder, basename(journal)));
}
