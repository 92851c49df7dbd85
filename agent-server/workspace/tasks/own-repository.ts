import { lstatSync } from "node:fs";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { findRepository } from "../git/git-repository.ts";
import { type Git, gitOf } from "../git/git.ts";
import { readRefState, type RefState } from "../git/ref-state.ts";
import { readRepositoryWork, type RepositoryWork } from "./repository-work.ts";

/** How long (ms) reading a task's commits may take. */
const readWithin = 120_000;

/** The workspace's own repository; null where it has none, or one whose metadata is elsewhere, which no command of a task can change. */
async function openOwn(workspace: string, signal: AbortSignal): Promise<Git | null> {
  const folder = join(workspace, ".git");
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return null;
  try {
    const repository = findRepository(workspace);
    return repository === null || repository.commonDir !== folder ? null : await gitOf(repository, workspace, signal);
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

/** What a task's commands did to the workspace's own repository; null when that cannot be read or is not imported at all. */
export async function readOwnWork(
  workspace: string,
  { base, merged, upper }: { base: RefState; merged: string; upper: string },
): Promise<RepositoryWork | null> {
  const signal = AbortSignal.timeout(readWithin);
  const git = await openOwn(workspace, signal);
  if (git === null) return null;
  try {
    return await readRepositoryWork({ git, base, merged: join(merged, ".git"), upper: join(upper, ".git"), signal });
  } catch (error) {
    if (error instanceof LancelotError) return null;
    throw error;
  }
}
