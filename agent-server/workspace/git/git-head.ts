import { LancelotError } from "../../contract/errors.ts";
import type { Git } from "./git.ts";
import { assertNoLinks } from "./git-repository.ts";

/** Timeout (ms) without output, because large work trees take long to write. */
const quietMs = 10 * 60_000;

/** Target of HEAD: a branch (`ref`), possibly without commits, or a detached commit. */
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

/** Switches HEAD, index and files when nothing conflicts, as git does. @throws LancelotError `conflict`. */
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
      throw new LancelotError("conflict", "Uncommitted changes or untracked files would be overwritten. Nothing was changed.", {
        cause: error,
      });
    throw error;
  }
}
