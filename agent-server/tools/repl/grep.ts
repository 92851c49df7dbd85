import { trimEnd } from "../../contract/trim-end.ts";
import { isAbsolute, join, sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { cutLine, maxOutputLines, type ResolvedFile, resolveFile, ripgrepProvider, runRipgrep } from "../../workspace/workspace.ts";
import { defineTool, fileStep, type Scope } from "../tool.ts";
import { Argv, hint, titleOf } from "./repl-command.ts";
import { numberOf, type Options, type OptionTable, parseOptions, wrong } from "./options.ts";

const table: OptionTable = {
  name: "grep",
  flags: "inrRlLcvwxFEoHhsI",
  valued: "eABCm",
  long: {
    "ignore-case": "i",
    "line-number": "n",
    recursive: "r",
    "files-with-matches": "l",
    "files-without-match": "L",
    count: "c",
    "invert-match": "v",
    "word-regexp": "w",
    "line-regexp": "x",
    "fixed-strings": "F",
    "extended-regexp": "E",
    "only-matching": "o",
    "with-filename": "H",
    "no-filename": "h",
    regexp: "e",
    "after-context": "A",
    "before-context": "B",
    context: "C",
    "max-count": "m",
  },
  refused: { "-f": "Patterns cannot be read from files. Write them after -e.", "-P": "Perl patterns are not supported. Use -E." },
};

interface Wanted {
  readonly patterns: readonly string[];
  readonly paths: readonly string[];
  readonly options: Options;
}

export const grep = defineTool({
  name: "repl.grep",
  description: "Finds lines that match a regular expression.",
  args: Argv,
  capability: "file_ops",
  action: "search",
  baseTier: "T0",
  actionType: "tool_call",
  provider: ripgrepProvider,
  title: titleOf("grep"),
  reads: ({ argv }, scope) =>
    wantedOf(argv).paths.map((path) => {
      const file = resolveFile(scope, path);
      return fileStep(file.type === "directory" ? "search" : "read", file);
    }),
  async plan({ argv }, scope) {
    const wanted = wantedOf(argv);
    const files = wanted.paths.map((path) => resolveFile(scope, path));
    for (const file of files) {
      if (file.type === "missing") throw new LancelotError("not_found", `grep: ${file.asked} does not exist.`);
      if (file.type === "directory" && !wanted.options.on.has("r") && !wanted.options.on.has("R"))
        throw new LancelotError("invalid_params", `grep: ${file.asked} is a folder. Search it with -r.`);
    }
    const several = files.length > 1 || files.some(({ type }) => type === "directory");
    const lines: string[] = [];
    let more = false;
    for (const file of files) more = (await search(scope, wanted, file, several, lines)) || more;
    const text = lines.length === 0 ? "Nothing matches." : lines.join("\n");
    return {
      kind: "answer",
      text: more ? `${text}\n[more results were left out]` : text,
      hint,
      outputs: { count: lines.length, truncated: more },
    };
  },
});

function wantedOf(argv: readonly string[]): Wanted {
  const options = parseOptions(argv, table);
  const given = options.values.get("e") ?? [];
  const patterns = given.length > 0 ? given : options.operands.slice(0, 1);
  if (patterns.length === 0) throw wrong(table, "Name a pattern.");
  const paths = given.length > 0 ? options.operands : options.operands.slice(1);
  if (paths.length > 0) return { patterns, paths, options };
  if (options.on.has("r") || options.on.has("R")) return { patterns, paths: ["."], options };
  throw wrong(table, "Name a file, or a folder with -r. Standard input is not supported.");
}

/** Returns true when there are more results. Secret files are skipped, and links are not followed. */
async function search(
  scope: Scope,
  { patterns, options }: Wanted,
  file: ResolvedFile,
  several: boolean,
  lines: string[],
): Promise<boolean> {
  const { on } = options;
  const folder = file.type === "directory";
  const flags = ["--no-config", "--no-follow", "--hidden", "--no-ignore", "--no-messages", "--color=never", "--sort=path", "--glob=!.git"];
  for (const [letter, flag] of Object.entries(passed)) if (on.has(letter)) flags.push(flag);
  for (const [letter, flag] of Object.entries(counted)) {
    const count = numberOf(options, letter, "grep");
    if (count !== null) flags.push(`${flag}=${String(count)}`);
  }
  const named = (several || on.has("H")) && !on.has("h");
  const list = on.has("l") || on.has("L");
  flags.push(named || list ? "--with-filename" : "--no-filename", on.has("n") ? "--line-number" : "--no-line-number");
  if (!list) flags.push("--no-heading", "--max-columns=1000", "--max-columns-preview");
  const readable = new Map<string, boolean>();
  const mayRead = (path: string): boolean => {
    const known = readable.get(path);
    if (known !== undefined) return known;
    const resolved = scope.governance.resolvePath(path);
    const may = resolved.ok && resolved.sensitive !== "secret" && resolved.type === "file";
    readable.set(path, may);
    return may;
  };
  const { stopped } = await runRipgrep({
    ripgrepPath: scope.ripgrepPath,
    cwd: folder ? file.absolute : scope.workspace,
    // ripgrep prints the file name first and ends it with NUL, so that the name is checked before its lines are shown.
    args: [...flags, "--null", "--with-filename", ...patterns.flatMap((one) => ["--regexp", one]), "--", folder ? "." : file.absolute],
    separator: list ? "\0" : "\n",
    signal: scope.call.signal,
    onRecord: (record) => {
      const end = list ? record.length : record.indexOf("\0");
      if (end === -1) {
        if (record === "--" && lines.length > 0) lines.push("--");
        return lines.length <= maxOutputLines;
      }
      const path = record.slice(0, end).replace(/^\.[/\\]/, "");
      const absolute = isAbsolute(path) ? path : join(file.absolute, path);
      if (!mayRead(absolute)) return true;
      const shown = folder ? `${trimEnd(file.asked, "/")}/${path.split(sep).join("/")}`.replace(/^\.\//, "") : file.asked;
      const rest = list ? "" : cutLine(record.slice(end + 1).replace(/\r$/, ""));
      if (lines.length >= maxOutputLines) return false;
      lines.push(list ? shown : named ? `${shown}:${rest}` : rest);
      return true;
    },
  });
  return stopped;
}

const passed: Readonly<Record<string, string>> = {
  i: "--ignore-case",
  v: "--invert-match",
  w: "--word-regexp",
  x: "--line-regexp",
  F: "--fixed-strings",
  o: "--only-matching",
  c: "--count",
  l: "--files-with-matches",
  L: "--files-without-match",
};
const counted: Readonly<Record<string, string>> = { A: "--after-context", B: "--before-context", C: "--context", m: "--max-count" };
