import { lstatSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import {
  branchName,
  changedFiles,
  filtered,
  type Git,
  gitProvider,
  headOf,
  list,
  refuseFiltered,
  resolveFile,
  shortHash,
  switchTo,
} from "../../workspace/workspace.ts";
import type { IntentSpec } from "../../execution/execution.ts";
import { defineTool, fileStep, type Scope } from "../tool.ts";
import { branchCommit, commitOf, RefArgument, refStep } from "./git-branch.ts";
import { holdRepository, nameInWorkspace, openIdle, reopen } from "./git-write.ts";

/** Most sensitive files that ask for approval one by one. */
const maxSensitive = 20;
/** Most files that are checked for unsaved text in the editor. */
const maxAsked = 200;

export const gitCheckout = defineTool({
  name: "git_checkout",
  description:
    "Switch to a branch (or to a tag or commit, without a branch). Uncommitted work is never lost: a checkout that would overwrite it is refused. Submodules are not updated. To create a branch use git_branch.",
  args: z.strictObject({ ref: RefArgument.describe("Branch; or a tag or commit") }),
  capability: "repo_ops",
  action: "checkout",
  baseTier: "T1",
  actionType: "tool_call",
  provider: gitProvider,
  title: ({ ref }) => `Git checkout ${ref}`,
  reads: ({ ref }, scope) => [refStep(scope, { ref })],
  async plan({ ref }, scope) {
    const opened = await openIdle(scope);
    const { git, head } = opened;
    const to = await target(git, ref);
    if (head.commit === null) throw new LancelotError("conflict", "The current branch has no commits yet. Commit first.");
    if (git.repository.workTree !== scope.workspace) {
      throw new LancelotError(
        "unavailable",
        "The root of this repository is above the workspace, so a checkout would change files outside the workspace. Ask the user to do it, or to open the root folder.",
      );
    }
    if (to.ref === head.ref && (to.ref !== null || to.commit === head.commit))
      return { kind: "answer", text: `${ref} is already checked out.`, outputs: { files: 0 } };
    const changes = await treeChanges(git, head.commit, to.commit);
    await expectNothingLost(scope, git, changes, to.commit);
    const names = changes.files.map(({ name }) => name);
    const where = to.ref === null ? `the commit ${shortHash(to.commit)}` : branchName(to.ref);
    return {
      kind: "effect",
      steps: [
        { capability: "repo_ops", action: "checkout", args: { ref, commit: to.commit } },
        ...sensitiveSteps(scope, git, changes.files),
      ],
      question: {
        title: `Check out ${ref}`,
        detail: [`${names.length} files change:`, ...names.slice(0, 100).map((name) => `  ${name}`)].join("\n"),
      },
      touches: [],
      run: async ({ receiptId }) => {
        await holdRepository(scope, git.repository, async () => {
          const fresh = await reopen(scope, opened);
          if ((await commitOf(fresh, to.ref ?? to.commit)) !== to.commit)
            throw new LancelotError("conflict", `${ref} changed in the meantime, so nothing was checked out. Try again.`);
          const { quest: questId } = scope.call;
          const from = { ref: head.ref, commit: head.commit ?? "" };
          scope.moves.record({ questId, receiptId, move: { kind: "checkout", from, to } });
          await switchTo(fresh, to);
        });
        const notes = [
          ...(to.ref === null ? ["HEAD is now detached: create a branch with git_branch before you commit."] : []),
          ...(changes.submodules === 0 ? [] : [`${changes.submodules} submodules have another commit there and were not updated.`]),
        ];
        return {
          value: {
            kind: "answer",
            text: [`Checked out ${where}; ${names.length} files changed. Read files again before you edit them.`, ...notes].join("\n"),
          },
          outputs: { headBefore: head, headAfter: to, files: names.length },
        };
      },
      verify: async () => {
        const now = await headOf(git);
        if (now.ref === to.ref && now.commit === to.commit) return null;
        // A later commit or checkout moved HEAD, and has its own receipt.
        const latest = scope.call.quest === null ? undefined : scope.moves.open(scope.call.quest)[0]?.move;
        return latest?.kind === "checkout" && latest.to.commit === to.commit && latest.to.ref === to.ref && now.ref !== to.ref
          ? `${where} is not checked out`
          : null;
      },
    };
  },
});

interface Target {
  readonly ref: string | null;
  readonly commit: string;
}

/** A branch by its short name, else any commit. @throws LancelotError `not_found`. */
async function target(git: Git, ref: string): Promise<Target> {
  const branch = `refs/heads/${ref.replace(/^refs\/heads\//, "")}`;
  const named = await branchCommit(git, branch);
  if (named !== null) return { ref: branch, commit: named };
  const commit = await commitOf(git, ref);
  if (commit !== null) return { ref: null, commit };
  const remotes = (await git.run("for-each-ref", ["--format=%(refname)", "refs/remotes"])).split("\n");
  const remote = remotes.find((one) => one.endsWith(`/${ref}`))?.replace(/^refs\/remotes\//, "");
  throw new LancelotError(
    "not_found",
    remote === undefined
      ? `${ref} does not exist in this repository. git_branch lists the branches.`
      : `There is no branch ${ref} here yet, only ${remote}. Create it with git_branch (name ${ref}, base ${remote}), then check it out.`,
  );
}

interface TreeChange {
  readonly name: string;
  readonly kind: "added" | "changed" | "removed";
}

/** The differences between two commits, by file. */
async function treeChanges(git: Git, from: string, to: string): Promise<{ files: TreeChange[]; submodules: number }> {
  const parts = (await git.run("diff-tree", ["-r", "-z", "--raw", "--no-renames", "--no-ext-diff", from, to])).split("\0");
  const files: TreeChange[] = [];
  let submodules = 0;
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [before = "", after = ""] = (parts[at] ?? "").replace(/^:/, "").split(" ");
    if (before === "160000" || after === "160000") submodules += 1;
    else files.push({ name: parts[at + 1] ?? "", kind: before === "000000" ? "added" : after === "000000" ? "removed" : "changed" });
  }
  return { files, submodules };
}

/** @throws LancelotError `conflict` when uncommitted work would be overwritten, `unavailable` for filters. */
async function expectNothingLost(scope: Scope, git: Git, { files }: { files: readonly TreeChange[] }, commit: string): Promise<void> {
  const names = new Set(files.map(({ name }) => name));
  const { entries } = await changedFiles(git, ["."], "no");
  const dirty = entries.map(({ name }) => name).filter((name) => names.has(name));
  if (dirty.length > 0) {
    throw new LancelotError(
      "conflict",
      `${list(dirty)} ${dirty.length === 1 ? "has" : "have"} uncommitted changes that would be lost. Commit them first, or ask the user.`,
    );
  }
  const inTheWay = files
    .filter(({ name, kind }) => kind === "added" && exists(join(git.repository.workTree, name)))
    .map(({ name }) => name);
  if (inTheWay.length > 0) {
    throw new LancelotError(
      "conflict",
      `${list(inTheWay)} ${inTheWay.length === 1 ? "is" : "are"} untracked and would be overwritten. Move or commit them first.`,
    );
  }
  await expectSaved(scope, git, files);
  const kept = files.filter(({ kind }) => kind !== "added").map(({ name }) => name);
  const filteredNames = [...(await filtered(git, kept)), ...(await filteredAt(git, [...names], commit))];
  refuseFiltered([...new Set(filteredNames)], "Ask the user to check this out with git.");
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** @throws LancelotError `conflict` for a file the editor holds unsaved. */
async function expectSaved(scope: Scope, git: Git, files: readonly TreeChange[]): Promise<void> {
  if (scope.askEditor === null) return;
  for (const { name } of files.slice(0, maxAsked)) {
    const path = nameInWorkspace(git, scope, name);
    if (path === null) continue;
    const { absolute } = resolveFile(scope, path);
    if ((await scope.files.unsavedText({ asked: path, absolute, display: path, inside: true })) !== null)
      throw new LancelotError("conflict", `${path} has unsaved edits in the editor. Ask the user to save or revert them first.`);
  }
}

/** Files with a filter program in the attributes of another commit. */
async function filteredAt(git: Git, names: readonly string[], commit: string): Promise<string[]> {
  if (!git.settings.some(({ name }) => /^filter\..+\.(?:smudge|process)$/is.test(name))) return [];
  const folder = await mkdtemp(join(tmpdir(), "lancelot-git-"));
  try {
    const index = join(folder, "index");
    await git.run("read-tree", [commit], undefined, { index });
    return await filtered(git, names, index);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** One step for each file that requires approval. @throws LancelotError `denied` when there are too many. */
function sensitiveSteps(scope: Scope, git: Git, files: readonly TreeChange[]): IntentSpec[] {
  const sensitive = files.flatMap((file) => {
    const path = nameInWorkspace(git, scope, file.name);
    return path !== null && scope.governance.judgeName(path) !== null ? [{ ...file, path }] : [];
  });
  if (sensitive.length > maxSensitive) {
    const names = sensitive.map(({ path }) => path);
    throw new LancelotError(
      "denied",
      `This checkout would change ${names.length} sensitive files (${list(names, 4)}). Ask the user to do it.`,
    );
  }
  return sensitive.map(({ path, kind }) => fileStep(kind === "removed" ? "delete" : "write", resolveFile(scope, path)));
}
