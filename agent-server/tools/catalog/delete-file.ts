import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { editsEffect } from "../edit-effect.ts";
import { fileProvider, resolveFile } from "../../workspace/workspace.ts";
import { defineTool, fileStep, PathArgument } from "../tool.ts";

export const deleteFile = defineTool({
  name: "delete_file",
  description: "Delete one file. Requires the user's approval. Folders cannot be deleted.",
  args: z.strictObject({ path: PathArgument.describe("File, relative to the workspace") }),
  capability: "file_ops",
  action: "delete",
  baseTier: "T3",
  actionType: "tool_call",
  provider: fileProvider,
  title: ({ path }) => `Delete ${path}`,
  edits: ({ path }) => [path],
  reads({ path }, scope) {
    const file = resolveFile(scope, path);
    // Deleting a file does not read it. That the path is missing or a folder is reported only after an authorized read.
    return file.type === "file" ? [] : [fileStep("read", file)];
  },
  async plan({ path }, scope) {
    const file = resolveFile(scope, path);
    if (file.type === "directory")
      throw new LancelotError("invalid_params", `${file.display} is a folder; only single files can be deleted.`);
    if (file.type !== "missing") return editsEffect(scope, [{ file, current: null, text: null, note: "" }], "write");
    const current = await scope.files.current(file);
    if (scope.changes.overlay(scope.call.quest, file, current).text === null) {
      throw new LancelotError("not_found", `${file.display} does not exist.`);
    }
    // The file exists only as a proposal, which is withdrawn.
    return editsEffect(scope, [{ file, current, text: null, note: "" }], "write");
  },
});
