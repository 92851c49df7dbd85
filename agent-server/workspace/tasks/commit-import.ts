import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { type Git, gitOf } from "../git/git.ts";
import { branchName, switchTo } from "../git/git-head.ts";
import { moveRefs, type RecordMove, type RefMove, updateRefs } from "../git/ref-moves.ts";
import { changedEntries, expectUnstaged, hasFiles, setEntries } from "../git/index-entries.ts";
import { assertNoLinks, operationInProgress } from "../git/git-repository.ts";
import { inPrivateFolder } from "../git/git-transfer.ts";
import { branchesOfOtherTrees, readRefState, type RefState } from "../git/ref-state.ts";
import { type ImportLimits, verifyObjects } from "./object-quarantine.ts";
import type { RefChange } from "./ref-changes.ts";
import { knownHashes, type RepositoryWork } from "./repository-work.ts";

const quietMs = 120_000;
/** More objects than this are stored as a pack, as git does. */
const maxLoose = 2_000;
/** How long (ms) moving the branches may take. */
const steadyMs = 5 * 60_000;

export interface ImportOptions {
  /** The real repository, whose lock the caller holds. */
  readonly git: Git;
  /** The repository's common `.git` folder in the layer. */
  readonly upper: string;
  /** Whether branches may lose commits that they have. The moves record these, and the reflog keeps them. */
  readonly allowRewrite: boolean;
  /**
   * Whether the working tree must have the files of each branch and tag as its commits leave them. Without that, a commit can contain what
   * nobody reviewed: a command commits a file and then removes it.
   */
  readonly expectFiles: boolean;
  /** Called before each change, so that it can be undone even if this process ends in between. */
  readonly record: RecordMove;
  readonly signal: AbortSignal;
  readonly limits?: ImportLimits;
}

export interface ImportResult {
  /** The imported refs. */
  readonly refs: readonly RefChange[];
  /** `switched`: HEAD is on the branch that the task created. `elsewhere`: HEAD stays, although the task switched it. */
  readonly head: "same" | "switched" | "elsewhere";
}

/**
 * Imports the commits that `readRepositoryWork` reported: verifies the objects again, adds them to the real repository, and moves all
 * branches at once, each only from the commit that was reported. No file of the working tree is changed. In the index, only entries of
 * changed files are set, and only where they matched the commit before.
 * @throws LancelotError `conflict` when the user moved a branch, checked it out elsewhere or staged other content meanwhile, and
 * `denied`, `too_large`, `cancelled`, `unavailable` as for `readRepositoryWork`. No branch was moved then.
 */
export async function importCommits(work: RepositoryWork, options: ImportOptions): Promise<ImportResult> {
  const { git, upper, allowRewrite, expectFiles, record, signal, limits } = options;
  const wanted = work.refs.filter(({ kind }) => allowRewrite || kind !== "rewritten");
  const busy = operationInProgress(git.repository);
  if (busy !== null) throw new LancelotError("conflict", `The repository has ${busy} in progress, so nothing was imported.`);
  const real = await readRefState(git);
  // A host that died in between has moved these already.
  const moved = wanted.filter(({ ref, after }) => real.refs[ref] === after);
  await setMovedEntries(git, moved, real);
  const refs = wanted.filter((change) => !moved.includes(change));
  expectUnmoved(git, refs, real);
  assertNoLinks(
    git.repository,
    refs.map(({ ref }) => ref),
  );
  if (refs.length === 0) return { refs: wanted, head: isSameHead(work) ? "same" : "elsewhere" };
  return inPrivateFolder(async (folder) => {
    const tips = refs.map(({ after }) => after);
    const known = await knownHashes(git, real);
    const { pack, count } = await verifyObjects({
      ...{ git, upper, tips, known, folder, signal },
      ...(limits === undefined ? {} : { limits }),
    });
    // An interruption leaves unreferenced objects at most.
    if (pack !== null) {
      const asPack = count > maxLoose;
      await git.run(asPack ? "index-pack" : "unpack-objects", [asPack ? "--stdin" : "-q"], undefined, { inputFile: pack, quietMs });
    }
    const followed = await branchToFollow(git, work, refs, real, folder);
    if (expectFiles) for (const change of refs) await expectReviewed(git, change, real, join(folder, `files-${refs.indexOf(change)}`));
    const checkedOut = followed?.ref ?? real.head.ref;
    const plans: RefMove[] = [];
    for (const change of refs) {
      const before = change.ref === followed?.ref ? followed.from : change.before;
      const changed = before === null && change.ref !== checkedOut ? [] : await changedEntries(git, before, change.after);
      const entries = change.ref === checkedOut ? await expectUnstaged(git, before, changed) : changed;
      if (before !== change.after) plans.push({ ref: change.ref, before, after: change.after, entries });
    }
    // Branches come before the tags that keep their commits, because an undo runs in the opposite order.
    plans.sort((a, b) => Number(a.ref.startsWith("refs/tags/")) - Number(b.ref.startsWith("refs/tags/")));
    if (signal.aborted) throw new LancelotError("cancelled", "The import was stopped before anything was changed.");
    // From here on, a cancellation would leave half of it.
    const steady = await gitOf(git.repository, git.repository.workTree, AbortSignal.timeout(steadyMs));
    if (followed === null) await moveRefs(steady, plans, checkedOut, record);
    else await onNewBranch(steady, followed, real, record, () => moveRefs(steady, plans, checkedOut, record));
    return { refs: wanted, head: followed !== null ? "switched" : isSameHead(work) ? "same" : "elsewhere" };
  });
}

/**
 * Completes an import of a host that died after it moved branches: sets the index entries of the branch that is checked out.
 * @throws LancelotError `conflict` when the user staged other content meanwhile
 */
export async function completeImport(git: Git, { refs }: Pick<RepositoryWork, "refs">): Promise<void> {
  const real = await readRefState(git);
  await setMovedEntries(
    git,
    refs.filter(({ ref, after }) => real.refs[ref] === after),
    real,
  );
}

async function setMovedEntries(git: Git, moved: readonly RefChange[], { head }: RefState): Promise<void> {
  for (const { ref, before, after } of moved)
    if (ref === head.ref) await setEntries(git, await expectUnstaged(git, before, await changedEntries(git, before, after)));
}

function expectUnmoved(git: Git, refs: readonly RefChange[], real: RefState): void {
  const others = branchesOfOtherTrees(git.repository);
  for (const { ref, before } of refs) {
    if ((real.refs[ref] ?? null) !== before)
      throw new LancelotError("conflict", `${branchName(ref)} was changed meanwhile, so nothing was imported.`, { data: { ref } });
    if (others.has(ref))
      throw new LancelotError("conflict", `${branchName(ref)} is checked out in another work tree, so nothing was imported.`, {
        data: { ref },
      });
  }
}

/** @throws LancelotError `denied` when commits have content that the working tree does not have. */
async function expectReviewed(git: Git, { ref, before, after }: RefChange, { head }: RefState, index: string): Promise<void> {
  const continuesHead = head.commit !== null && (await git.ask("merge-base", ["--is-ancestor", head.commit, after])) !== null;
  const entries = await changedEntries(git, before ?? (continuesHead ? head.commit : null), after);
  if (await hasFiles(git, entries, index)) return;
  throw new LancelotError("denied", `${branchName(ref)} has content that is not in the workspace, and so was not reviewed.`, {
    data: { ref },
  });
}

function isSameHead({ head }: RepositoryWork): boolean {
  return head.before.ref === head.after.ref && (head.after.ref !== null || head.before.commit === head.after.commit);
}

/**
 * The branch that the task created and checked out, when HEAD can follow exactly: it continues the commit that is checked out, and the
 * working tree already has its files.
 */
async function branchToFollow(
  git: Git,
  { head }: RepositoryWork,
  refs: readonly RefChange[],
  real: RefState,
  folder: string,
): Promise<{ ref: string; from: string } | null> {
  const { ref, commit } = real.head;
  const change = refs.find((one) => one.ref === head.after.ref && one.kind === "new" && one.ref !== ref);
  if (change === undefined || commit === null || head.before.ref !== ref || head.before.commit !== commit) return null;
  if ((await git.ask("merge-base", ["--is-ancestor", commit, change.after])) === null) return null;
  const entries = await changedEntries(git, commit, change.after);
  return (await hasFiles(git, entries, join(folder, "index"))) ? { ref: change.ref, from: commit } : null;
}

/** Creates a branch at the commit that is checked out and switches to it, which changes no file; goes back when the work fails. */
async function onNewBranch(
  git: Git,
  { ref, from }: { ref: string; from: string },
  { head }: RefState,
  record: RecordMove,
  work: () => Promise<void>,
): Promise<void> {
  const withdrawals = [record({ kind: "branch", ref, after: from })];
  let isCreated = false;
  try {
    await updateRefs(git, [{ ref, before: null, after: from }]);
    isCreated = true;
    withdrawals.push(record({ kind: "checkout", from: { ref: head.ref, commit: from }, to: { ref, commit: from } }));
    await switchTo(git, { ref, commit: from });
    await work();
  } catch (error) {
    if (isCreated) {
      await switchTo(git, head);
      await updateRefs(git, [{ ref, before: from, after: null }]);
    }
    for (const withdraw of withdrawals) withdraw();
    throw error;
  }
}
