import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { editsEffect } from "../edit-effect.ts";
import { fileProvider, placeSecrets, replaceText, resolveFile } from "../../workspace/workspace.ts";
import { defineTool, fileStep, flag, PathArgument, readOverlay } from "../tool.ts";

export const editFile = defineTool({
  name: "edit_file",
  description:
    "Replace text in a file. old_text must occur exactly once in the file (copy it from read_file, without line numbers) unless replace_all is set. For a new or empty file, old_text is empty. To rewrite a whole file use write_file.",
  args: z.strictObject({
    path: PathArgument.describe("File, relative to the workspace"),
    old_text: z.string().describe("Text to replace, with enough lines around it to be unique"),
    new_text: z.string().describe("Replacement text"),
    replace_all: flag().optional().describe("Replace every occurrence"),
  }),
  capability: "file_ops",
  action: "write",
  baseTier: "T1",
  actionType: "tool_call",
  provider: fileProvider,
  title: ({ path }) => `Edit ${path}`,
  edits: ({ path }) => [path],
  reads: ({ path }, scope) => [fileStep("read", resolveFile(scope, path))],
  async plan({ path, old_text, new_text, replace_all }, scope) {
    const file = resolveFile(scope, path);
    if (file.type === "directory") throw new LancelotError("invalid_params", `${file.display} is a folder.`);
    const { current, overlay } = await readOverlay(scope, file);
    const held = [overlay.text, current.text];
    const oldText = placeSecrets(scope.placeholders, file, old_text, held).text;
    const { text: newText, review } = placeSecrets(scope.placeholders, file, new_text, held);
    if (old_text === "") {
      if (overlay.text !== null && overlay.text !== "") {
        throw new LancelotError(
          "invalid_params",
          `${file.display} is not empty, so old_text must be the text to replace. Read the file first.`,
        );
      }
      if (new_text === "" && overlay.text !== null) throw new LancelotError("invalid_params", `${file.display} is already empty.`);
      return editsEffect(scope, [{ file, current, text: newText, note: "", review }], "write");
    }
    if (overlay.text === null) {
      throw new LancelotError("not_found", `${file.display} does not exist. Use write_file to create it, or list_files to find it.`);
    }
    const edited = replaceText(overlay.text, { oldText, newText, replaceAll: replace_all ?? false });
    if (!edited.ok) throw new LancelotError("invalid_params", `${file.display}: ${edited.problem}`);
    const places = edited.count === 1 ? `line ${edited.lines[0] ?? 1}` : `${edited.count} places`;
    const note = edited.tolerance === null ? places : `${places}, matched ignoring ${edited.tolerance}`;
    return editsEffect(scope, [{ file, current, text: edited.text, note, review }], "write");
  },
});
