import { parsePatch, type StructuredPatch, type StructuredPatchHunk } from "diff";
import { bareLine, mainEol, splitLines } from "./lines.ts";

/** One file of a patch. `from` is null for a new file, `to` for one that goes; both and different: a rename. */
export interface FilePatch {
  readonly from: string | null;
  readonly to: string | null;
  readonly hunks: readonly StructuredPatchHunk[];
}

export type PatchOutcome = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly problem: string };

/** Parses a unified diff (plain or git's) of any number of files. @throws Error with words for the model. */
export function parseFilePatches(patch: string): FilePatch[] {
  if (/^\*\*\* Begin Patch/m.test(patch)) {
    throw new Error("This is not a unified diff. Use --- a/path, +++ b/path and @@ -line,count +line,count @@ headers, or edit_file.");
  }
  let parsed: StructuredPatch[];
  try {
    parsed = parsePatch(recount(patch));
  } catch (error) {
    throw new Error(`The patch does not parse as a unified diff: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
  const files = parsed.filter(
    (file) => file.hunks.length > 0 || file.isRename === true || file.isCreate === true || file.isDelete === true,
  );
  if (files.length === 0) throw new Error("The patch names no file: each needs --- a/path and +++ b/path lines, then @@ hunks.");
  return files.map((file) => {
    if (file.isBinary === true) throw new Error("The patch carries a binary file; only text can be patched.");
    if (file.isCopy === true) throw new Error("Copies in a patch are not supported; write the new file with write_file.");
    const from = file.isCreate === true ? null : patchPath(file.oldFileName, "a/");
    const to = file.isDelete === true ? null : patchPath(file.newFileName, "b/");
    if (from === null && to === null) throw new Error("A file of the patch has /dev/null on both sides.");
    return { from, to, hunks: file.hunks };
  });
}

/** Applies the hunks of one file. Lines may have moved, but what is removed and the context must be there, word for word. */
export function applyFilePatch(text: string, hunks: readonly StructuredPatchHunk[]): PatchOutcome {
  const lines = splitLines(text);
  const bare = lines.map(bareLine);
  const eol = mainEol(text);
  const result: string[] = [];
  let at = 0;
  let shift = 0;
  for (const [number, hunk] of hunks.entries()) {
    const before = hunk.lines.filter((line) => line[0] === " " || line[0] === "-").map(content);
    const expected = hunk.oldStart - 1 + shift;
    const place = findPlace(bare, before, expected, at);
    if (typeof place === "string") return { ok: false, problem: `Hunk ${number + 1} (@@ -${hunk.oldStart} @@) ${place}` };
    shift = place - (hunk.oldStart - 1);
    for (; at < place; at++) result.push(lines[at] ?? "");
    let last: "old" | "new" | null = null;
    for (const line of hunk.lines) {
      if (line[0] === "-") at++;
      else if (line[0] === " ") {
        result.push(lines[at] ?? "");
        at++;
      } else if (line[0] === "+") result.push(content(line) + eol);
      else if (line[0] === "\\" && last === "new") result.push(bareLine(result.pop() ?? ""));
      last = line[0] === "+" ? "new" : "old";
    }
  }
  for (; at < lines.length; at++) result.push(lines[at] ?? "");
  // A line that was the last, without a newline, must get one when lines now follow it.
  return { ok: true, text: result.map((line, index) => (index < result.length - 1 && !line.endsWith("\n") ? line + eol : line)).join("") };
}

/** Zero-based line where `before` stands: at the expected line, else at the one place nearest to it. Words when there is none. */
function findPlace(lines: readonly string[], before: readonly string[], expected: number, from: number): number | string {
  if (before.length === 0) return Math.min(Math.max(expected, from), lines.length);
  const matches = (at: number) => at >= from && before.every((line, index) => line === lines[at + index]);
  if (matches(expected)) return expected;
  const found: number[] = [];
  for (let at = from; at + before.length <= lines.length; at++) if (matches(at)) found.push(at);
  if (found.length === 0) return notThere(lines, before, expected);
  const nearest = Math.min(...found.map((at) => Math.abs(at - expected)));
  const best = found.filter((at) => Math.abs(at - expected) === nearest);
  const [only] = best;
  if (best.length === 1 && only !== undefined) return only;
  return `fits equally well at lines ${best.map((at) => at + 1).join(" and ")}: give the right line number or more context.`;
}

function notThere(lines: readonly string[], before: readonly string[], expected: number): string {
  const at = Math.max(0, Math.min(expected, lines.length - 1));
  const shown = lines.slice(at, at + Math.min(before.length, 8)).map((line, index) => `${at + index + 1}\t${line.slice(0, 200)}`);
  return `does not fit: its context or removed lines are not in the file. There it reads:\n${shown.join("\n")}`;
}

/** Models miscount hunk lengths; the counts follow from the lines, so they are made to. */
function recount(patch: string): string {
  const lines = patch.replaceAll("\r\n", "\n").split("\n");
  const result: string[] = [];
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    const header = /^@@(?: -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@.*)?/.exec(line);
    if (header === null || header[0] === "") {
      result.push(line);
      continue;
    }
    const body: string[] = [];
    for (let next = index + 1; next < lines.length; next++) {
      const text = lines[next] ?? "";
      const endsFile = text.startsWith("--- ") && (lines[next + 1] ?? "").startsWith("+++ ");
      if (text.startsWith("@@") || text.startsWith("diff --git ") || text.startsWith("Index: ") || endsFile) break;
      if (text !== "" && !/^[ +\-\\]/.test(text)) break;
      // An empty line inside a hunk is a context line that lost its blank; at the end it is no line at all.
      if (text === "" && lines.slice(next).every((rest) => rest === "")) break;
      body.push(text === "" ? " " : text);
    }
    while (body.at(-1) === " " && startsFile(lines[index + 1 + body.length])) body.pop();
    const old = body.filter((text) => text[0] === " " || text[0] === "-").length;
    const added = body.filter((text) => text[0] === " " || text[0] === "+").length;
    const oldStart = Number(header[1] ?? 1);
    const newStart = Number(header[2] ?? 1);
    result.push(`@@ -${old === 0 ? Math.max(0, oldStart) : Math.max(1, oldStart)},${old} +${newStart},${added} @@`, ...body);
    index += body.length;
  }
  return result.join("\n");
}

function startsFile(line: string | undefined): boolean {
  return line !== undefined && /^(diff --git |Index: |--- )/.test(line);
}

function patchPath(name: string | undefined, prefix: string): string | null {
  const path = name?.split("\t")[0]?.trim() ?? "";
  if (path === "" || path === "/dev/null") return null;
  return path.startsWith(prefix) ? path.slice(prefix.length) : path;
}

function content(line: string): string {
  return bareLine(line.slice(1));
}
