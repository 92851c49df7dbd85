import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { editsEffect, type PlannedEdit } from "../edits.ts";
import { fileProvider } from "../providers/file-ops.ts";
import { applyFilePatch, type FilePatch, parseFilePatches } from "../text/patch.ts";
import { defineTool, fileStep, readOverlay, resolveFile, type Scope } from "../tool.ts";

export const applyPatch = defineTool({
  name: "apply_patch",
  description:
    "Apply a unified diff to one or more files, all of it or nothing. Files may be created (--- /dev/null), deleted (+++ /dev/null; the owner is asked) or renamed (git headers). Context and removed lines must match the files word for word; line numbers may be off. For one small edit use edit_file.",
  args: z.strictObject({ patch: z.string().min(1).max(5_000_000).describe("Unified diff with --- and +++ lines and @@ hunks") }),
  capability: "file_ops",
  action: "apply_patch",
  baseTier: "T1",
  actionType: "tool_call",
  provider: fileProvider,
  title({ patch }) {
    const paths = pathsOf(parsedOrNone(patch));
    return paths.length === 0
      ? "Apply a patch"
      : `Patch ${paths.slice(0, 3).join(", ")}${paths.length > 3 ? ` and ${paths.length - 3} more` : ""}`;
  },
  edits: ({ patch }) => pathsOf(parsedOrNone(patch)),
  looks: ({ patch }, scope) => pathsOf(parsed(patch)).map((path) => fileStep("read", resolveFile(scope, path))),
  async plan({ patch }, scope) {
    const texts = new Map<string, PlannedEdit>();
    for (const file of parsed(patch)) await planFile(scope, file, texts);
    const edits = [...texts.values()].filter((edit) => edit.text !== edit.current?.text || edit.file.type !== "missing");
    return editsEffect(scope, edits, "apply_patch");
  },
});

async function planFile(scope: Scope, patch: FilePatch, edits: Map<string, PlannedEdit>): Promise<void> {
  const named = patch.to ?? patch.from ?? "";
  if (patch.from === null) {
    const target = await seen(scope, named, edits);
    if (target.text !== null) throw new LancelotError("conflict", `${named}: the patch creates it, but it exists. Nothing was changed.`);
    put(edits, target, patched(named, "", patch));
    return;
  }
  const source = await seen(scope, patch.from, edits);
  if (source.text === null) throw new LancelotError("not_found", `${patch.from} does not exist. Nothing was changed.`);
  const text = patched(patch.from, source.text, patch);
  if (patch.to === null) {
    if (text.trim() !== "" && patch.hunks.length > 0) {
      throw new LancelotError(
        "invalid_params",
        `${patch.from}: the patch deletes it, but does not remove all of its lines. Nothing was changed.`,
      );
    }
    put(edits, source, null);
  } else if (patch.to === patch.from) put(edits, source, text);
  else {
    const target = await seen(scope, patch.to, edits);
    if (target.text !== null)
      throw new LancelotError("conflict", `${patch.to}: the patch renames to it, but it exists. Nothing was changed.`);
    put(edits, source, null);
    put(edits, { ...target, encoding: source.encoding }, text);
  }
}

/** A file as it is after the parts of the patch before this one. */
async function seen(scope: Scope, path: string, edits: ReadonlyMap<string, PlannedEdit>) {
  const file = resolveFile(scope, path);
  if (file.type === "directory") throw new LancelotError("invalid_params", `${file.display} is a folder. Nothing was changed.`);
  const earlier = edits.get(file.absolute);
  if (earlier !== undefined && earlier.current !== null)
    return { file, current: earlier.current, text: earlier.text, encoding: earlier.current.encoding };
  const { current, overlay } = await readOverlay(scope, file);
  return { file, current, text: overlay.text, encoding: current.encoding };
}

type Seen = Awaited<ReturnType<typeof seen>>;

function put(edits: Map<string, PlannedEdit>, { file, current, encoding }: Seen, text: string | null): void {
  edits.set(file.absolute, { file, current: { ...current, encoding }, text, note: "" });
}

function patched(path: string, text: string, patch: FilePatch): string {
  const outcome = applyFilePatch(text, patch.hunks);
  if (!outcome.ok) throw new LancelotError("invalid_params", `${path}: ${outcome.problem}\nNothing was changed.`);
  return outcome.text;
}

function parsed(patch: string): FilePatch[] {
  try {
    return parseFilePatches(patch);
  } catch (error) {
    throw new LancelotError("invalid_params", error instanceof Error ? error.message : "The patch does not parse.", { cause: error });
  }
}

function parsedOrNone(patch: string): FilePatch[] {
  try {
    return parseFilePatches(patch);
  } catch {
    // The road says what is wrong with it when it gets there.
    return [];
  }
}

function pathsOf(files: readonly FilePatch[]): string[] {
  return [...new Set(files.flatMap(({ from, to }) => [from, to].filter((path) => path !== null)))];
}
