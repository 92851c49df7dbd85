import { existsSync, lstatSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { findRepository, isBelow, type Repository } from "../git/git-repository.ts";
import { type Git, gitOf } from "../git/git.ts";
import { readRefState, type RefState } from "../git/ref-state.ts";
import { removeTree, withFolders } from "./folder-descriptors.ts";
import { filesBelow } from "./layer-file.ts";
import { readRepositoryWork, type RepositoryWork } from "./repository-work.ts";
import type { OpenView, OverlayLayer, OverlayView } from "./types.ts";
import { workspaceLayer } from "./workspace-layer.ts";
import { revertInView } from "./write-to-view.ts";

/** How long (ms) reading a task's commits may take. */
const readWithin = 120_000;

/** Names the layer of a linked work tree's repository in the folder of a task. */
const linkedName = "repository";

/**
 * The repository that commands of the workspace's tasks can change: the workspace's own, or that of a linked work tree, which is elsewhere. Null without
 * one.
 * @throws LancelotError as `findRepository`
 */
function ownRepository(workspace: string): (Repository & { readonly isLinked: boolean }) | null {
  const folder = join(workspace, ".git");
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) return null;
  const found = findRepository(workspace);
  if (found === null) return null;
  if (found.commonDir === folder) return { ...found, isLinked: false };
  const isApart = !isBelow(workspace, found.commonDir) && !isBelow(found.commonDir, workspace);
  return isApart && found.gitDir !== found.commonDir ? { ...found, isLinked: true } : null;
}

/** The repository of a linked work tree as a layer of its tasks' views; null where there is none. */
export function linkedLayer(workspace: string): OverlayLayer | null {
  if (lstatSync(join(workspace, ".git"), { throwIfNoEntry: false })?.isFile() !== true) return null;
  try {
    const repository = ownRepository(workspace);
    return repository?.isLinked === true ? { name: linkedName, lower: repository.commonDir } : null;
  } catch {
    // It is damaged, closed or not this folder's own, so no command gets it.
    return null;
  }
}

/** The folder with HEAD and index of the workspace. */
export function headFolder(workspace: string): string {
  return linkedLayer(workspace) === null ? join(workspace, ".git") : (findRepository(workspace)?.gitDir ?? join(workspace, ".git"));
}

/** Opens a view of the workspace, with the repository of a linked work tree where the sandbox can show it: elsewhere, commands have none. */
export async function openWithRepository(openView: OpenView, folder: string, workspace: string): Promise<OverlayView> {
  const linked = linkedLayer(workspace);
  if (linked !== null) {
    try {
      return await openView({ folder, layers: [workspaceLayer(workspace), linked] });
    } catch (error) {
      if (!(error instanceof LancelotError) || error.code !== "unavailable") throw error;
    }
  }
  return openView({ folder, layers: [workspaceLayer(workspace)] });
}

/** The common metadata folder of the repository as an open view shows it, and in its layer. */
export function repositoryIn(view: OverlayView, workspace: string): { merged: string; upper: string; linked: OverlayLayer | null } {
  const linked = view.layers.find(({ name }) => name === linkedName) ?? null;
  if (linked !== null) return { merged: view.merged(linked), upper: view.upper(linked), linked };
  const layer = workspaceLayer(workspace);
  return { merged: join(view.merged(layer), ".git"), upper: join(view.upper(layer), ".git"), linked };
}

/** True when a task wrote the repository of a linked work tree. */
export function isLinkedWritten(view: OverlayView, workspace: string): boolean {
  const { linked, upper } = repositoryIn(view, workspace);
  try {
    return linked !== null && readdirSync(upper).length > 0;
  } catch {
    // A command closed it.
    return true;
  }
}

/** The layer of a linked work tree's repository in the folder of a task; null where the metadata is in the workspace. */
export function linkedUpper(folder: string, workspace: string): string | null {
  return linkedLayer(workspace) === null ? null : join(folder, linkedName, "upper");
}

/** Removes everything that a task did to the repository of a linked work tree. No view is open. */
export async function emptyLayer(upper: string): Promise<void> {
  if (!existsSync(upper)) return;
  await withFolders([dirname(upper)], (folder) => removeTree(folder, basename(upper)));
}

/** Content that hides nothing of the user's, and that a program may be writing. */
const isHarmless = (path: string): boolean => path.startsWith("objects/") || path.endsWith(".lock");

/** What the layer has that hides files in the repository of a linked work tree; paths are relative to it. */
export function linkedFiles(view: OverlayView, workspace: string): string[] {
  const { upper, linked } = repositoryIn(view, workspace);
  return linked === null ? [] : filesBelow(upper, "").filter((path) => !isHarmless(path));
}

/** Makes an open view show a file in the repository of a linked work tree as it is. */
export async function revertLinked(view: OverlayView, workspace: string, path: string): Promise<void> {
  const { merged, linked } = repositoryIn(view, workspace);
  if (linked !== null) await revertInView({ merged, lower: linked.lower }, path, "entry");
}

async function openOwn(workspace: string, signal: AbortSignal): Promise<(Git & { readonly isLinked: boolean }) | null> {
  try {
    const repository = ownRepository(workspace);
    return repository === null ? null : { ...(await gitOf(repository, workspace, signal)), isLinked: repository.isLinked };
  } catch (error) {
    // It is damaged, or git is missing: nothing can be imported.
    if (error instanceof LancelotError && error.code !== "cancelled") return null;
    throw error;
  }
}

/** Branches and tags before a task's commands work on them; null without a repository. @throws LancelotError `cancelled`. */
export async function readOwnState(workspace: string, signal: AbortSignal): Promise<RefState | null> {
  const git = await openOwn(workspace, signal);
  return git === null ? null : readRefState(git);
}

/**
 * What a task's commands did to the repository; null when that cannot be read or is not imported at all.
 * @param of with the folders of `repositoryIn`
 */
export async function readOwnWork(
  workspace: string,
  { base, merged, upper }: { base: RefState; merged: string; upper: string },
): Promise<RepositoryWork | null> {
  const signal = AbortSignal.timeout(readWithin);
  const git = await openOwn(workspace, signal);
  if (git === null) return null;
  try {
    return await readRepositoryWork({ git, base, merged, upper, signal, isLinked: git.isLinked });
  } catch (error) {
    if (error instanceof LancelotError) return null;
    throw error;
  }
}
