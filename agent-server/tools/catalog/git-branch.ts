import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { branchName, expectPlain, type Git, gitProvider, headOf, shortHash } from "../../workspace/workspace.ts";
import type { IntentSpec } from "../../execution/execution.ts";
import { type Answer, defineTool, type Scope } from "../tool.ts";
import { gitStep } from "./git.ts";
import { holdRepository, openIdle, reopen } from "./git-write.ts";

/** Most branches a list shows. */
const maxListed = 200;

/** A name of a branch, tag or commit; the gate looks at it more closely. */
export const RefArgument = z.string().min(1).max(500);

/** The look at a repository before a ref of the caller's is named to git. */
export function refStep(scope: Scope, refs: Record<string, string | undefined>): IntentSpec {
  const { args, ...step } = gitStep(scope, "log", undefined);
  return { ...step, args: { ...args, ...refs } };
}

/** The commit a name stands for; null when there is none. */
export async function commitOf(git: Git, ref: string): Promise<string | null> {
  return (await git.ask("rev-parse", ["--quiet", "--verify", "--end-of-options", `${ref}^{commit}`]))?.trim() ?? null;
}

/** The commit a branch is at; null when there is no branch of just this name. */
export async function branchCommit(git: Git, ref: string): Promise<string | null> {
  return (await git.ask("check-ref-format", [ref])) === null ? null : commitOf(git, ref);
}

export const gitBranch = defineTool({
  name: "git_branch",
  description:
    "Make a branch at the current commit, or at base; files stay as they are. To work on it use git_checkout. Without a name: list the branches.",
  args: z.strictObject({
    name: RefArgument.optional().describe("Name of the new branch; list them if left out"),
    base: RefArgument.optional().describe("Branch, tag or commit it begins at; HEAD if left out"),
  }),
  capability: "repo_ops",
  action: "branch",
  baseTier: "T1",
  actionType: "tool_call",
  provider: gitProvider,
  title: ({ name, base }) => (name === undefined ? "Git branches" : `Git branch ${name}${base === undefined ? "" : ` at ${base}`}`),
  reads: ({ name, base }, scope) => [refStep(scope, { ...(name === undefined ? {} : { name }), ...(base === undefined ? {} : { base }) })],
  async plan({ name, base }, scope) {
    const opened = await openIdle(scope);
    const { git, head } = opened;
    if (name === undefined) return listed(git);
    const ref = `refs/heads/${name}`;
    if (name === "HEAD" || /^(?:refs\/|[+:])/.test(name) || (await git.ask("check-ref-format", [ref])) === null)
      throw new LancelotError("invalid_params", `${name} is no name for a branch. Use letters, digits, dots, dashes and slashes.`);
    const commit = await commitOf(git, base ?? "HEAD");
    if (commit === null) {
      throw new LancelotError(
        "not_found",
        base === undefined
          ? "This repository has no commits yet, so no branch can begin anywhere. Commit first."
          : `There is no ${base} in this repository.`,
      );
    }
    if ((await commitOf(git, ref)) !== null)
      throw new LancelotError("conflict", `There is a branch ${name} already. Check it out with git_checkout, or take another name.`);
    return {
      kind: "effect",
      steps: [{ capability: "repo_ops", action: "branch", args: { name, base: base ?? "HEAD", commit } }],
      question: { title: `Make the branch ${name}`, detail: `At ${base ?? branchName(head.ref ?? "HEAD")} (${shortHash(commit)}).` },
      touches: [],
      run: async ({ receiptId }) => {
        await holdRepository(scope, git.repository, async () => {
          const fresh = await reopen(scope, opened);
          expectPlain(fresh.repository, [ref]);
          const { quest: questId } = scope.call;
          scope.moves.record({ questId, receiptId, move: { kind: "branch", ref, after: commit } });
          // All zeros: there must be none.
          await fresh.run(
            "update-ref",
            ["-m", `branch: Created from ${base ?? "HEAD"}`, ref, commit, "0".repeat(commit.length)],
            undefined,
            {
              author: { name: fresh.owner.name ?? "Lancelot", email: fresh.owner.email ?? "lancelot@localhost" },
            },
          );
        });
        return {
          value: { kind: "answer", text: `Made the branch ${name} at ${shortHash(commit)}. What is checked out did not change.` },
          outputs: { branch: name, refBefore: null, refAfter: commit },
        };
      },
      verify: async () => ((await commitOf(git, ref)) === null ? `the branch ${name} is not there` : null),
    };
  },
});

async function listed(git: Git): Promise<Answer> {
  const head = await headOf(git);
  const format = "%(refname)%00%(objectname:short)%00%(contents:subject)";
  const text = await git.run("for-each-ref", [
    `--count=${maxListed + 1}`,
    "--sort=-committerdate",
    `--format=${format}`,
    "refs/heads",
    "refs/remotes",
  ]);
  const rows = text
    .trimEnd()
    .split("\n")
    .filter((line) => line !== "");
  const lines = rows.slice(0, maxListed).map((row) => {
    const [ref = "", hash = "", subject = ""] = row.split("\0");
    return `${ref === head.ref ? "*" : " "} ${ref.replace(/^refs\/(?:heads|remotes)\//, "")} ${hash} ${subject}`;
  });
  if (head.ref === null) lines.unshift(`* (no branch is checked out: HEAD is at ${shortHash(head.commit ?? "")})`);
  if (rows.length > maxListed) lines.push("[more branches are not shown]");
  return {
    kind: "answer",
    text: lines.length === 0 ? "This repository has no commits yet." : lines.join("\n"),
    outputs: { count: rows.length },
  };
}
