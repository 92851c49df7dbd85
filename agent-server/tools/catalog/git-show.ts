import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { gitProvider, maxOutputLines } from "../../workspace/workspace.ts";
import { count, defineTool } from "../tool.ts";
import { GitPath, gitFor, gitStep, readablePaths } from "./git.ts";
import { commitOf, RefArgument } from "./git-branch.ts";

/** Most files per git command, because command lines are limited. */
const maxPaths = 500;

export const gitShow = defineTool({
  name: "git_show",
  description: "Show one commit: author, date, message and changes. With path: only the changes there.",
  args: z.strictObject({
    ref: RefArgument.optional().describe("Commit, branch or tag. Default: HEAD"),
    path: GitPath,
    limit: count(1, 10_000).optional().describe("Maximum number of lines of the diff"),
  }),
  capability: "repo_ops",
  action: "log",
  baseTier: "T0",
  actionType: "tool_call",
  provider: gitProvider,
  title: ({ ref = "HEAD", path }) => `Git show ${ref}${path === undefined ? "" : `, ${path}`}`,
  reads({ ref = "HEAD", path }, scope) {
    const { args, ...step } = gitStep(scope, "log", path);
    return [{ ...step, args: { ...args, ref } }];
  },
  async plan({ ref = "HEAD", path, limit = maxOutputLines }, scope) {
    const { git, at } = await gitFor(scope, path);
    const commit = await commitOf(git, ref);
    if (commit === null) throw new LancelotError("not_found", `There is no commit ${ref} in this repository. git_log lists them.`);
    const head = await git.read(
      "log",
      [
        "--max-count=1",
        "--no-color",
        "--no-show-signature",
        "--no-patch",
        "--date=iso",
        "--pretty=format:commit %H%nAuthor: %an%nDate: %ad%n%n%B",
        commit,
      ],
      [],
    );
    const tree = [
      "-r",
      "--root",
      "-m",
      "--first-parent",
      "--no-commit-id",
      "--no-ext-diff",
      "--no-textconv",
      "--no-color",
      "--no-renames",
      "--ignore-submodules=none",
      "--relative",
    ];
    const names = await git.read("diff-tree", [...tree, "--name-only", "-z", commit], [at]);
    const { readable, secret } = readablePaths(scope, names);
    const shown = readable.slice(0, maxPaths);
    const text =
      shown.length === 0
        ? ""
        : await git.read(
            "diff-tree",
            [...tree, "--patch", commit],
            shown.map((name) => `./${name}`),
          );
    const lines = text.trimEnd().split("\n");
    const left = [
      lines.length > limit ? `[${lines.length - limit} more lines: raise limit or name a path]` : "",
      shown.length < readable.length ? `[${readable.length - shown.length} more files: name a path]` : "",
      secret === 0 ? "" : `[${secret} changed secret files are not shown]`,
    ].filter((line) => line !== "");
    return {
      kind: "answer",
      text: [head.trimEnd(), "", ...lines.slice(0, limit), ...left].join("\n").trimEnd(),
      hint: "Name a path to narrow the output.",
      outputs: { commit, files: readable.length },
    };
  },
});
