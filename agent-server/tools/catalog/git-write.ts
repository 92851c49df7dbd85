import { join, relative, sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { type Git, gitOf, type Head, headOf, openGit, type Repository, operationInProgress } from "../../workspace/workspace.ts";
import type { Scope } from "../tool.ts";

/** The repository of the workspace, as it is right now. @throws LancelotError `conflict` while something in it is half done. */
export async function openIdle(scope: Scope): Promise<{ git: Git; head: Head }> {
  const git = await openGit(scope.workspace, scope.call.signal);
  const busy = operationInProgress(git.repository);
  if (busy !== null)
    throw new LancelotError("conflict", `${capital(busy)} is under way in this repository. The owner finishes it, or ends it, first.`);
  return { git, head: await headOf(git) };
}

/** Work on a repository's refs, index or files goes one after the other. */
export function holdRepository<T>(scope: Pick<Scope, "locks">, { commonDir }: Repository, work: () => Promise<T>): Promise<T> {
  return scope.locks.hold([`repository\0${commonDir}`], work);
}

/** The same repository with its settings as they are now: an approval can take minutes. @throws LancelotError `conflict` when HEAD moved. */
export async function reopen(scope: Scope, before: { git: Git; head: Head }): Promise<Git> {
  const git = await gitOf(before.git.repository, scope.workspace, scope.call.signal);
  const head = await headOf(git);
  if (head.ref !== before.head.ref || head.commit !== before.head.commit || operationInProgress(git.repository) !== null)
    throw new LancelotError("conflict", "The repository was moved meanwhile, so nothing was done. Look at git_status, then try again.");
  return git;
}

/** A name git gave, as tools and people name the file: relative to the workspace; null when it lies outside of it. */
export function nameInWorkspace(git: Git, scope: Scope, name: string): string | null {
  const path = relative(scope.workspace, join(git.repository.workTree, name)).split(sep).join("/");
  return path.startsWith("../") || path === ".." ? null : path;
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
