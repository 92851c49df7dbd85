import { readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import {
  aboutText,
  describeBytes,
  detectEncoding,
  fileProvider,
  formatBytes,
  maxEditBytes,
  maxOutputLines,
  openForReading,
  type ResolvedFile,
  resolveFile,
  sha256,
  showWindow,
  streamWindow,
  textWindow,
} from "../../workspace/workspace.ts";
import { type Answer, count, defineTool, fileStep, PathArgument, readOverlay, type Scope } from "../tool.ts";

const sampleBytes = 8192;

export const readFile = defineTool({
  name: "read_file",
  description:
    "Read a text file: numbered lines, at most 400 at once; continue with offset. Includes unsaved edits in the editor and your own proposed edits. To find text in files, use search_workspace first.",
  args: z.strictObject({
    path: PathArgument.describe("File, relative to the workspace"),
    offset: count(1, 1_000_000_000).optional().describe("First line, from 1"),
    limit: count(1, 100_000).optional().describe("Number of lines"),
  }),
  capability: "file_ops",
  action: "read",
  baseTier: "T0",
  actionType: "tool_call",
  provider: fileProvider,
  title: ({ path, offset }) => `Read ${path}${offset === undefined ? "" : ` from line ${offset}`}`,
  reads: ({ path }, scope) => [fileStep("read", resolveFile(scope, path))],
  async plan({ path, offset = 1, limit = maxOutputLines }, scope) {
    const file = resolveFile(scope, path);
    const lines = Math.min(limit, maxOutputLines);
    if (file.type === "directory") {
      throw new LancelotError(
        "invalid_params",
        `${file.display} is a folder. Use list_files with path "${file.display}" to list its content.`,
      );
    }
    if (file.type === "missing") return readProposed(scope, file, offset, lines);
    const { handle, stats } = await openForReading(file);
    try {
      const sample = Buffer.alloc(Math.min(sampleBytes, stats.size));
      await handle.read(sample, 0, sample.length, 0);
      const kind = describeBytes(sample);
      if (kind !== null) {
        return answer(`${file.display} is ${kind} (${formatBytes(stats.size)}), not text; it cannot be shown as lines.`, {
          size: stats.size,
        });
      }
      if (stats.size > maxEditBytes) {
        const encoding = detectEncoding(sample, false);
        if (encoding === null) throw new LancelotError("invalid_params", `${file.display} is not a text file.`);
        const window = await streamWindow(handle, encoding, offset, lines, scope.call.signal);
        if (window.lines.length === 0) throw pastEnd(file, window.total ?? 0);
        return answer(showWindow(window, `a large file, ${formatBytes(stats.size)}`), { size: stats.size, lines: window.lines.length });
      }
    } finally {
      await handle.close();
    }
    const { current, overlay } = await readOverlay(scope, file);
    if (overlay.text === null) throw new LancelotError("not_found", `${file.display} no longer exists: its deletion is proposed.`);
    const about = [aboutText(current.encoding, overlay.text), standing(overlay.changeId, overlay.conflict, current.unsaved)].filter(
      (part) => part !== "",
    );
    return show(file, hidden(scope, file, overlay.text), offset, lines, about.join("; "), {
      sha256: sha256(overlay.text),
      size: stats.size,
    });
  },
});

/** A file that is not on disk can be proposed by the quest, or unsaved in the editor. */
async function readProposed(scope: Scope, file: ResolvedFile, offset: number, lines: number): Promise<Answer> {
  const { current, overlay } = await readOverlay(scope, file);
  if (overlay.text !== null) {
    return show(file, hidden(scope, file, overlay.text), offset, lines, standing(overlay.changeId, overlay.conflict, current.unsaved), {
      sha256: sha256(overlay.text),
    });
  }
  const generated = file.sensitive === "secret" ? null : await scope.readGenerated(file);
  if (generated !== null)
    return show(file, hidden(scope, file, generated), offset, lines, "a generated file of this task, not in the workspace yet", {
      sha256: sha256(generated),
    });
  const spelled = (name: string) => name.normalize("NFC").toLowerCase();
  const wanted = spelled(basename(file.absolute));
  const names = await readdir(dirname(file.absolute)).catch(() => []);
  const stem = wanted.replace(/\.[^.]*$/, "");
  const like = names.filter((name) => (stem.length > 2 ? spelled(name).includes(stem) : spelled(name) === wanted)).slice(0, 5);
  const hint = like.length === 0 ? "Use list_files or search_workspace to find it." : `Similar files in that folder: ${like.join(", ")}.`;
  throw new LancelotError("not_found", `${file.display} does not exist. ${hint}`);
}

/** Runs before the lines are numbered, so that secrets of several lines are found. */
function hidden({ placeholders }: Scope, file: ResolvedFile, text: string): string {
  return placeholders?.learnFrom(file.absolute, text) ?? text;
}

function show(file: ResolvedFile, text: string, offset: number, limit: number, about: string, outputs: Record<string, unknown>): Answer {
  if (text === "") return answer(`(${file.display} is empty)`, outputs);
  const window = textWindow(text, offset, limit);
  if (window.lines.length === 0) throw pastEnd(file, window.total ?? 0);
  return answer(showWindow(window, about), { ...outputs, lines: window.lines.length, total: window.total });
}

function answer(text: string, outputs: Record<string, unknown>): Answer {
  return { kind: "answer", text, outputs, hint: "Continue with offset and limit." };
}

function pastEnd(file: ResolvedFile, total: number): LancelotError {
  return new LancelotError("invalid_params", `${file.display} has ${total} lines; offset is past its end.`);
}

function standing(changeId: string | null, conflict: boolean, unsaved: boolean): string {
  if (conflict) return "your proposed edits conflict with the user's edits and are not shown";
  if (changeId !== null) return "with your proposed edits, which are waiting for review";
  return unsaved ? "with unsaved edits in the editor" : "";
}
