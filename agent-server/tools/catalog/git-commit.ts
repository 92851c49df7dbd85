import { lstatSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import {
  branchName,
  changedFiles,
  expectPlain,
  filtered,
  findRepository,
  type Git,
  gitOf,
  gitProvider,
  type Head,
  headOf,
  hooksOf,
  list,
  nameInTree,
  refuseFiltered,
  resolveFile,
  shortHash,
} from "../../workspace/workspace.ts";
import { defineTool, PathArgument, type Scope } from "../tool.ts";
import { gitStep } from "./git.ts";
import { holdRepository, nameInWorkspace, openIdle, reopen } from "./git-write.ts";

/** Most files of one commit. */
const maxFiles = 5_000;
const quietMs = 120_000;

export const gitCommit = defineTool({
  name: "git_commit",
  description:
    "Commit files as they are on disk: those this task changed, or those in paths (files or folders). Other files that the user staged remain staged and are not committed. Changes that are waiting for review are not on disk yet. Hooks do not run.",
  args: z.strictObject({
    message: z.string().trim().min(1).max(10_000).describe("First line: a short summary"),
    paths: z
      .preprocess((value) => (typeof value === "string" ? [value] : value), z.array(PathArgument).min(1).max(200))
      .optional()
      .describe("Files or folders, relative to the workspace. Default: the files this task changed"),
  }),
  capability: "repo_ops",
  action: "commit",
  baseTier: "T1",
  actionType: "tool_call",
  provider: gitProvider,
  title: ({ message }) => `Git commit: ${message.split("\n")[0]?.slice(0, 80) ?? ""}`,
  reads: ({ paths = ["."] }, scope) => paths.map((path) => gitStep(scope, "status", path)),
  async plan({ message, paths }, scope) {
    const opened = await openIdle(scope);
    const { git, head } = opened;
    const { ref } = head;
    if (ref === null) {
      throw new LancelotError(
        "conflict",
        "HEAD is detached, so a commit could be lost. Create a branch with git_branch and check it out first.",
      );
    }
    const author = identity(git);
    const wanted = paths === undefined ? questNames(scope, git) : paths.map((path) => nameInTree(git, resolveFile(scope, path).absolute));
    const { names, notes } = await committable(scope, git, wanted, paths === undefined);
    const shown = names.map((name) => nameInWorkspace(git, scope, name) ?? name);
    if (git.owner.signs)
      notes.push("The commit is not signed, because signing starts a program. The user can sign it with git commit --amend -S.");
    const hooks = hooksOf(git);
    if (hooks.length > 0) notes.push(`Hooks did not run (${list(hooks, 4)}).`);
    let after: { commit: string; indexTime: number } | null = null;
    return {
      kind: "effect",
      steps: [{ capability: "repo_ops", action: "commit", args: { message, paths: shown, branch: branchName(ref) } }],
      question: {
        title: `Commit ${names.length} ${names.length === 1 ? "file" : "files"} to ${branchName(ref)}`,
        detail: [message, "", `By ${author.name} <${author.email}>`, ...shown.slice(0, 100).map((name) => `  ${name}`), ...notes].join(
          "\n",
        ),
      },
      touches: [],
      run: async ({ receiptId }) => {
        const done = await holdRepository(scope, git.repository, async () => {
          const fresh = await reopen(scope, opened);
          expectPlain(fresh.repository, [ref]);
          return commit(scope, fresh, { head, ref, author, message, names, receiptId });
        });
        after = done;
        const count = `${names.length} ${names.length === 1 ? "file" : "files"}`;
        return {
          value: {
            kind: "answer",
            text: [`Committed ${count} to ${branchName(ref)} as ${shortHash(done.commit)}: ${list(shown)}.`, ...notes].join("\n"),
          },
          outputs: { commit: done.commit, branch: branchName(ref), refBefore: head.commit, refAfter: done.commit, files: shown, author },
        };
      },
      verify: async () => (after === null ? null : verifyCommit(git, ref, names, after)),
    };
  },
});

/** The author. @throws LancelotError `unavailable` when the user's git configuration does not name one. */
function identity(git: Git): { name: string; email: string } {
  const { name, email } = git.owner;
  if (name !== null && email !== null) return { name: plain(name), email: plain(email) };
  throw new LancelotError(
    "unavailable",
    'Git has no author configured. Ask the user to set it: git config --global user.name "Name", and git config --global user.email "address".',
  );
}

/** Removes line breaks, because names are part of the commit header. */
function plain(text: string): string {
  return text.replace(/[\p{Cc}<>]/gu, "").slice(0, 300);
}

/** The files in the workspace that this quest changed. */
function questNames(scope: Scope, git: Git): string[] {
  const { quest: questId } = scope.call;
  const files = questId === null ? [] : scope.questFiles(questId);
  if (files.length === 0) {
    throw new LancelotError(
      "not_found",
      "This task has not changed any files on disk, so there is nothing to commit. Changes that are waiting for review can be committed after they are accepted. To commit other files, name them in paths.",
    );
  }
  return files.map(({ absolute }) => nameInTree(git, absolute)).filter((name) => !name.startsWith("../"));
}

/** Selects the requested files that can be committed, with notes about the others. @throws LancelotError `not_found`, `conflict`, … */
async function committable(
  scope: Scope,
  git: Git,
  wanted: readonly string[],
  quietly: boolean,
): Promise<{ names: string[]; notes: string[] }> {
  const { entries, unreadable } = await changedFiles(git, wanted, "all", "counted");
  const notes: string[] = [];
  const names: string[] = [];
  const secret: string[] = [];
  const repositories: string[] = [];
  const outside: string[] = [];
  for (const { code, name } of entries) {
    if (code.includes("U") || code === "AA" || code === "DD")
      throw new LancelotError("conflict", `${name} has unresolved conflicts. Ask the user to resolve them first.`);
    const resolved = scope.governance.resolvePath(join(git.repository.workTree, name));
    if (name.endsWith("/")) repositories.push(name);
    else if (resolved.ok && !resolved.inside) outside.push(name);
    else if (!resolved.ok || resolved.sensitive === "secret") secret.push(name);
    else names.push(name);
  }
  if (secret.length > 0) notes.push(`Excluded, because it may contain secrets: ${list(secret)}.`);
  if (outside.length > 0) notes.push(`Excluded, because it is outside the workspace: ${list(outside)}.`);
  if (repositories.length > 0) notes.push(`Excluded, because it is a separate repository: ${list(repositories)}.`);
  if (unreadable > 0) notes.push(`Excluded, because the name is not valid text: ${unreadable} files.`);
  if (names.length > maxFiles) {
    throw new LancelotError(
      "too_large",
      `This would commit ${names.length} files, and the limit is ${maxFiles}. Name fewer files in paths.`,
    );
  }
  if (names.length === 0) {
    const why = quietly
      ? "The files this task changed match the last commit or are ignored by git"
      : "The files in these paths match the last commit or are ignored by git";
    throw new LancelotError("not_found", [`There is nothing to commit. ${why}.`, ...notes].join(" "));
  }
  refuseFiltered(await filtered(git, names), "Ask the user to commit these with git, and name the others in paths.");
  return { names, notes };
}

interface Planned {
  readonly head: Head;
  readonly ref: string;
  readonly author: { name: string; email: string };
  readonly message: string;
  readonly names: readonly string[];
  readonly receiptId: string;
}

/** Uses a separate index, so that the user's staged changes are neither committed nor lost. */
async function commit(scope: Scope, git: Git, of: Planned): Promise<{ commit: string; indexTime: number }> {
  const { head, ref, names } = of;
  const folder = await mkdtemp(join(tmpdir(), "lancelot-git-"));
  try {
    const index = join(folder, "index");
    const fromList = ["--pathspec-from-file=-", "--pathspec-file-nul"];
    const list = { input: `${names.join("\0")}\0`, quietMs };
    const pointers = await submodulePointers(git, names, scope.call.signal);
    const files = names.filter((name) => !pointers.has(name));
    if (head.commit !== null) await git.run("read-tree", [head.commit], undefined, { index, quietMs });
    if (files.length > 0) await git.run("add", ["--all", ...fromList], undefined, { input: `${files.join("\0")}\0`, quietMs, index });
    if (pointers.size > 0) {
      const lines = [...pointers].map(([name, at]) => `160000 ${at}\t${name}\0`);
      await git.run("update-index", ["--add", "-z", "--index-info"], undefined, { input: lines.join(""), index });
    }
    const tree = (await git.run("write-tree", [], undefined, { index })).trim();
    const before = head.commit === null ? null : (await git.run("rev-parse", ["--verify", `${head.commit}^{tree}`])).trim();
    if (tree === before) throw new LancelotError("not_found", "There is nothing to commit: the files match the last commit.");
    const parent = head.commit === null ? [] : ["-p", head.commit];
    const made = await git.run("commit-tree", ["--no-gpg-sign", ...parent, "-F", "-", tree], undefined, {
      input: tidy(of.message),
      author: of.author,
    });
    const commit = made.trim();
    scope.moves.record({
      questId: scope.call.quest,
      receiptId: of.receiptId,
      move: { kind: "commit", ref, before: head.commit, after: commit, paths: [...names] },
    });
    const subject = of.message.split("\n")[0]?.slice(0, 200) ?? "";
    const old = head.commit ?? "0".repeat(commit.length);
    await git.run("update-ref", ["-m", `commit: ${subject}`, ref, commit, old], undefined, { author: of.author });
    try {
      await git.run("reset", ["--quiet", ...fromList, commit], undefined, list);
    } catch (error) {
      // A partial update of the index would look as if the user had staged the reverse.
      const back = head.commit === null ? ["-d", ref, commit] : [ref, head.commit, commit];
      await git.run("update-ref", back, undefined, { author: of.author });
      throw error;
    }
    return { commit, indexTime: indexTime(git) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * The checked-out commit of each submodule among the names. It is read in the submodule's repository with its settings
 * disabled, because `git add` would run git there with them.
 * @throws LancelotError `denied` for a submodule without its own repository, `conflict` for one without a commit.
 */
async function submodulePointers(git: Git, names: readonly string[], signal: AbortSignal): Promise<Map<string, string>> {
  const staged = await git.run("ls-files", ["--stage", "-z"], names);
  const found = staged.split("\0").flatMap((entry) => /^160000 [0-9a-f]+ 0\t(.+)$/s.exec(entry)?.[1] ?? []);
  const pointers = new Map<string, string>();
  for (const name of found) {
    const folder = join(git.repository.workTree, name);
    // A removed submodule is committed like a removed file.
    if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) continue;
    const repository = findRepository(folder);
    if (repository === null || repository.workTree !== folder)
      throw new LancelotError("conflict", `${name} is a submodule that was not fetched, so its commit is unknown. Remove it from paths.`);
    const { commit } = await headOf(await gitOf(repository, folder, signal));
    if (commit === null) throw new LancelotError("conflict", `The submodule ${name} has no commits yet. Remove it from paths.`);
    pointers.set(name, commit);
  }
  return pointers;
}

/** Cleans up a message as git does: no trailing white space, one line break at the end. */
function tidy(message: string): string {
  return `${message
    .replace(/\r\n?/g, "\n")
    .replaceAll("\0", "")
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .trim()}\n`;
}

function indexTime(git: Git): number {
  return statSync(join(git.repository.gitDir, "index"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Verifies that the branch is at the commit, and that the index has its files unless it was changed since. */
async function verifyCommit(
  git: Git,
  ref: string,
  names: readonly string[],
  { commit, indexTime: time }: { commit: string; indexTime: number },
): Promise<string | null> {
  const at = (await git.ask("rev-parse", ["--quiet", "--verify", ref]))?.trim();
  if (at === undefined) return `${branchName(ref)} is gone`;
  if (at !== commit && (await git.ask("merge-base", ["--is-ancestor", commit, ref])) === null)
    return `${branchName(ref)} does not contain the commit ${shortHash(commit)}`;
  if (at !== commit || indexTime(git) !== time) return null;
  const differing = await git.run("diff-index", ["--cached", "--name-only", "-z", "--no-renames", commit], names.slice(0, 500));
  return differing === ""
    ? null
    : `${list(differing.split("\0").filter((name) => name !== ""))} is staged with other content than it was committed`;
}
