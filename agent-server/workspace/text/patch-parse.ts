import { type Exists, isFileHeader, namesOf, readGitHeader } from "./patch-names.ts";

/** One hunk. `lines` start with a space, `+`, `-` or `\` and have no line endings. */
export interface PatchHunk {
  /** 1-based line in the old file from the header; null when the header has none. */
  readonly oldStart: number | null;
  readonly lines: readonly string[];
}

/** One file of a patch. `from` is null for a new file, `to` for a deleted one; different paths are a rename. */
export interface FilePatch {
  readonly from: string | null;
  readonly to: string | null;
  readonly hunks: readonly PatchHunk[];
  /** Whether the file becomes executable, when the patch says so. */
  readonly executable: boolean | null;
}

/**
 * Parses a unified diff (plain or git's) of any number of files. Tolerates wrong counts, context lines without their space and text around
 * the diff, since context must match the file exactly anyway.
 * @throws Error with a message for the model, and the line of the patch.
 */
export function parseFilePatches(patch: string, exists: Exists = () => false): FilePatch[] {
  if (/^\*\*\* Begin Patch/m.test(patch)) {
    throw new Error("This is not a unified diff. Use --- a/path, +++ b/path and @@ -line,count +line,count @@ headers, or edit_file.");
  }
  const lines = patch.replaceAll("\r\n", "\n").split("\n");
  const files: FilePatch[] = [];
  let behindHunk = false;
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    if (line.startsWith("@@") && files.length === 0)
      throw new Error(
        `Line ${at + 1} of the patch: a hunk without a file. Each file needs --- a/path and +++ b/path lines before its hunks.`,
      );
    if (!line.startsWith("diff --git ") && !isFileHeader(lines, at)) {
      // Text between files is allowed, but no line that belongs to the hunk before it may be skipped.
      if (line.trim() === "" || line === "-- ") behindHunk = false;
      if (behindHunk && /^(?:[+-]|@@)/.test(line))
        throw new Error(
          `Line ${at + 1} of the patch belongs to no hunk: an earlier line starts with neither a space nor + nor -, or the hunk's counts end there.`,
        );
      at++;
      continue;
    }
    const start = at;
    const header = line.startsWith("diff --git ") ? readGitHeader(lines, at) : null;
    at = header?.next ?? at;
    const named = isFileHeader(lines, at);
    const names = namesOf(header, named ? [lines[at] ?? "", lines[at + 1] ?? ""] : null, { exists, line: start + 1 });
    if (named) at += 2;
    const hunks: PatchHunk[] = [];
    for (;;) {
      while (at < lines.length && isNoise(lines[at] ?? "")) at++;
      if (!(lines[at] ?? "").startsWith("@@")) break;
      const read = readHunk(lines, at);
      hunks.push(read.hunk);
      at = read.next;
      behindHunk = true;
    }
    if (named && hunks.length === 0)
      throw new Error(`Line ${start + 1} of the patch: ${names.to ?? names.from ?? "the file"} has no @@ hunk.`);
    if (named || hunks.length > 0 || header?.changes === true) files.push({ ...names, hunks, executable: header?.executable ?? null });
  }
  if (files.length === 0) throw new Error("The patch names no file: each needs --- a/path and +++ b/path lines, then @@ hunks.");
  return files;
}

/** Models add blank lines between hunks, and Markdown fences around the patch. */
function isNoise(line: string): boolean {
  return line.trim() === "" || line.startsWith("```");
}

const hunkHeader = /^@@+ *-(\d+)(?:,(\d+))? +\+(\d+)(?:,(\d+))? *@@/;

function readHunk(lines: readonly string[], start: number): { hunk: PatchHunk; next: number } {
  const header = hunkHeader.exec(lines[start] ?? "");
  if ((lines[start] ?? "").startsWith("@@@"))
    throw new Error(`Line ${start + 1} of the patch: this is the diff of a merge. Use the diff against one of its parents.`);
  const count = (group: number): number => (header === null ? Number.POSITIVE_INFINITY : Number(header[group] ?? 1));
  let old = count(2);
  let made = count(4);
  const body: string[] = [];
  let at = start + 1;
  for (; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const complete = old <= 0 && made <= 0;
    if (line.startsWith("@@") || line.startsWith("diff --git ") || line.startsWith("Index: ") || line.startsWith("```")) break;
    // Removed and added lines may look like a file header; a following hunk and the remaining counts distinguish them.
    if (isFileHeader(lines, at) && (lines[at + 2] ?? "").startsWith("@@") && !(old === 1 && made === 1)) break;
    if (line === "-- " && complete) break;
    if (/^[ +\-\\]/.test(line)) body.push(line);
    else if (line === "" || !complete) body.push(` ${line}`);
    else break;
    const sign = body.at(-1)?.[0];
    if (sign === " " || sign === "-") old--;
    if (sign === " " || sign === "+") made--;
  }
  // Blank lines at the end of a hunk are separators, unless its counts require them.
  while (body.at(-1) === " " && lines[at - 1] === "" && (old === Number.POSITIVE_INFINITY || old < 0 || made < 0)) {
    body.pop();
    at--;
    old++;
    made++;
  }
  if (!body.some((line) => /^[+-]/.test(line)))
    throw new Error(`Line ${start + 1} of the patch: the hunk changes nothing. It needs lines that start with + or -.`);
  return { hunk: { oldStart: header === null ? null : Number(header[1]), lines: body }, next: at };
}
