import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { gitProvider } from "../../workspace/workspace.ts";
import { count, defineTool } from "../tool.ts";
import { GitPath, gitFor, gitStep } from "./git.ts";

export const gitLog = defineTool({
  name: "git_log",
  description: "List the latest commits, newest first: hash, date, author, subject. With path: only commits that changed it.",
  args: z.strictObject({ path: GitPath, limit: count(1, 200).optional().describe("Number of commits. Default: 20") }),
  capability: "repo_ops",
  action: "log",
  baseTier: "T0",
  actionType: "tool_call",
  provider: gitProvider,
  title: ({ path }) => `Git log${path === undefined ? "" : ` of ${path}`}`,
  reads: ({ path }, scope) => [gitStep(scope, "log", path)],
  async plan({ path, limit = 20 }, scope) {
    const { git, at } = await gitFor(scope, path);
    const args = [
      `--max-count=${limit}`,
      "--no-color",
      "--no-show-signature",
      "--no-ext-diff",
      "--no-textconv",
      "--date=short",
      "--pretty=format:%h %ad %an: %s",
    ];
    try {
      const text = (await git.read("log", args, path === undefined ? [] : [at])).trimEnd();
      if (text === "") return { kind: "answer", text: `No commits${path === undefined ? "" : ` touched ${path}`}.`, outputs: { count: 0 } };
      return { kind: "answer", text, hint: "Use a smaller limit or a path.", outputs: { count: text.split("\n").length } };
    } catch (error) {
      if (error instanceof LancelotError && error.code === "not_found")
        return { kind: "answer", text: error.message, outputs: { count: 0 } };
      throw error;
    }
  },
});
