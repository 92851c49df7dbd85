/** Whether a file of this name exists, to distinguish a folder `a` from the prefix `a/`. */
export type Exists = (path: string) => boolean;

/** Git's header lines of a file before `---`. */
export interface GitHeader {
  /** The first line after the header. */
  readonly next: number;
  readonly names: readonly [string, string] | null;
  readonly rename: readonly [string, string] | null;
  readonly created: boolean;
  readonly deleted: boolean;
  readonly executable: boolean | null;
  /** True when the header alone changes something. */
  readonly changes: boolean;
}

/** True at a pair of `--- name` and `+++ name`. */
export function isFileHeader(lines: readonly string[], at: number): boolean {
  return /^--- \S/.test(lines[at] ?? "") && /^\+\+\+ \S/.test(lines[at + 1] ?? "");
}

/** Parses the lines from `diff --git` up to `---` or the first hunk. @throws Error for changes that text cannot express. */
export function readGitHeader(lines: readonly string[], start: number): GitHeader {
  const found: { [key: string]: string } = {};
  let at = start + 1;
  for (; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const part =
      /^(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to|similarity index|dissimilarity index|index) (.*)$/.exec(
        line,
      );
    if (/^(?:GIT binary patch|Binary files )/.test(line))
      throw new Error(`Line ${at + 1} of the patch: it contains a binary file; only text can be patched.`);
    if (part === null) break;
    found[part[1] ?? ""] = part[2] ?? "";
  }
  if (found["copy from"] !== undefined)
    throw new Error(`Line ${start + 1} of the patch: copies are not supported; write the new file with write_file.`);
  const mode = found["new file mode"] ?? found["new mode"] ?? null;
  for (const one of [mode, found["deleted file mode"], found["old mode"]]) {
    if (one?.startsWith("12") === true)
      throw new Error(`Line ${start + 1} of the patch: it creates, changes or removes a symbolic link, which patches do not support.`);
    if (one?.startsWith("16") === true)
      throw new Error(`Line ${start + 1} of the patch: it changes a submodule, which patches do not support.`);
  }
  const [from, to] = [found["rename from"], found["rename to"]];
  const rename = from === undefined || to === undefined ? null : ([unquoted(from), unquoted(to)] as const);
  const created = found["new file mode"] !== undefined;
  const deleted = found["deleted file mode"] !== undefined;
  // A regular new file needs no mode.
  const executable = mode === null || (created && !/^100[0-7]*[1357]/.test(mode)) ? null : /^100[0-7]*[1357]/.test(mode);
  return {
    next: at,
    names: gitNames((lines[start] ?? "").slice("diff --git ".length)),
    rename,
    created,
    deleted,
    executable,
    changes: rename !== null || created || deleted || executable !== null,
  };
}

/** The two names of `diff --git a/x b/x`; null when they are ambiguous. */
function gitNames(text: string): readonly [string, string] | null {
  const quoted = /^("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)$/.exec(text.trim());
  if (quoted !== null) return [unquoted(quoted[1] ?? ""), unquoted(quoted[2] ?? "")];
  // Names with spaces: both halves are equal apart from the prefix.
  const half = (text.length - 1) / 2;
  const [one, other] = [text.slice(0, half), text.slice(half + 1)];
  return Number.isInteger(half) && text[half] === " " && one.replace(/^a\//, "") === other.replace(/^b\//, "") ? [one, other] : null;
}

/** The old and new path of a file. @throws Error for names that contradict each other. */
export function namesOf(
  header: GitHeader | null,
  plain: readonly [string, string] | null,
  { exists, line }: { exists: Exists; line: number },
): { from: string | null; to: string | null } {
  if (header?.rename !== undefined && header.rename !== null) return { from: header.rename[0], to: header.rename[1] };
  const names = plain === null ? (header?.names ?? null) : ([nameOf(plain[0]), nameOf(plain[1])] as const);
  if (names === null) throw new Error(`Line ${line} of the patch: the file names are ambiguous. Add --- a/path and +++ b/path lines.`);
  const [old, made] = names;
  if (old === null && made === null) throw new Error(`Line ${line} of the patch: a file that is /dev/null on both sides.`);
  if (old === null || header?.created === true) return { from: null, to: bare(made ?? "", "b/", exists) };
  if (made === null || header?.deleted === true) return { from: bare(old, "a/", exists), to: null };
  const [from, to] = pathsOf(old, made, exists);
  if (from !== to)
    throw new Error(
      `Line ${line} of the patch: it names two files, ${from} and ${to}. To rename a file, add git's lines \`rename from\` and \`rename to\`; otherwise use the same name twice.`,
    );
  return { from, to };
}

function pathsOf(old: string, made: string, exists: Exists): [string, string] {
  if (old.startsWith("a/") && made.startsWith("b/")) return [old.slice(2), made.slice(2)];
  // The same name twice: with both prefixes, or in a folder with the prefix's name.
  if (old === made) {
    const path = bare(old, old.startsWith("b/") ? "b/" : "a/", exists);
    return [path, path];
  }
  // One of the names lacks its prefix.
  if (old.replace(/^a\//, "") === made) return [made, made];
  if (made.replace(/^b\//, "") === old) return [old, old];
  return [old, made];
}

/** A name without its prefix, unless only a folder with the prefix's name contains the file. */
function bare(name: string, prefix: "a/" | "b/", exists: Exists): string {
  if (!name.startsWith(prefix)) return name;
  const short = name.slice(prefix.length);
  return exists(name) && !exists(short) ? name : short;
}

/** The name of a `---` or `+++` line without a trailing timestamp; null for no file. */
function nameOf(line: string): string | null {
  const text = unquoted((line.slice(4).split("\t")[0] ?? "").trim());
  return text === "/dev/null" || text === "" ? null : text;
}

/** Decodes git's quoting of names, with octal bytes for non-ASCII characters. */
function unquoted(text: string): string {
  const inner = /^"(.*)"$/s.exec(text.trim())?.[1];
  if (inner === undefined) return text.trim();
  const letters: Record<string, string> = { n: "\n", t: "\t", r: "\r", a: "\u0007", b: "\b", f: "\f", v: "\v" };
  const bytes = Buffer.concat(
    (inner.match(/\\[0-7]{1,3}|\\.|[^\\]+/gs) ?? []).map((part) => {
      if (/^\\[0-7]/.test(part)) return Buffer.from([Number.parseInt(part.slice(1), 8) & 0xff]);
      return Buffer.from(part.startsWith("\\") ? (letters[part[1] ?? ""] ?? part.slice(1)) : part);
    }),
  );
  return bytes.toString("utf8");
}
