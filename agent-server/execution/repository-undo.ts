import type { RestoreResult } from "../contract/changes.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Governance } from "../governance/governance.ts";
import {
  branchName,
  assertNoLinks,
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
  /** Takes back what a quest did to the repository, newest first, as far as nobody did anything with it since. */
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

  /** By the pipeline, as the owner's own act; what the gate denies stays as it is. */
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
          // What was done before it stands on it.
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
      return `the branch ${branchName(move.ref)}`;
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

/** False when it never came to be, or is gone already. @throws LancelotError `conflict` when somebody went on from it. */
async function reverse(git: Git, move: Move): Promise<boolean> {
  const busy = operationInProgress(git.repository);
  if (busy !== null) throw new LancelotError("conflict", `${busy.replace(/^a/, "A")} is under way in the repository.`);
  switch (move.kind) {
    case "commit":
      return uncommit(git, move);
    case "branch":
      return removeBranch(git, move);
    case "checkout": {
      const head = await headOf(git);
      if (head.ref === move.from.ref && head.commit === move.from.commit) return false;
      if (head.ref !== move.to.ref || head.commit !== move.to.commit)
        throw new LancelotError("conflict", "Something else was checked out or committed since. It was left as it is.");
      if (move.from.ref !== null && (await at(git, move.from.ref)) === null)
        throw new LancelotError("conflict", `${branchName(move.from.ref)} is gone, so it cannot be checked out again.`);
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

async function uncommit(git: Git, { ref, before, after, paths }: Extract<Move, { kind: "commit" }>): Promise<boolean> {
  const now = await at(git, ref);
  if (now === before) return false;
  if (now !== after)
    throw new LancelotError(
      "conflict",
      `${branchName(ref)} has moved on since (${now === null ? "it is gone" : `to ${shortHash(now)}`}), so the commit stays. git revert takes its changes back.`,
    );
  const shared = await git.run("for-each-ref", ["--count=1", "--format=%(refname)", `--contains=${after}`, "refs/remotes", "refs/tags"]);
  if (shared.trim() !== "")
    throw new LancelotError(
      "conflict",
      `The commit was pushed or tagged (${shared.trim()}), so it stays. git revert takes its changes back.`,
    );
  assertNoLinks(git.repository, [ref]);
  const { ref: checkedOut } = await headOf(git);
  const list = { input: `${paths.join("\0")}\0`, author: author(git) };
  if (before === null) await git.run("update-ref", ["-d", ref, after], undefined, { author: author(git) });
  else await git.run("update-ref", ["-m", "undo of a commit", ref, before, after], undefined, { author: author(git) });
  if (checkedOut !== ref) return true;
  // The files stay as they are; the index forgets what was committed.
  const fromList = ["--pathspec-from-file=-", "--pathspec-file-nul"];
  if (before === null) await git.run("rm", ["--cached", "--quiet", "--ignore-unmatch", ...fromList], undefined, list);
  else await git.run("reset", ["--quiet", ...fromList, before], undefined, list);
  return true;
}

async function removeBranch(git: Git, { ref, after }: Extract<Move, { kind: "branch" }>): Promise<boolean> {
  const now = await at(git, ref);
  if (now === null) return false;
  if (now !== after) throw new LancelotError("conflict", `${branchName(ref)} has commits of its own since, so it stays.`);
  const trees = await git.run("for-each-ref", ["--format=%(worktreepath)", ref]);
  if (trees.trim() !== "") throw new LancelotError("conflict", `${branchName(ref)} is checked out, so it stays.`);
  assertNoLinks(git.repository, [ref]);
  await git.run("update-ref", ["-d", ref, after], undefined, { author: author(git) });
  return true;
}
