import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { editsEffect, type PlannedEdit } from "../edit-effect.ts";
import {
  applyFilePatch,
  type FilePatch,
  fileProvider,
  parseFilePatches,
  placeSecrets,
  resolveFile,
  statPath,
} from "../../workspace/workspace.ts";
import { defineTool, fileStep, readOverlay, type Scope } from "../tool.ts";

export const applyPatch = defineTool({
  name: "apply_patch",
  description:
    "Apply a unified diff to one or more files atomically. It can create files (--- /dev/null), delete them (+++ /dev/null; requires the user's approval) and rename them (git's rename from and rename to lines). Context and removed lines must match the files exactly; line numbers may be wrong if the lines occur only once. For one small edit use edit_file.",
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
  reads: ({ patch }, scope) => pathsOf(parsed(patch, scope)).map((path) => fileStep("read", resolveFile(scope, path))),
  async plan({ patch }, scope) {
    const texts = new Map<string, PatchedFile>();
    for (const file of parsed(patch, scope)) await planFile(scope, file, texts);
    const edits = [...texts.values()].filter(({ text, seen: before, executable }) => text !== before || executable !== undefined);
    if (edits.length === 0) {
      throw new LancelotError(
        "invalid_params",
        "The patch changes nothing: the files already have this content. Line endings of files are always kept.",
      );
    }
    return editsEffect(scope, edits, "apply_patch");
  },
});

/** A file after the patch, and its text as the quest saw it before. */
interface PatchedFile extends PlannedEdit {
  readonly seen: string | null;
}

async function planFile(scope: Scope, patch: FilePatch, edits: Map<string, PatchedFile>): Promise<void> {
  const named = patch.to ?? patch.from ?? "";
  if (patch.from === null) {
    const target = await seen(scope, named, edits);
    if (target.text !== null) throw new LancelotError("conflict", `${named}: the patch creates it, but it exists. Nothing was changed.`);
    const added = inFile(scope, patch, target, []);
    put(edits, { ...target, review: added.review }, patched(named, "", added.patch), patch.executable);
    return;
  }
  const source = await seen(scope, patch.from, edits);
  if (source.text === null) throw new LancelotError("not_found", `${patch.from} does not exist. Nothing was changed.`);
  const held = [source.text, source.current.text];
  const filled = inFile(scope, patch, source, held);
  const text = patched(patch.from, source.text, filled.patch);
  if (patch.to === null) {
    if (text.trim() !== "" && patch.hunks.length > 0) {
      throw new LancelotError(
        "invalid_params",
        `${patch.from}: the patch deletes it, but does not remove all of its lines. Nothing was changed.`,
      );
    }
    put(edits, source, null, null);
  } else if (patch.to === patch.from) put(edits, { ...source, review: source.review || filled.review }, text, patch.executable);
  else {
    const target = await seen(scope, patch.to, edits);
    if (target.file.absolute === source.file.absolute) {
      throw new LancelotError(
        "conflict",
        `${patch.from} and ${patch.to} are the same file on this disk, so a patch cannot rename it. Nothing was changed. Ask the user to rename it.`,
      );
    }
    if (target.text !== null)
      throw new LancelotError("conflict", `${patch.to}: the patch renames to it, but it exists. Nothing was changed.`);
    const mode = (await statPath(source.file))?.mode ?? 0;
    put(edits, source, null, null);
    put(
      edits,
      { ...target, encoding: source.encoding, review: filled.review },
      text,
      patch.executable ?? ((mode & 0o111) === 0 ? null : true),
    );
  }
}

/** A file after the earlier parts of the patch. */
async function seen(scope: Scope, path: string, edits: ReadonlyMap<string, PatchedFile>) {
  const file = resolveFile(scope, path);
  if (file.type === "directory") throw new LancelotError("invalid_params", `${file.display} is a folder. Nothing was changed.`);
  const earlier = edits.get(file.absolute);
  if (earlier !== undefined && earlier.current !== null) {
    const { current, text, executable = null, review = false } = earlier;
    return { file, current, text, encoding: current.encoding, before: earlier.seen, executable, review };
  }
  const { current, overlay } = await readOverlay(scope, file);
  return { file, current, text: overlay.text, encoding: current.encoding, before: overlay.text, executable: null, review: false };
}

type Seen = Awaited<ReturnType<typeof seen>>;

function put(edits: Map<string, PatchedFile>, of: Seen, text: string | null, executable: boolean | null): void {
  const { file, current, encoding, before } = of;
  const mode = text === null ? null : (executable ?? of.executable);
  edits.set(file.absolute, {
    file,
    current: { ...current, encoding },
    text,
    note: "",
    seen: before,
    review: of.review,
    ...(mode === null ? {} : { executable: mode }),
  });
}

/** Replaces the placeholders in the patch with their secrets. */
function inFile(scope: Scope, patch: FilePatch, { file }: Seen, held: readonly (string | null)[]): { patch: FilePatch; review: boolean } {
  let review = false;
  const hunks = patch.hunks.map((hunk) => ({
    ...hunk,
    lines: hunk.lines.map((line) => {
      const placed = placeSecrets(scope.placeholders, file, line, held);
      review ||= placed.review && line.startsWith("+");
      return placed.text;
    }),
  }));
  return { patch: { ...patch, hunks }, review };
}

function patched(path: string, text: string, patch: FilePatch): string {
  const outcome = applyFilePatch(text, patch.hunks);
  if (!outcome.ok) throw new LancelotError("invalid_params", `${path}: ${outcome.problem}\nNothing was changed.`);
  return outcome.text;
}

function parsed(patch: string, scope: Scope): FilePatch[] {
  const exists = (path: string): boolean => {
    const resolved = scope.governance.resolvePath(path);
    return resolved.ok && resolved.type === "file";
  };
  try {
    return parseFilePatches(patch, exists);
  } catch (error) {
    throw new LancelotError("invalid_params", error instanceof Error ? error.message : "The patch does not parse.", { cause: error });
  }
}

function parsedOrNone(patch: string): FilePatch[] {
  try {
    return parseFilePatches(patch);
  } catch {
    // `reads` reports the parse error.
    return [];
  }
}

function pathsOf(files: readonly FilePatch[]): string[] {
  return [...new Set(files.flatMap(({ from, to }) => [from, to].filter((path) => path !== null)))];
}
