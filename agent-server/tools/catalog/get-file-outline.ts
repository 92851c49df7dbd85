import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { fileProvider, resolveFile } from "../../workspace/workspace.ts";
import { defineTool, fileStep, PathArgument, readOverlay } from "../tool.ts";

export const getFileOutline = defineTool({
  name: "get_file_outline",
  description:
    "List the definitions in a source file (functions, classes, methods, types; Markdown headings; JSON and YAML keys) with line numbers and signatures. Use it before read_file on a long file, then read the lines you need. Includes your own proposed edits.",
  args: z.strictObject({ path: PathArgument.describe("File, relative to the workspace") }),
  capability: "file_ops",
  action: "read",
  baseTier: "T0",
  actionType: "tool_call",
  provider: fileProvider,
  title: ({ path }) => `Outline of ${path}`,
  reads: ({ path }, scope) => [fileStep("read", resolveFile(scope, path))],
  async plan({ path }, scope) {
    const file = resolveFile(scope, path);
    if (file.type === "directory")
      throw new LancelotError(
        "invalid_params",
        `${file.display} is a folder. Use list_files with path "${file.display}" to list its content.`,
      );
    const { overlay } = await readOverlay(scope, file);
    if (overlay.text === null)
      throw new LancelotError("not_found", `${file.display} does not exist. Use list_files or search_workspace to find it.`);
    const { entries, language, source, problem } = await scope.outliner.outline(file.display, overlay.text);
    const lines = entries.map(({ startLine, endLine, depth, kind, name, signature }) => {
      const at = endLine > startLine ? `${String(startLine)}-${String(endLine)}` : String(startLine);
      const what = signature === "" ? name : signature;
      return `${"  ".repeat(depth)}${at} ${what.split(" ").includes(kind) ? what : `${kind} ${what}`}`;
    });
    const total = overlay.text.split("\n").length;
    const head = `${file.display}: ${language}, ${String(total)} lines`;
    const text = lines.length === 0 ? `${head}. It has no definitions.` : [head, ...lines].join("\n");
    return {
      kind: "answer",
      text: problem === null ? text : `${text}\n[${problem}]`,
      hint: "Read the lines you need with read_file.",
      outputs: { count: entries.length, language, source },
    };
  },
});
