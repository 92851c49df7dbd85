import { closeSync, type Stats } from "node:fs";
import { displayPath } from "../byte-path.ts";
import { entryIn, mountOf, openIfFolder } from "./folder-descriptors.ts";
import { type Identity, identityOf, isSame, type Plan, type Step } from "./generated-journal.ts";
import { attributesOf, noteFolder, type Planned, folderAndName } from "./generated-plan.ts";

/**
 * Plans the reversal of steps, as far as the workspace still has what they left.
 * @param workspace open folder of the workspace
 * @param kept open folder with what the workspace had, by the number of the step
 * @param placed what the steps put, by their number
 * @returns conflicts: paths that were changed since
 */
export function planUndo(
  workspace: number,
  kept: number,
  done: readonly Step[],
  placed: readonly (Identity | null)[],
): Pick<Plan, "steps" | "locked" | "copies"> & { conflicts: string[] } {
  const steps: Step[] = [];
  const conflicts: string[] = [];
  const noted: Pick<Planned, "locked" | "mounts"> = { locked: [], mounts: new Set([mountOf(workspace)]) };
  const seen = new Set<string>();
  /** Folders that an earlier step creates. */
  const created = new Set<string>();
  for (const [index, step] of [...done.entries()].toReversed()) {
    const { above, name } = folderAndName(step.path);
    const folder = openIfFolder(workspace, above);
    if (folder === null && !created.has(above)) {
      if (step.kind === "put" || step.kind === "remove") conflicts.push(displayPath(step.path));
      continue;
    }
    try {
      if (folder !== null && !seen.has(above)) noteFolder(noted, above, folder);
      seen.add(above);
      const source = String(index);
      const now = folder === null ? null : entryIn(folder, name);
      const reversed = reverse(step, source, { now, was: entryIn(kept, source), put: placed[index] ?? null });
      if (reversed === "conflict") conflicts.push(displayPath(step.path));
      else if (reversed !== null) steps.push(reversed);
      if (step.kind === "folder" && step.remove) created.add(step.path);
    } finally {
      if (folder !== null) closeSync(folder);
    }
  }
  const mount = mountOf(kept);
  return { steps, conflicts, locked: noted.locked, copies: [...noted.mounts].some((other) => other !== mount) };
}

/** @param of.now what the workspace has, `of.was` what it had, `of.put` what the step put there */
function reverse(step: Step, source: string, of: { now: Stats | null; was: Stats | null; put: Identity | null }): Step | "conflict" | null {
  const { now, was, put } = of;
  const { path } = step;
  if (step.kind === "folder") return { ...step, remove: !step.remove };
  if (step.kind === "attributes") {
    if (now?.isDirectory() !== true || attributesOf(now).mode !== step.to.mode) return "conflict";
    return { ...step, from: step.to, to: step.from };
  }
  if (step.had !== null && was === null) return "conflict";
  if (now !== null && (step.kind === "remove" || put === null || !isSame(now, put))) return "conflict";
  const had = now === null ? null : identityOf(now);
  if (was !== null) return { kind: "put", path, source, put: identityOf(was), had };
  return had === null ? null : { kind: "remove", path, had };
}
