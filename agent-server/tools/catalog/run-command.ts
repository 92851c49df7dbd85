import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { oneLine } from "../command/command-question.ts";
import { commandEffect } from "../command/run-command-line.ts";
import { count, defineTool, flag, PathArgument } from "../tool.ts";
import { resolveFile } from "../../workspace/workspace.ts";

export const runCommand = defineTool({
  name: "run_command",
  description:
    "Run a command line with bash in a sandbox that can access only the workspace: tests, builds, linters, scripts. There is no input, and background processes are stopped when it ends; for a dev server or a watcher, set background. It sees the workspace with this task's proposed changes, so test them before the review. What it changes is proposed to the user like an edit, and can be undone. To read or change files and for git, prefer the other tools.",
  args: z.strictObject({
    command: z.string().min(1).max(50_000).describe("For bash -c"),
    cwd: PathArgument.optional().describe("Folder to run in, relative to the workspace. Default: its root"),
    timeout_ms: count(1_000, 86_400_000).optional().describe("Timeout in milliseconds"),
    background: flag()
      .optional()
      .describe(
        "Keep it running: returns once it listens on a port, is quiet for 2 s or has ended. Then use command_output and stop_command. Other commands reach it on localhost",
      ),
    wait_ms: count(0, 60_000).optional().describe("With background: how long to wait for the start. Default: 15000"),
  }),
  capability: "shell_exec",
  action: "run",
  baseTier: "T2",
  actionType: "tool_call",
  provider: { name: "shell", version: "1" },
  routed: true,
  title: ({ command }) => `Run ${oneLine(command)}`,
  reads: () => [],
  async plan({ command, cwd = ".", timeout_ms, background = false, wait_ms = 15_000 }, scope) {
    const folder = resolveFile(scope, cwd);
    if (folder.type !== "directory")
      throw new LancelotError(
        "invalid_params",
        `${folder.display} is ${folder.type === "missing" ? "missing" : "not a folder"}. Name a folder in the workspace.`,
      );
    if (!folder.inside) throw new LancelotError("denied", "Commands can only run in the workspace or in one of its folders.");
    return commandEffect(scope, {
      command,
      cwd: { display: folder.display, absolute: folder.absolute },
      title: `Run ${oneLine(command)}`,
      ...(timeout_ms === undefined ? {} : { timeoutMs: timeout_ms }),
      ...(background ? { background: { waitMs: wait_ms } } : {}),
    });
  },
});
