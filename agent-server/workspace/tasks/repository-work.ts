import { existsSync } from "node:fs";
import { dirname, relative, sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { Git } from "../git/git.ts";
import type { Head } from "../git/git-head.ts";
import { inPrivateFolder } from "../git/git-transfer.ts";
import { branchesOfOtherTrees, objectFormat, readRefState, type RefState } from "../git/ref-state.ts";
import { type DroppedMetadata, findDroppedMetadata } from "./dropped-metadata.ts";
import { type NewCommit, readNewCommits } from "./new-commits.ts";
import { type ImportLimits, type VerifiedObjects, verifyObjects } from "./object-quarantine.ts";
import { compareRefs, nextBase, type RefCandidate, type RefChange, type RefProblem, type RefRefusal } from "./ref-changes.ts";
import { inUntrustedFolder, type UntrustedFolder } from "./untrusted-folder.ts";
import { differingNames, parseIndex, parseListing } from "./view-index.ts";
import { atWorktree, readViewRefs } from "./view-refs.ts";

/** Branches and tags of one import, and the commits that they add. */
const maxRefs = 100;
const maxIndexBytes = 64 * 1024 * 1024;
const maxStaged = 200;
const quietMs = 120_000;

/** What a task's commands did to the repository in their view. It can be stored as JSON until it is imported. */
export interface RepositoryWork {
  /** Refs that can be imported. */
  readonly refs: readonly RefChange[];
  /** Refs that cannot, with reasons. */
  readonly refused: readonly RefRefusal[];
  /** The commits that `refs` add, newest first. */
  readonly commits: readonly NewCommit[];
  /** The files that these commits and the moves of branches change, from the root of the work tree, sorted. */
  readonly paths: readonly string[];
  readonly head: { readonly before: Head; readonly after: Head };
  /** What else was written in `.git` and will not be taken over. */
  readonly dropped: readonly DroppedMetadata[];
  /** For the next call, once commands run again. */
  readonly base: RefState;
}

export interface ReadWorkOptions {
  /** The real repository. */
  readonly git: Git;
  /** The real repository as the task's commands first saw it (`readRefState`), or `base` of the last call. */
  readonly base: RefState;
  /** The repository's common `.git` folder as the open view shows it. No command can replace a folder above it. */
  readonly merged: string;
  /** The same folder in the layer; it may not exist. */
  readonly upper: string;
  readonly signal: AbortSignal;
  readonly limits?: ImportLimits;
  /** A linked work tree shares branches and tags with others, so only the branch that it has checked out is taken over. */
  readonly isLinked?: boolean;
}

/**
 * Reads what a task's commands did to the repository in their view, without running git on it: its files are read as text, and its objects
 * as copies that git verifies (`verifyObjects`). Changes nothing.
 * @throws LancelotError `denied` for damaged, incomplete or unsafe commits, `too_large`, `cancelled`, `unavailable`.
 */
export async function readRepositoryWork(options: ReadWorkOptions): Promise<RepositoryWork> {
  const { git, base, merged, upper, signal, limits } = options;
  if (git.settings.some(({ name, value }) => name === "extensions.refstorage" && value !== "files"))
    throw new LancelotError("unavailable", "This repository stores its branches in a table, so the task's commits cannot be imported.");
  const worktree = worktreeOf(git);
  const hashBytes = objectFormat(git) === "sha256" ? 32 : 20;
  const real = await readRefState(git);
  const view = await inUntrustedFolder(merged, (folder) => readViewRefs(folder, worktree, hashBytes * 2));
  // Without a HEAD, git finds no repository there, and later commands would have none.
  if (view === null || (view.head.ref === null && view.head.commit === null)) {
    if (!existsSync(dirname(merged))) throw new LancelotError("unavailable", "The task's view of the workspace is closed.");
    const dropped = [{ what: "repository", names: [".git"] }];
    return { refs: [], refused: [], commits: [], paths: [], head: { before: real.head, after: view?.head ?? real.head }, dropped, base };
  }
  const written = await inUntrustedFolder(upper, async (folder) => ({
    dropped: await findDroppedMetadata({ upper: folder, repository: git.repository, worktree }),
    index: await atWorktree(folder, worktree, (inner) => Promise.resolve(readIndex(inner))),
  }));
  const { candidates, refused } = await namedCandidates(
    git,
    compareRefs(base, real, view),
    options.isLinked === true ? [real.head.ref, view.head.ref] : null,
  );
  const staged = (at: Git): Promise<DroppedMetadata[]> => stagedOnly(git, at, written?.index ?? null, view.head, hashBytes);
  const shared = { head: { before: real.head, after: view.head }, base: nextBase(base, real, view) };
  const { commit } = view.head;
  if (view.head.ref === null && commit !== null && commit !== real.head.commit && (await git.ask("cat-file", ["-e", commit])) === null)
    refused.push({ ref: "HEAD", problem: "no branch" });
  if (candidates.length === 0) {
    const inReal = refused.length === 0 ? await staged(git) : [];
    return { refs: [], refused, commits: [], paths: [], dropped: [...(written?.dropped ?? []), ...inReal], ...shared };
  }
  return inPrivateFolder(async (folder) => {
    const tips = candidates.map(({ after }) => after);
    const known = await knownHashes(git, real);
    const verified = await verifyObjects({ git, upper, tips, known, folder, signal, ...(limits === undefined ? {} : { limits }) });
    const refs: RefChange[] = [];
    for (const candidate of candidates) {
      const { ref, before, after } = candidate;
      const kind = await kindOf(verified, candidate);
      if (kind === "new" || kind === "moved" || kind === "rewritten") refs.push({ ref, before, after, kind });
      else refused.push({ ref, problem: kind });
    }
    const read = await readNewCommits(verified.git, refs, known);
    const dropped = [...(written?.dropped ?? []), ...(await staged(verified.git))];
    return { ...read, refused: [...refused, ...read.refused], dropped, ...shared };
  });
}

/** The folder with HEAD below the common folder; empty for the main work tree. */
function worktreeOf({ repository }: Git): string {
  return relative(repository.commonDir, repository.gitDir).split(sep).join("/");
}

/** The index; one that is too large is as good as one that cannot be parsed. */
function readIndex(folder: UntrustedFolder): Buffer | null {
  try {
    return folder.read("index", maxIndexBytes);
  } catch (error) {
    if (error instanceof LancelotError && error.code === "too_large") return Buffer.alloc(0);
    throw error;
  }
}

/** Hashes of every ref: all objects that they reach exist. */
export async function knownHashes(git: Git, real: RefState): Promise<string[]> {
  const listed = await git.run("for-each-ref", ["--format=%(objectname)"]);
  return [...listed.split("\n").filter((hash) => hash !== ""), ...(real.head.commit === null ? [] : [real.head.commit])];
}

/** @param only the refs that may be taken over; null for all @throws LancelotError `too_large`. */
async function namedCandidates(
  git: Git,
  compared: { candidates: RefCandidate[]; refused: RefRefusal[] },
  only: readonly (string | null)[] | null,
): Promise<{ candidates: RefCandidate[]; refused: RefRefusal[] }> {
  if (compared.candidates.length > maxRefs)
    throw new LancelotError("too_large", `The task changed more than ${maxRefs} branches and tags, so its commits were not imported.`);
  const candidates: RefCandidate[] = [];
  const refused = [...compared.refused];
  const others = only === null ? new Set<string>() : branchesOfOtherTrees(git.repository);
  for (const candidate of compared.candidates) {
    if (only !== null && (others.has(candidate.ref) || !only.includes(candidate.ref))) {
      refused.push({ ref: candidate.ref, problem: others.has(candidate.ref) ? "work tree" : "not checked out" });
      continue;
    }
    const short = candidate.ref.replace(/^refs\/(?:heads|tags)\//, "");
    const isUnsafe = short.startsWith("-") || short === "HEAD" || /\p{Cc}|\p{Cf}/u.test(short);
    if (isUnsafe || (await git.ask("check-ref-format", [candidate.ref])) === null) refused.push({ ref: candidate.ref, problem: "name" });
    else candidates.push(candidate);
  }
  return { candidates, refused };
}

async function kindOf({ git }: VerifiedObjects, { ref, before, after, isCurrent }: RefCandidate): Promise<RefChange["kind"] | RefProblem> {
  const isBranch = ref.startsWith("refs/heads/");
  const input = `${after}^{commit}\n`;
  const [commit, type] = (await git.run("cat-file", ["--batch-check=%(objectname) %(objecttype)"], undefined, { input })).trim().split(" ");
  if (type !== "commit" || (isBranch && commit !== after)) return "not a commit";
  if (before === null) return isCurrent ? "new" : "changed outside";
  if ((await git.ask("merge-base", ["--is-ancestor", before, after])) !== null) return "moved";
  return isCurrent ? "rewritten" : "changed outside";
}

/**
 * Files that the view's index has otherwise than its HEAD and than the user's own index.
 * @param at a repository with the commit of HEAD
 */
async function stagedOnly(git: Git, at: Git, index: Buffer | null, head: Head, hashBytes: number): Promise<DroppedMetadata[]> {
  if (index === null) return [];
  const entries = parseIndex(index, hashBytes);
  if (entries === null) return [{ what: "index", names: ["index"] }];
  try {
    const tree = head.commit === null ? "" : await at.run("ls-tree", ["-r", "-z", "--full-tree", head.commit], undefined, { quietMs });
    const staged = differingNames(entries, parseListing(tree));
    if (staged.length === 0) return [];
    const own = parseListing(await git.run("ls-files", ["--stage", "-z"], undefined, { quietMs }));
    const names = staged.filter((name) => entries.get(name) !== own.get(name));
    return names.length === 0 ? [] : [{ what: "staged files", names: names.slice(0, maxStaged) }];
  } catch (error) {
    if (!(error instanceof LancelotError) || error.code === "cancelled") throw error;
    // HEAD has no commit that is imported, or too many files to compare.
    return [{ what: "index", names: ["index"] }];
  }
}
