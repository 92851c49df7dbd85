import { readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { editsEffect } from "../edit-effect.ts";
import { fileProvider, mainEol, mergeEnds, placeSecrets, type ResolvedFile, resolveFile } from "../../workspace/workspace.ts";
import { defineTool, fileStep, PathArgument, readOverlay } from "../tool.ts";

export const writeFile = defineTool({
  name: "write_file",
  description:
    "Create a file, or replace all of its content. Missing folders are created. To change a part of a file use edit_file, which is smaller and easier to review.",
  args: z.strictObject({
    path: PathArgument.describe("File, relative to the workspace"),
    content: z.string().describe("The complete new content"),
  }),
  capability: "file_ops",
  action: "write",
  baseTier: "T1",
  actionType: "tool_call",
  provider: fileProvider,
  title: ({ path }) => `Write ${path}`,
  edits: ({ path }) => [path],
  reads(args, scope) {
    const file = resolveFile(scope, args.path);
    // That the path is a folder is reported only after an authorized read.
    return isBlind(file) && file.type !== "directory" ? [] : [fileStep("read", file)];
  },
  async plan({ path, content }, scope) {
    const file = resolveFile(scope, path);
    if (file.type === "directory") throw new LancelotError("invalid_params", `${file.display} is a folder.`);
    if (isBlind(file)) {
      const { text } = placeSecrets(scope.placeholders, file, content, []);
      return editsEffect(scope, [{ file, current: null, text, note: "" }], "write");
    }
    const { current, overlay } = await readOverlay(scope, file);
    const twin = overlay.text === null ? await twinOf(file) : null;
    if (twin !== null) {
      throw new LancelotError(
        "conflict",
        `A file whose name looks the same, ${twin}, already exists with another Unicode normalization. Nothing was changed. Copy its name from list_files.`,
      );
    }
    const { text: given, review } = placeSecrets(scope.placeholders, file, content, [overlay.text, current.text]);
    // An existing file keeps its line endings, because models always write \n.
    const text = overlay.text === null || !overlay.text.includes("\n") ? given : mergeEnds(overlay.text, given, mainEol(overlay.text));
    if (text === overlay.text)
      throw new LancelotError("invalid_params", `${file.display} already has this content: there is nothing to change.`);
    return editsEffect(scope, [{ file, current, text, note: "", review }], "write");
  },
});

/** A file in the same folder with the same name in another Unicode normalization. On some systems both are one file. */
async function twinOf(file: ResolvedFile): Promise<string | null> {
  const name = basename(file.absolute);
  if (/^\p{ASCII}*$/u.test(name)) return null;
  const names = await readdir(dirname(file.absolute)).catch(() => []);
  return names.find((other) => other !== name && other.normalize("NFC") === name.normalize("NFC")) ?? null;
}

/** True for files that are replaced without being read: secrets, and files outside the workspace, so that the user is asked only once. */
function isBlind(file: ResolvedFile): boolean {
  return file.sensitive === "secret" || !file.inside;
}
