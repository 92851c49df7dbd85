import { LancelotError } from "../../contract/errors.ts";
import type { Git } from "../git/git.ts";
import { changedEntries } from "../git/index-entries.ts";
import type { RefChange, RefProblem, RefRefusal } from "./ref-changes.ts";

/** A commit that the real repository does not have. */
export interface NewCommit {
  readonly hash: string;
  /** Name and address. */
  readonly author: string;
  readonly subject: string;
  /** With the subject; long ones are cut. */
  readonly message: string;
  /** The files it changes; of a merge, those that differ from its first parent. */
  readonly paths: readonly string[];
}

const maxCommits = 5_000;
const maxSubject = 200;
const maxMessage = 10_000;
/** Longer paths exist on no system; trees that deep stop programs that read them. */
const maxPath = 4_096;
const quietMs = 120_000;

interface Read {
  readonly refs: readonly RefChange[];
  readonly refused: readonly RefRefusal[];
  readonly commits: readonly NewCommit[];
  readonly paths: readonly string[];
}

/**
 * Reads the commits that each ref adds. A ref with a commit that has an unsafe file name or moves a submodule is refused.
 * @param git a repository whose objects are verified
 * @param known hashes whose commits are not new
 * @throws LancelotError `too_large`.
 */
export async function readNewCommits(git: Git, changes: readonly RefChange[], known: readonly string[]): Promise<Read> {
  const refs: RefChange[] = [];
  const refused: RefRefusal[] = [];
  const commits = new Map<string, NewCommit>();
  const all = new Set<string>();
  const excluded = known.map((hash) => `^${hash}\n`).join("");
  for (const change of changes) {
    const found = await commitsOf(git, `${change.after}\n${excluded}`);
    const { paths, problem } = await pathsOf(git, [...found.keys()]);
    if (problem !== null) {
      refused.push({ ref: change.ref, problem });
      continue;
    }
    refs.push(change);
    // A branch can also move over commits that are not new.
    const entries = change.before === null ? [] : await changedEntries(git, change.before, change.after);
    for (const name of [...entries.map((entry) => entry.name), ...[...paths.values()].flat()]) all.add(name);
    for (const [hash, commit] of found) commits.set(hash, { ...commit, paths: paths.get(hash) ?? [] });
    if (commits.size > maxCommits)
      throw new LancelotError("too_large", `The task made more than ${maxCommits} commits, so they were not imported.`);
  }
  return { refs, refused, commits: [...commits.values()], paths: [...all].sort() };
}

async function commitsOf(git: Git, range: string): Promise<Map<string, Omit<NewCommit, "paths">>> {
  // Without a conversion, which would start one for any encoding that a commit names.
  const format = "--format=%H%x00%an <%ae>%x00%B";
  const args = [
    "--stdin",
    "-z",
    "--topo-order",
    "--no-color",
    "--no-show-signature",
    "--encoding=none",
    `--max-count=${maxCommits + 1}`,
    format,
  ];
  const parts = (await git.run("log", args, undefined, { input: range, quietMs })).split("\0");
  const found = new Map<string, Omit<NewCommit, "paths">>();
  for (let at = 0; at + 2 < parts.length; at += 3) {
    const [hash = "", author = "", text = ""] = parts.slice(at, at + 3);
    const message = text.trimEnd().slice(0, maxMessage);
    found.set(hash, { hash, author, subject: (message.split("\n")[0] ?? "").slice(0, maxSubject), message });
  }
  return found;
}

/** The changed files by commit. Entries begin with a colon, so that a file named like a hash is not taken for a commit. */
async function pathsOf(git: Git, hashes: readonly string[]): Promise<{ paths: Map<string, string[]>; problem: RefProblem | null }> {
  const paths = new Map<string, string[]>();
  if (hashes.length === 0) return { paths, problem: null };
  const args = ["--stdin", "-r", "-z", "--raw", "--root", "--no-renames", "--no-abbrev", "--diff-merges=first-parent"];
  const parts = (await diffTree(git, args, hashes)).split("\0");
  let problem: RefProblem | null = null;
  let names: string[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] ?? "";
    if (!part.startsWith(":")) {
      names = [];
      if (part !== "") paths.set(part, names);
      continue;
    }
    at += 1;
    const name = parts[at] ?? "";
    const mode = part.split(" ")[1] ?? "";
    names.push(name);
    if (mode === "160000") problem ??= "submodule";
    if (/[\\\ufffd]/.test(name) || name.length > maxPath) problem ??= "file name";
  }
  return { paths, problem };
}

/** Trees that contain each other many times have more files than git may list. */
async function diffTree(git: Git, args: readonly string[], hashes: readonly string[]): Promise<string> {
  try {
    return await git.run("diff-tree", args, undefined, { input: hashes.map((hash) => `${hash}\n`).join(""), quietMs });
  } catch (error) {
    if (error instanceof LancelotError && error.cause instanceof Error && /attempting to allocate/.test(error.cause.message))
      throw new LancelotError("too_large", "A commit of the task changes more than a million files, so it was not imported.", {
        cause: error,
      });
    throw error;
  }
}
