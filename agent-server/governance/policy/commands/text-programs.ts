import { posix } from "node:path";
import { trimEnd } from "../../../contract/trim-end.ts";
import { judgePath } from "./command-paths.ts";
import { hasAnyFlag, type ProgramCall } from "./program-call.ts";
import { anyName, bracesOf, dropStart, type Field, literal, type NamePattern, patternOf, startOf, valueOf } from "./shell-fields.ts";
import { asks, alwaysAsks } from "./command-findings.ts";
import { stripAwkText } from "./awk-source.ts";
import { pathContext } from "./command-scope.ts";

export function grep(call: ProgramCall): boolean {
  const isRipgrep = call.name === "rg" || call.name === "ag" || call.name === "ack";
  const hasPattern = hasAnyFlag(call, "-e", "-f", "--regexp", "--file", "--files", "--type-list");
  const files = hasPattern ? call.operands : call.operands.slice(1);
  const isRecursive =
    isRipgrep ||
    hasAnyFlag(call, "-r", "-R", "--recursive", "--dereference-recursive") ||
    call.parsed.flags.some(({ value }) => valueOf(value ?? undefined) === "recurse");
  const names = searchedNames(call);
  // rg also finds hidden files when it gets a pattern; ack skips none.
  const showsHidden =
    !isRipgrep ||
    call.name === "ack" ||
    (call.name === "rg" && names !== null) ||
    call.parsed.flags.some(({ name }) => /^(?:-u|-\.|--hidden|--no-ignore.*|--unrestricted)$/.test(name));
  const isList =
    hasAnyFlag(call, "-l", "--files-with-matches", "-L", "-c", "--count", "-q", "--quiet", "--files") && !hasAnyFlag(call, "-o");
  const context = pathContext(call.scope);
  if (!isRecursive) {
    for (const file of files) call.findings.push(...judgePath(file, "read", context));
    return true;
  }
  const reads = call.scope.input.kind === "none" || call.scope.input.kind === "names";
  const roots = files.length > 0 ? files : isRipgrep && !reads && !showsHidden ? [] : [literal(".")];
  for (const root of roots) {
    if (isList) call.findings.push(...judgePath(root, "read", context));
    else if (root.kind === "static")
      call.findings.push(...judgePath({ kind: "tree", root, name: names, text: root.text, skipsHidden: !showsHidden }, "read", context));
    else call.findings.push(...judgePath(root, "search", context));
  }
  return true;
}

/** The file names that a folder search is limited to; null for any name. */
function searchedNames(call: ProgramCall): NamePattern | null {
  const isRg = call.name === "rg";
  if (!isRg && !call.name.endsWith("grep")) return null;
  const given = call.parsed.flags.filter(({ name }) =>
    (isRg ? /^(?:-g|--glob|--iglob)$/ : /^--(?:include|exclude|exclude-from)$/).test(name),
  );
  // grep reads files that match no pattern, unless the first pattern is an include.
  if (!isRg && given[0]?.name !== "--include") return null;
  const patterns: NamePattern[] = [];
  for (const { name, value } of given) {
    if (name.startsWith("--exclude")) continue;
    const pattern = valueOf(value ?? undefined);
    if (isRg && pattern?.startsWith("!") === true) continue;
    // rg takes a path whose last part is the name.
    const last = isRg ? pattern?.slice(pattern.lastIndexOf("/") + 1) : pattern;
    const one = last === undefined || last === null || last.includes("/") ? null : patternOf(withoutBraces(last));
    if (one === null) return anyName;
    patterns.push(one);
  }
  return patterns.length === 0 ? null : (name) => patterns.some((matches) => matches(name));
}

/** A pattern that matches at least as much, without its alternatives in braces. */
function withoutBraces(pattern: string): string {
  const [open, close] = bracesOf(pattern);
  return open === close ? pattern : `${pattern.slice(0, open)}*${pattern.slice(close)}`;
}

export function sed(call: ProgramCall): boolean {
  const scripts = call.parsed.flags.filter(({ name }) => name === "-e" || name === "--expression").map(({ value }) => value);
  const hasScript = scripts.length > 0 || hasAnyFlag(call, "-f", "--file");
  const [first, ...rest] = call.operands;
  if (!hasScript && first !== undefined) scripts.push(first);
  for (const script of scripts) {
    const text = script === null ? null : valueOf(script);
    if (text === null)
      call.findings.push(asks("sed-script", "The sed script is known only at run time.", ["Write the full script."], ["execute"]));
    else if (/\be\b|(?:^|[;{}\n\d$/!])[^\S\n]*e(?:\s|$)|\/(?=[a-z\d]*e)[a-z\d]+(?:[;}\n]|$)/i.test(text) && !isPlainSed(text)) {
      call.findings.push(alwaysAsks("sed-runs", "The sed command e runs other commands.", ["Use plain substitutions."], ["execute"]));
    } else if (!isPlainSed(text)) {
      call.findings.push(
        asks(
          "sed-script",
          "The sed script may read or write other files.",
          ["Use plain substitutions, such as s/a/b/g, or print lines with -n."],
          ["write"],
        ),
      );
    }
  }
  const inPlace = hasAnyFlag(call, "-i", "--in-place", "-I");
  for (const file of hasScript ? call.operands : rest) call.apply(file, inPlace ? "change" : "read");
  if (inPlace)
    for (const file of hasScript ? call.operands : rest)
      call.findings.push(...judgePath(file, "read", pathContext(call.scope)).filter(({ verdict }) => verdict === "deny"));
  return true;
}

/** Addresses, print, delete, quit and substitutions without the flags `e` and `w`. */
function isPlainSed(text: string): boolean {
  const address = String.raw`(?:(?:\d+|\$|/(?:\\.|[^/\\\n])*/I?)(?:\s*,\s*(?:[+~]?\d+|\$|/(?:\\.|[^/\\\n])*/I?))?(?:\s*!)?)?`;
  const substitute = String.raw`s([/|#,:@%!])(?:\\.|(?!\1)[^\\\n])*\1(?:\\.|(?!\1)[^\\\n])*\1[gpiIm\d]*`;
  const one = new RegExp(`^${address}(?:\\s*(?:[pdqDPNnGgHhx=]|q\\d+|${substitute}|y/[^/]*/[^/]*/))?$`);
  // A semicolon inside a substitution makes the script complex, which asks.
  return (
    one.test(text) ||
    text
      .replace(/^\{|\}$/g, "")
      .split(/[;\n]/)
      .every((piece) => one.test(piece))
  );
}

export function awk(call: ProgramCall): boolean {
  const hasFile = hasAnyFlag(call, "-f", "--file", "-e", "--source", "-i", "--include", "-l", "--load", "-E", "--exec");
  const [program, ...rest] = call.operands;
  if (!hasFile && program !== undefined) {
    const text = valueOf(program);
    if (text === null)
      call.findings.push(asks("awk-script", "The awk program is known only at run time.", ["Write the full program."], ["execute"]));
    else if (/system|getline|@\s*[a-z]|\/inet|(?<!\|)\|(?!\|)/i.test(stripAwkText(text))) {
      call.findings.push(
        alwaysAsks(
          "awk-runs",
          "The awk program can run other commands or read other files.",
          ["Use grep, cut or sort for the other step."],
          ["execute"],
        ),
      );
    } else if (/print[^;}\n]*>|ENVIRON/.test(text)) {
      call.findings.push(
        alwaysAsks("awk-writes", "The awk program writes files or prints the environment.", ["Print, and redirect the output."], ["write"]),
      );
    }
  } else if (hasFile && !hasAnyFlag(call, "-f", "--file"))
    call.findings.push(alwaysAsks("awk-runs", "The awk program is loaded from another file.", [], ["execute"]));
  for (const file of hasFile ? call.operands : rest) {
    if (!/^[A-Za-z_]\w*=/.test(startOf(file))) call.apply(file, "read");
  }
  return true;
}

/** `tar xzf a.tgz`: the first word is flags without a dash. */
export function dashed(args: readonly Field[]): readonly Field[] {
  const [first, ...rest] = args;
  const value = valueOf(first);
  return value !== null && /^[a-zA-Z]+$/.test(value) ? [literal(`-${value}`), ...rest] : args;
}

export function dd(call: ProgramCall): boolean {
  for (const field of call.operands) {
    const start = startOf(field);
    if (start.startsWith("if=")) call.apply(dropStart(field, 3), "read");
    else if (start.startsWith("of=")) call.apply(dropStart(field, 3), "write");
    else if (field.kind !== "static")
      call.findings.push(
        alwaysAsks("unknown-target", "dd writes a file whose name is known only at run time.", ["Name the file."], ["write"]),
      );
  }
  return true;
}

export function remove(call: ProgramCall): boolean {
  const isTree = hasAnyFlag(call, "-r", "-R", "--recursive");
  for (const field of call.operands) call.apply(field, isTree ? "delete-tree" : "delete");
  return true;
}

/** `cp`, `mv`, `ln`, `install`: sources and then one target, or the target by `-t`. */
export function copy(call: ProgramCall): boolean {
  const folder = call.parsed.flags.find(({ name }) => name === "-t" || name === "--target-directory")?.value ?? null;
  const sources = folder === null ? call.operands.slice(0, -1) : call.operands;
  const target = folder ?? call.operands.at(-1);
  const context = pathContext(call.scope);
  const isMove = call.name === "mv";
  for (const source of sources) {
    call.findings.push(...judgePath(source, call.name === "cp" ? "search" : "read", context));
    if (isMove)
      call.findings.push(
        ...judgePath(source, "delete-tree", context).filter(({ id }) => id !== "delete" && id !== "delete-tree" && id !== "delete-scratch"),
      );
  }
  if (target === undefined) return true;
  call.findings.push(...judgePath(target, "write", context));
  // Copies into a folder keep their names.
  const base = valueOf(target);
  if (base !== null) {
    for (const source of sources) {
      const name = posix.basename(valueOf(source) ?? "");
      if (name !== "")
        call.findings.push(
          ...judgePath(literal(`${trimEnd(base, "/")}/${name}`), "write", context).filter(
            (finding) => finding.verdict === "deny" || finding.tier === "T3",
          ),
        );
    }
  }
  return true;
}
