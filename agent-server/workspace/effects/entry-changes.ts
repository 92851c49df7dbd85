import { join } from "node:path";
import type { CommandFile } from "../checkpoints/command-checkpoints.ts";
import { imageOf, putEntry, sameImage } from "../checkpoints/checkpoint-entries.ts";
import type { CheckpointFile, Checkpoints } from "../checkpoints/checkpoints.ts";
import type { FileImage } from "../checkpoints/file-image.ts";
import type { ObjectStore } from "../checkpoints/object-store.ts";
import { isGitObject } from "./retention-class.ts";
import type { EntryChange, EntryState } from "./tree-compare.ts";
import type { ReportedChange } from "./effect-report.ts";
import { type Folder, folderAt } from "./file-tree.ts";
import { displayPath } from "../byte-path.ts";
import { isSpecial } from "../checkpoints/file-image.ts";

/** Converts to a checkpoint image; null also for content that is not available. */
export function toImage(state: EntryState | null): FileImage {
  if (state === null) return null;
  if (state.kind === "folder" || isSpecial(state.kind)) return { hash: "", mode: state.mode, kind: state.kind };
  if (state.hash === null) return null;
  return state.kind === "link" ? { hash: state.hash, mode: 0o777, kind: "link" } : { hash: state.hash, mode: state.mode };
}

/** Why a change cannot be undone; null when it can. `closed`: folders whose content is unknown, so that they cannot be emptied. */
export function lossReason({ path, before, after }: EntryChange, shared: boolean, closed: ReadonlySet<string>): "unkept" | "shared" | null {
  if (shared) return "shared";
  if (before === null) return closed.has(path) && after?.kind === "folder" ? "unkept" : null;
  return !before.kept || (isSpecial(before.kind) && after?.kind !== before.kind) ? "unkept" : null;
}

export function toCommandFile(workspace: string, { change, lost }: ReportedChange): CommandFile {
  const { path, before, after } = change;
  const folder = (before ?? after)?.kind === "folder";
  return {
    path: { absolute: join(workspace, path), display: folder ? `${displayPath(path) || "."}/` : displayPath(path) },
    before: toImage(before),
    after: toImage(after),
    size: before?.size ?? 0,
    lost,
    beforeKind: before?.kind ?? null,
  };
}

/**
 * Removes changes that other actions recorded in the meantime. A file that both changed stays in the list but cannot be undone, because
 * the order is unknown.
 */
export function split(
  changes: readonly EntryChange[],
  others: ReadonlyMap<string, readonly CheckpointFile[]>,
  workspace: string,
): { change: EntryChange; shared: boolean }[] {
  return changes.flatMap((change): { change: EntryChange; shared: boolean }[] => {
    const wrote = others.get(join(workspace, change.path));
    const [first, last] = [wrote?.[0], wrote?.at(-1)];
    if (first === undefined || last === undefined) return [{ change, shared: false }];
    const left = last.after ?? last.planned ?? null;
    const alone = sameImage(first.before, toImage(change.before)) && sameImage(left, toImage(change.after));
    return alone ? [] : [{ change, shared: true }];
  });
}

/** Objects that a command added to an existing repository; nothing refers to them once its other changes are undone. */
export function isAddedObject({ path, before }: EntryChange, tree: Folder): boolean {
  if (before !== null || !isGitObject(path)) return false;
  const objects = /^.*?\.git\/(?:modules\/.+\/)?objects(?=\/)/.exec(path)?.[0];
  return objects !== undefined && folderAt(tree, objects) !== null;
}

/** Paths of the `.git` folders in a tree. */
export function repositoriesOf(root: Folder): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (folder: Folder): void => {
    for (const [name, child] of folder.folders) {
      if (name === ".git") found.add(child.path);
      else visit(child);
    }
  };
  visit(root);
  return found;
}

/**
 * Reverts changes that no command may make. First stores the command's versions in a checkpoint without a quest, because the user may have
 * made the change at that moment. @returns the reverted changes, and that checkpoint.
 */
export async function revertProtectedChanges(
  changes: readonly EntryChange[],
  {
    workspace,
    receiptId,
    checkpoints,
    objects,
  }: { workspace: string; receiptId: string | null; checkpoints: Checkpoints; objects: ObjectStore },
): Promise<{ done: ReadonlySet<EntryChange>; checkpointId: string | null }> {
  const done = new Set<EntryChange>();
  const wanted = changes.filter(({ before }) => before === null || (before.kept && !isSpecial(before.kind)));
  if (wanted.length === 0) return { done, checkpointId: null };
  // A folder that was replaced by a link or file is only removed here; undoing the quest restores it with its content.
  const target = ({ before }: EntryChange): FileImage => (before?.kind === "folder" ? null : toImage(before));
  const pathOf = ({ path }: EntryChange) => ({ absolute: join(workspace, path), display: displayPath(path) });
  const checkpointId = await checkpoints.take({
    questId: null,
    receiptId,
    touches: wanted.map((change) => ({ path: pathOf(change), plannedImage: target(change) })),
  });
  // Links first: the entries behind a new link are not the protected files.
  const inOrder = wanted.toSorted(
    (a, b) => Number(b.after?.kind === "link") - Number(a.after?.kind === "link") || a.path.length - b.path.length,
  );
  for (const change of inOrder) {
    try {
      const path = pathOf(change);
      await putEntry(path, await imageOf(path), target(change), objects);
      await checkpoints.finishFiles(checkpointId, [path]);
      done.add(change);
    } catch {
      // The file is then reported as changed, and undoing the quest tries again.
    }
  }
  checkpoints.finish(checkpointId);
  return { done, checkpointId };
}
