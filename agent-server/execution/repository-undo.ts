import type { RestoreResult } from "../contract/changes.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Governance } from "../governance/governance.ts";
import {
  branchName,
  assertNoLinks,
  findSharingRef,
  type Git,
  gitProvider,
  headOf,
  type Move,
  openGit,
  type PathLocks,
  type RecordedMove,
  type RepositoryMoves,
  shortHash,
  switchTo,
  operationInProgress,
} from "../workspace/workspace.ts";
import type { IntentSpec } from "./action.ts";
import type { ExecutionPipeline } from "./pipeline.ts";

export interface RepositoryUndo {
  /** Undoes the git actions of a quest, newest first, and stops at one that later work builds on. */
  undo(questId: string): Promise<Pick<RestoreResult, "restored" | "conflicts">>;
}

export function createRepositoryUndo(deps: {
  moves: RepositoryMoves;
  pipeline: ExecutionPipeline;
  locks: PathLocks;
  governance: Pick<Governance, "rolledBack" | "resolvePath">;
  workspace: string;
}): RepositoryUndo {
  const { moves, pipeline, locks, governance, workspace } = deps;

  /** Runs through the pipeline as the user's own action. @throws LancelotError `denied` of governance. */
  async function rollBack({ id, questId, receiptId, move }: RecordedMove): Promise<string | null> {
    const { signal } = new AbortController();
    const git = await openGit(workspace, signal);
    const { value } = await pipeline.execute<string | null>({
      actor: "owner",
      quest: questId,
      parent: null,
      mode: "normal",
      signal,
      actionType: "tool_call",
      actionName: "repository_restore",
      inputs: { move: move.kind, receipt: receiptId },
      steps: [stepOf(move)],
      question: { title: titleOf(move), detail: "" },
      consent: "review",
      touches: [],
      provider: gitProvider,
      run: async () => {
        const done = await locks.hold([`repository\0${git.repository.commonDir}`], () => reverse(git, move));
        moves.takenBack(id);
        return { value: done ? titleOf(move) : null, outputs: { move: move.kind, done } };
      },
    });
    return value;
  }

  return {
    async undo(questId) {
      const restored: string[] = [];
      const conflicts: { path: string; message: string }[] = [];
      const receipts: string[] = [];
      for (const recorded of moves.open(questId)) {
        if (recorded.move.kind === "clone") {
          const message = "A cloned repository is not deleted by an undo. Delete its folder if you do not need it.";
          conflicts.push({ path: nameOf(recorded.move, governance), message });
          continue;
        }
        try {
          const done = await rollBack(recorded);
          if (done === null) continue;
          restored.push(done);
          receipts.push(recorded.receiptId);
        } catch (error) {
          if (!(error instanceof LancelotError)) throw error;
          conflicts.push({ path: nameOf(recorded.move, governance), message: error.message });
          // The earlier actions cannot be undone without this one.
          break;
        }
      }
      if (receipts.length > 0) governance.rolledBack({ receiptIds: receipts, questId });
      return { restored, conflicts };
    },
  };
}

function stepOf(move: Move): IntentSpec {
  if (move.kind === "checkout") return { capability: "repo_ops", action: "checkout", args: { commit: move.from.commit } };
  return { capability: "repo_ops", action: move.kind === "commit" ? "commit" : "branch", args: { undo: move.kind } };
}

function titleOf(move: Move): string {
  switch (move.kind) {
    case "commit":
      return `the commit ${shortHash(move.after)} on ${branchName(move.ref)}`;
    case "branch":
      return move.ref.startsWith("refs/tags/") ? `the tag ${move.ref.slice("refs/tags/".length)}` : `the branch ${branchName(move.ref)}`;
    case "checkout":
      return `the checkout of ${nameOfHead(move.to)}`;
    case "clone":
      return `the clone in ${move.path}`;
  }
}

function nameOf(move: Move, governance: Pick<Governance, "resolvePath">): string {
  if (move.kind !== "clone") return titleOf(move);
  const resolved = governance.resolvePath(move.path);
  return resolved.ok ? resolved.display : "the clone";
}

function nameOfHead({ ref, commit }: { ref: string | null; commit: string }): string {
  return ref === null ? shortHash(commit) : branchName(ref);
}

/** False when the action had no effect or was undone already. @throws LancelotError `conflict` when later work builds on it. */
async function reverse(git: Git, move: Move): Promise<boolean> {
  const busy = operationInProgress(git.repository);
  if (busy !== null) throw new LancelotError("conflict", `${busy.replace(/^a/, "A")} is in progress in the repository.`);
  switch (move.kind) {
    case "commit":
      return uncommit(git, move);
    case "branch":
      return removeBranch(git, move);
    case "checkout": {
      const head = await headOf(git);
      if (head.ref === move.from.ref && head.commit === move.from.commit) return false;
      if (head.ref !== move.to.ref || head.commit !== move.to.commit)
        throw new LancelotError("conflict", "Something else was checked out or committed since, so nothing was changed.");
      if (move.from.ref !== null && (await at(git, move.from.ref)) === null)
        throw new LancelotError("conflict", `${branchName(move.from.ref)} no longer exists, so it cannot be checked out again.`);
      await switchTo(git, move.from);
      return true;
    }
    case "clone":
      return false;
  }
}

async function at(git: Git, ref: string): Promise<string | null> {
  return (await git.ask("rev-parse", ["--quiet", "--verify", ref]))?.trim() ?? null;
}

function author(git: Git): { name: string; email: string } {
  return { name: git.owner.name ?? "Lancelot", email: git.owner.email ?? "lancelot@localhost" };
}

async function uncommit(git: Git, { ref, before, after, paths, shared: wasShared }: Extract<Move, { kind: "commit" }>): Promise<boolean> {
  const now = await at(git, ref);
  if (now === before) return false;
  if (now !== after)
    throw new LancelotError(
      "conflict",
      `${branchName(ref)} changed since (${now === null ? "it was deleted" : `it is at ${shortHash(now)}`}), so the commit was kept. Use git revert to reverse its changes.`,
    );
  const shared = wasShared === true ? null : await findSharingRef(git, after);
  if (shared !== null)
    throw new LancelotError(
      "conflict",
      `The commit was pushed or tagged (${shared}), so it was kept. Use git revert to reverse its changes.`,
    );
  assertNoLinks(git.repository, [ref]);
  const { ref: checkedOut } = await headOf(git);
  const list = { input: `${paths.join("\0")}\0`, author: author(git) };
  if (before === null) await git.run("update-ref", ["-d", ref, after], undefined, { author: author(git) });
  else await git.run("update-ref", ["-m", "undo of a commit", ref, before, after], undefined, { author: author(git) });
  // An empty list would mean all files.
  if (checkedOut !== ref || paths.length === 0) return true;
  // Only the index is reset: the working tree keeps the changes of the commit.
  const fromList = ["--pathspec-from-file=-", "--pathspec-file-nul"];
  if (before === null) await git.run("rm", ["--cached", "--quiet", "--ignore-unmatch", ...fromList], undefined, list);
  else await git.run("reset", ["--quiet", ...fromList, before], undefined, list);
  return true;
}

async function removeBranch(git: Git, { ref, after }: Extract<Move, { kind: "branch" }>): Promise<boolean> {
  const now = await at(git, ref);
  if (now === null) return false;
  if (now !== after) throw new LancelotError("conflict", `${branchName(ref)} has new commits, so it was kept.`);
  const trees = await git.run("for-each-ref", ["--format=%(worktreepath)", ref]);
  if (trees.trim() !== "") throw new LancelotError("conflict", `${branchName(ref)} is checked out, so it was kept.`);
  assertNoLinks(git.repository, [ref]);
  await git.run("update-ref", ["-d", ref, after], undefined, { author: author(git) });
  return true;
}
