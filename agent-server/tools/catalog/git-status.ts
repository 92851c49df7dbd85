import * as z from "zod";
import { gitProvider } from "../../workspace/workspace.ts";
import { defineTool } from "../tool.ts";
import { GitPath, gitFor, gitStep } from "./git.ts";

export const gitStatus = defineTool({
  name: "git_status",
  description:
    "Show the branch and the changed, staged and new files. For their content use git_diff. For a submodule, only a different commit is shown, not changes in its files.",
  args: z.strictObject({ path: GitPath }),
  capability: "repo_ops",
  action: "status",
  baseTier: "T0",
  actionType: "tool_call",
  provider: gitProvider,
  title: ({ path }) => `Git status${path === undefined ? "" : ` of ${path}`}`,
  reads: ({ path }, scope) => [gitStep(scope, "status", path)],
  async plan({ path }, scope) {
    const { git, at } = await gitFor(scope, path);
    const text = await git.read(
      "status",
      ["--short", "--branch", "--untracked-files=normal", "--ignore-submodules=dirty", "--no-renames"],
      [at],
    );
    const lines = text.trimEnd().split("\n");
    const clean = lines.length === 1 ? "\nNo changes." : "";
    return {
      kind: "answer",
      text: lines.join("\n") + clean,
      hint: "Name a path to narrow the output.",
      outputs: { changed: lines.length - 1 },
    };
  },
});
