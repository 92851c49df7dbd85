import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { defineTool, fileStep, PathArgument } from "../tool.ts";
import { resolveFile } from "../../workspace/workspace.ts";

const noEditor = "No editor is connected to report problems. Read the file, or ask the user to run the checks.";

export const diagnostics = defineTool({
  name: "diagnostics",
  description:
    "List the errors and warnings in the editor, for one file or the whole workspace. Use it after edits were accepted; it does not include proposed edits.",
  args: z.strictObject({ path: PathArgument.optional().describe("File, relative to the workspace. Default: all files") }),
  capability: "file_ops",
  action: "read",
  baseTier: "T0",
  actionType: "env_query",
  provider: { name: "editor", version: "1" },
  problem: ({ askEditor }) => (askEditor === null ? noEditor : null),
  title: ({ path }) => (path === undefined ? "Problems in the workspace" : `Problems in ${path}`),
  reads: ({ path }, scope) => [path === undefined ? fileStep("list", resolveFile(scope, ".")) : fileStep("read", resolveFile(scope, path))],
  async plan({ path }, scope) {
    if (scope.askEditor === null) throw new LancelotError("unavailable", noEditor);
    const file = path === undefined ? null : resolveFile(scope, path);
    if (file !== null && !file.inside) throw new LancelotError("invalid_params", "Problems are available only for files in the workspace.");
    const { items } = await scope.askEditor("diagnostics", file === null ? {} : { path: file.display });
    const readable = items.filter((item) => {
      const resolved = scope.governance.resolvePath(item.path);
      return resolved.ok && resolved.sensitive !== "secret";
    });
    if (readable.length === 0) {
      return { kind: "answer", text: `No problems${file === null ? "" : ` in ${file.display}`}.`, outputs: { count: 0 } };
    }
    const order = ["error", "warning", "information", "hint"];
    const sorted = readable.toSorted(
      (a, b) => order.indexOf(a.severity) - order.indexOf(b.severity) || (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line),
    );
    const lines = sorted.map(({ path, line, column, severity, message, source }) => {
      const by = source === "" ? "" : ` (${source})`;
      return `${path}:${line}:${column} ${severity}: ${message.replaceAll("\n", " ")}${by}`;
    });
    return { kind: "answer", text: lines.join("\n"), hint: "Request one file by its path.", outputs: { count: readable.length } };
  },
});
