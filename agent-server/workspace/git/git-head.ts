import { LancelotError } from "../../contract/errors.ts";
import type { Git } from "./git.ts";
import { assertNoLinks } from "./git-repository.ts";

/** Big work trees take a while to write. */
const quietMs = 10 * 60_000;

/** Where HEAD stands: on a branch (`ref`), which may have no commit yet, or on a commit alone. */
export interface Head {
  readonly ref: string | null;
  readonly commit: string | null;
}

export async function headOf(git: Git): Promise<Head> {
  const [ref, commit] = await Promise.all([
    git.ask("symbolic-ref", ["--quiet", "HEAD"]),
    git.ask("rev-parse", ["--quiet", "--verify", "HEAD^{commit}"]),
  ]);
  return { ref: ref?.trim() ?? null, commit: commit?.trim() ?? null };
}

/** The short name of a branch. */
export function branchName(ref: string): string {
  return ref.replace(/^refs\/heads\//, "");
}

export function shortHash(commit: string): string {
  return commit.slice(0, 9);
}

/** Moves HEAD, index and files, as git does it when nothing is in the way. @throws LancelotError `conflict`. */
export async function switchTo(git: Git, to: Head): Promise<void> {
  assertNoLinks(git.repository, to.ref === null ? [] : [to.ref]);
  const way = to.ref === null ? ["--detach", to.commit ?? ""] : [branchName(to.ref)];
  const author = { name: git.owner.name ?? "Lancelot", email: git.owner.email ?? "lancelot@localhost" };
  try {
    await git.run("checkout", ["--quiet", "--no-overwrite-ignore", "--no-guess", "--no-recurse-submodules", ...way], [], {
      quietMs,
      author,
    });
  } catch (error) {
    const words = error instanceof LancelotError && error.cause instanceof Error ? error.cause.message : "";
    if (/would be overwritten|would be removed|would lose/.test(words))
      throw new LancelotError(
        "conflict",
        "Uncommitted work, or a file that is not under version control, is in the way. Nothing was changed.",
        { cause: error },
      );
    throw error;
  }
}
