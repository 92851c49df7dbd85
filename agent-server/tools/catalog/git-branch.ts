import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { branchName, assertNoLinks, type Git, gitProvider, headOf, shortHash } from "../../workspace/workspace.ts";
import type { IntentSpec } from "../../execution/execution.ts";
import { type Answer, defineTool, type Scope } from "../tool.ts";
import { gitStep } from "./git.ts";
import { holdRepository, openIdle, reopen } from "./git-write.ts";

/** Most branches in a list. */
const maxListed = 200;

/** The name of a branch, tag or commit; policy checks it further. */
export const RefArgument = z.string().min(1).max(500);

/** The authorization step before git receives a ref of the caller. */
export function refStep(scope: Scope, refs: Record<string, string | undefined>): IntentSpec {
  const { args, ...step } = gitStep(scope, "log", undefined);
  return { ...step, args: { ...args, ...refs } };
}

/** The commit of a name; null when there is none. */
export async function commitOf(git: Git, ref: string): Promise<string | null> {
  return (await git.ask("rev-parse", ["--quiet", "--verify", "--end-of-options", `${ref}^{commit}`]))?.trim() ?? null;
}

/** The commit of a branch; null when there is no branch with exactly this name. */
export async function branchCommit(git: Git, ref: string): Promise<string | null> {
  return (await git.ask("check-ref-format", [ref])) === null ? null : commitOf(git, ref);
}

export const gitBranch = defineTool({
  name: "git_branch",
  description:
    "Create a branch at the current commit, or at base, without changing files. To work on it use git_checkout. Without a name: list the branches.",
  args: z.strictObject({
    name: RefArgument.optional().describe("Name of the new branch. Default: list the branches"),
    base: RefArgument.optional().describe("Branch, tag or commit to start from. Default: HEAD"),
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
      throw new LancelotError("invalid_params", `${name} is not a valid branch name. Use letters, digits, dots, dashes and slashes.`);
    const commit = await commitOf(git, base ?? "HEAD");
    if (commit === null) {
      throw new LancelotError(
        "not_found",
        base === undefined
          ? "This repository has no commits yet. Commit before you create a branch."
          : `There is no ${base} in this repository.`,
      );
    }
    if ((await commitOf(git, ref)) !== null)
      throw new LancelotError("conflict", `The branch ${name} already exists. Check it out with git_checkout, or use another name.`);
    return {
      kind: "effect",
      steps: [{ capability: "repo_ops", action: "branch", args: { name, base: base ?? "HEAD", commit } }],
      question: { title: `Create the branch ${name}`, detail: `At ${base ?? branchName(head.ref ?? "HEAD")} (${shortHash(commit)}).` },
      touches: [],
      run: async ({ receiptId }) => {
        await holdRepository(scope, git.repository, async () => {
          const fresh = await reopen(scope, opened);
          assertNoLinks(fresh.repository, [ref]);
          const { quest: questId } = scope.call;
          scope.moves.record({ questId, receiptId, move: { kind: "branch", ref, after: commit } });
          // All zeros: the ref must not exist.
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
          value: { kind: "answer", text: `Created the branch ${name} at ${shortHash(commit)}. The checked-out branch did not change.` },
          outputs: { branch: name, refBefore: null, refAfter: commit },
        };
      },
      verify: async () => ((await commitOf(git, ref)) === null ? `the branch ${name} does not exist` : null),
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
  if (rows.length > maxListed) lines.push("[more branches were left out]");
  return {
    kind: "answer",
    text: lines.length === 0 ? "This repository has no commits yet." : lines.join("\n"),
    outputs: { count: rows.length },
  };
}
