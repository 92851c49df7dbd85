import * as z from "zod";
import { gitProvider } from "../../workspace/workspace.ts";
import { defineTool } from "../tool.ts";
import { GitPath, gitFor, gitStep } from "./git.ts";

export const gitStatus = defineTool({
  name: "git_status",
  description:
    "Branch, and which files are changed, staged or new. For what changed in them use git_diff. Of a submodule only another commit is shown, not changes of its files.",
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
    const clean = lines.length === 1 ? "\nNothing is changed." : "";
    return { kind: "answer", text: lines.join("\n") + clean, hint: "Name a path to see less.", outputs: { changed: lines.length - 1 } };
  },
});
