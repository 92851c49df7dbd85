import { relative, sep } from "node:path";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { baseArgs, globFilter, maxOutputLines, resolveFile, ripgrepProvider, runRipgrep } from "../../workspace/workspace.ts";
import { count, defineTool, fileStep, PathArgument } from "../tool.ts";

export const listFiles = defineTool({
  name: "list_files",
  description:
    "List the files in a folder, sorted, at most 400, without ignored files (.gitignore). Narrow with glob (such as src/**/*.ts) or depth (1: only direct children). To find text in files use search_workspace.",
  args: z.strictObject({
    path: PathArgument.optional().describe("Folder, relative to the workspace. Default: the workspace itself"),
    glob: z.string().min(1).max(500).optional().describe("Pattern for the path in the workspace, or for the name"),
    depth: count(1, 100).optional().describe("Maximum depth of folders"),
  }),
  capability: "file_ops",
  action: "list",
  baseTier: "T0",
  actionType: "tool_call",
  provider: ripgrepProvider,
  title: ({ path, glob }) => `List ${path ?? "the workspace"}${glob === undefined ? "" : ` (${glob})`}`,
  reads: ({ path }, scope) => [fileStep("list", resolveFile(scope, path ?? "."))],
  async plan({ path, glob, depth }, scope) {
    const folder = resolveFile(scope, path ?? ".");
    if (folder.type === "missing") throw new LancelotError("not_found", `${folder.display} does not exist.`);
    if (folder.type !== "directory") throw new LancelotError("invalid_params", `${folder.display} is a file. Use read_file.`);
    const prefix = folder.inside ? relative(scope.workspace, folder.absolute).split(sep).join("/") : folder.absolute;
    const accepts = globFilter(glob);
    const found = new Set<string>();
    const { stopped } = await runRipgrep({
      ripgrepPath: scope.ripgrepPath,
      cwd: folder.absolute,
      args: [...baseArgs(folder.absolute), "--files", "--null", "--sort=path"],
      separator: "\0",
      signal: scope.call.signal,
      onRecord: (record) => {
        const below = record
          .replace(/^\.[/\\]/, "")
          .split(sep)
          .join("/");
        const shown = prefix === "" ? below : `${prefix}/${below}`;
        if (!accepts(shown, below)) return true;
        const parts = below.split("/");
        const deep = depth !== undefined && parts.length > depth;
        const entry = deep ? `${parts.slice(0, depth).join("/")}/` : below;
        const full = prefix === "" ? entry : `${prefix}/${entry}`;
        if (found.size === maxOutputLines && !found.has(full)) return false;
        found.add(full);
        return true;
      },
    });
    const entries = [...found];
    if (entries.length === 0) {
      const what = glob === undefined ? "no files" : `no files that match ${glob}`;
      return { kind: "answer", text: `${folder.display} has ${what} (ignored files are not listed).`, outputs: { count: 0 } };
    }
    const more = stopped ? `\n[more than ${maxOutputLines} files: narrow with path, glob or depth]` : "";
    return {
      kind: "answer",
      text: entries.join("\n") + more,
      hint: "Narrow with path, glob or depth.",
      outputs: { count: entries.length, truncated: stopped },
    };
  },
});
