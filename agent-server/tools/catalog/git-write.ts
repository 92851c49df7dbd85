import { join, relative, sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { type Git, gitOf, type Head, headOf, openGit, type Repository, operationInProgress } from "../../workspace/workspace.ts";
import type { Scope } from "../tool.ts";

/** Opens the repository of the workspace. @throws LancelotError `conflict` while a merge, rebase or similar is in progress. */
export async function openIdle(scope: Scope): Promise<{ git: Git; head: Head }> {
  const git = await openGit(scope.workspace, scope.call.signal);
  const busy = operationInProgress(git.repository);
  if (busy !== null)
    throw new LancelotError("conflict", `${capital(busy)} is in progress in this repository. Ask the user to finish or abort it first.`);
  return { git, head: await headOf(git) };
}

/** Serializes work on the refs, index and files of a repository. */
export function holdRepository<T>(scope: Pick<Scope, "locks">, { commonDir }: Repository, work: () => Promise<T>): Promise<T> {
  return scope.locks.hold([`repository\0${commonDir}`], work);
}

/** Opens the repository again with its current settings, because an approval can take minutes. @throws LancelotError `conflict` when HEAD moved. */
export async function reopen(scope: Scope, before: { git: Git; head: Head }): Promise<Git> {
  const git = await gitOf(before.git.repository, scope.workspace, scope.call.signal);
  const head = await headOf(git);
  if (head.ref !== before.head.ref || head.commit !== before.head.commit || operationInProgress(git.repository) !== null)
    throw new LancelotError("conflict", "HEAD changed in the meantime, so nothing was done. Check git_status, then try again.");
  return git;
}

/** Converts a path from git to one relative to the workspace; null when it is outside. */
export function nameInWorkspace(git: Git, scope: Scope, name: string): string | null {
  const path = relative(scope.workspace, join(git.repository.workTree, name)).split(sep).join("/");
  return path.startsWith("../") || path === ".." ? null : path;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
