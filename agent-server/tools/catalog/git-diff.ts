import * as z from "zod";
import { gitProvider, maxOutputLines } from "../../workspace/workspace.ts";
import { count, defineTool, flag } from "../tool.ts";
import { GitPath, gitFor, gitStep, readablePaths } from "./git.ts";

/** Most files per git command, because command lines are limited. */
const maxPaths = 500;

const safe = [
  "--no-ext-diff",
  "--no-textconv",
  "--no-color",
  "--ignore-submodules=dirty",
  "--submodule=short",
  "--no-renames",
  "--relative",
];

export const gitDiff = defineTool({
  name: "git_diff",
  description:
    "Show changes since the last commit: unstaged changes, or staged ones with staged: true. New files are not included; see git_status.",
  args: z.strictObject({
    path: GitPath,
    staged: flag().optional().describe("Show staged changes instead of unstaged ones"),
    limit: count(1, 10_000).optional().describe("Maximum number of lines of the diff"),
  }),
  capability: "repo_ops",
  action: "diff",
  baseTier: "T0",
  actionType: "tool_call",
  provider: gitProvider,
  title: ({ path, staged }) => `Git diff${staged === true ? " (staged)" : ""}${path === undefined ? "" : ` of ${path}`}`,
  reads: ({ path }, scope) => [gitStep(scope, "diff", path)],
  async plan({ path, staged, limit = maxOutputLines }, scope) {
    const { git, at } = await gitFor(scope, path);
    const side = staged === true ? ["--cached"] : [];
    const names = await git.read("diff", [...safe, ...side, "--name-only", "-z"], [at]);
    const { readable, secret } = readablePaths(scope, names);
    const left = secret === 0 ? "" : `\n[${secret} changed secret files are not shown]`;
    if (readable.length === 0) {
      return {
        kind: "answer",
        text: `No ${staged === true ? "staged" : "unstaged"} changes${path === undefined ? "" : ` in ${path}`}.${left}`,
        outputs: { files: 0 },
      };
    }
    const shown = readable.slice(0, maxPaths);
    const text = await git.read(
      "diff",
      [...safe, ...side],
      shown.map((name) => `./${name}`),
    );
    const lines = text.trimEnd().split("\n");
    const cut = lines.length > limit ? `\n[${lines.length - limit} more lines: raise limit or name a path]` : "";
    const more = shown.length < readable.length ? `\n[${readable.length - shown.length} more files: name a path]` : "";
    return {
      kind: "answer",
      text: lines.slice(0, limit).join("\n") + cut + more + left,
      hint: "Name a path to narrow the output.",
      outputs: { files: readable.length, lines: lines.length },
    };
  },
});
