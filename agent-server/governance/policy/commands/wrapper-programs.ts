import { hasAnyFlag, type ProgramCall } from "./program-call.ts";
import { anyName, type Field, literal, patternOf, startOf, unknown, valueOf } from "./shell-fields.ts";
import { alwaysAsks } from "./command-findings.ts";
import { judgePath } from "./command-paths.ts";
import { pathContext } from "./command-scope.ts";
import { hasDashNames } from "./folder-search.ts";
import { judgeSetting } from "./env-program.ts";

/** `timeout 5 ls`, `taskset -c 0 ls`: a number or a mask, then the command. */
export function prefix(call: ProgramCall): boolean {
  const words = [...call.operands];
  // Only skips words that look like numbers, because a wrong guess would hide the command.
  if (call.name.endsWith("timeout")) words.shift();
  else if (/^(?:taskset|chrt|choom)$/.test(call.name) && /^[\da-fx,-]+$/.test(startOf(words[0] ?? literal("")))) words.shift();
  else if (/^setarch$/.test(call.name) && words.length > 1) words.shift();
  while (call.name === "setarch" && startOf(words[0] ?? literal("")).startsWith("-")) words.shift();
  if (valueOf(words[0]) === "--") words.shift();
  if (words.length > 0) call.judgeWords(words, call.name);
  return true;
}

export function elevate(call: ProgramCall): boolean {
  const isSwitch = call.name === "su" || call.name === "sg" || call.name === "newgrp";
  const words = [...call.operands];
  while (words[0] !== undefined && startOf(words[0]).includes("=")) judgeSetting(words.shift() ?? literal(""), call.findings, true);
  if (/^(?:gosu|su-exec|setuidgid)$/.test(call.name)) words.shift();
  if (call.name === "su" || call.name === "sg") {
    // The command's flag may follow the user name.
    const at = words.findIndex((word) => /^(?:-c|--command)$/.test(startOf(word)));
    const text = at < 0 ? undefined : words[at + 1];
    if (text !== undefined) call.judgeShell(text, `${call.name} -c`);
  }
  if (call.name === "sudoedit" || hasAnyFlag(call, "-e", "--edit")) for (const word of words) call.apply(word, "write");
  else if (!isSwitch && words.length > 0) call.judgeWords(words, call.name);
  return true;
}

export function lock(call: ProgramCall): boolean {
  const [file, ...words] = call.operands;
  if (file !== undefined && !/^\d+$/.test(startOf(file))) call.apply(file, "create");
  const at = words.findIndex((word) => /^(?:-c|--command)$/.test(startOf(word)));
  const text = at < 0 ? undefined : words[at + 1];
  if (text !== undefined) call.judgeShell(text, "flock -c");
  else if (words.length > 0) call.judgeWords(words, "flock");
  return true;
}

export function isolate(call: ProgramCall): boolean {
  if (call.name === "crontab" || call.name === "at" || call.name === "batch") {
    if (call.scope.input.kind === "text")
      call.judgeShell(literal(call.scope.input.text.replaceAll(/^(?:\S+\s+){5}(?=\S)/gm, "")), call.name);
    for (const word of call.operands) call.apply(word, "maybe");
    return true;
  }
  const skip = /chroot$|^pivot_root$|^switch_root$/.test(call.name) ? 1 : 0;
  const at = call.name === "ip" ? call.operands.findIndex((word) => valueOf(word) === "exec") + 2 : skip;
  const words = call.name === "ip" && at < 2 ? [] : call.operands.slice(at);
  if (words.length > 0) call.judgeWords(words, call.name);
  return true;
}

export function xargs(call: ProgramCall): boolean {
  const words = call.operands;
  const { input } = call.scope;
  const marker = markerOf(call);
  let handed: readonly Field[] = [unknown("input")];
  let lines: readonly string[] | null = null;
  if (hasAnyFlag(call, "-a", "--arg-file")) handed = [unknown("arguments")];
  else if (input.kind === "names") {
    handed = input.fields;
    if (input.fields.some((field) => field.kind === "tree" && field.skipsHidden === true) && hasDashNames(pathContext(call.scope))) {
      call.findings.push(
        alwaysAsks(
          "pattern-flag",
          "A file here has a name that a program would read as a flag.",
          ["Prefix the names with ./."],
          ["execute"],
        ),
      );
    }
  } else if (input.kind === "text" && !/["'\\]/.test(input.text) && !hasAnyFlag(call, "-0", "-#", "--null", "-d", "--delimiter")) {
    const found = (separator: RegExp) => input.text.split(separator).filter((one) => one !== "");
    handed = found(/\s+/).map((word) => literal(word));
    // A marker stands for a whole line.
    const each = found(/\n/)
      .map((line) => line.trim())
      .filter((line) => line !== "");
    if (each.length <= maxLines && marker !== null && !hasAnyFlag(call, "-J")) lines = each;
  }
  if (words.length === 0) return true;
  if (marker === null) call.judgeWords([...words, ...handed], "xargs", { input: { kind: "none" } });
  else if (lines === null) call.judgeWords(replaced(words, marker, handed), "xargs", { input: { kind: "none" } });
  else for (const line of lines) call.judgeWords(replaced(words, marker, [literal(line)]), "xargs", { input: { kind: "none" } });
  return true;
}

/** The marker for the input words; null without one. */
function markerOf(call: ProgramCall): string | null {
  const flag = call.parsed.flags.find(({ name }) => name === "-I" || name === "-J" || name === "-i" || name === "--replace");
  if (flag === undefined) return null;
  if (flag.name !== "-i") return valueOf(flag.value ?? undefined) ?? "{}";
  // Its value directly follows the flag and is never a separate word.
  for (const word of call.args) {
    const behind = /^-[^-i]*i(.*)$/s.exec(startOf(word))?.[1];
    if (behind !== undefined) return behind === "" ? "{}" : behind;
  }
  return "{}";
}

const maxLines = 20;

/** The words with a marker such as `{}` replaced by its values. */
function replaced(words: readonly Field[], marker: string, fields: readonly Field[]): Field[] {
  return words.flatMap((word) => {
    if (word.kind !== "static" || marker === "" || !word.value.includes(marker)) return [word];
    if (word.value === marker) return [...fields];
    const [only] = fields;
    if (fields.length === 1 && only?.kind === "static") return [literal(word.value.replaceAll(marker, () => only.value))];
    return [{ kind: "dynamic" as const, prefix: word.value.slice(0, word.value.indexOf(marker)), text: word.text }];
  });
}

const findActions = new Set(["-exec", "-execdir", "-ok", "-okdir"]);

const findWrites = new Set(["-fprint", "-fprint0", "-fprintf", "-fls"]);

const findTests = new Set([
  "-name",
  "-iname",
  "-path",
  "-ipath",
  "-wholename",
  "-regex",
  "-iregex",
  "-newer",
  "-mtime",
  "-mmin",
  "-ctime",
  "-atime",
  "-size",
  "-empty",
  "-user",
  "-perm",
  "-inum",
  "-samefile",
]);

/** The folders and names of a `find` search. */
function findPlan(args: readonly Field[]): { roots: Field[]; rest: Field[]; tree: Field[] } {
  const words = [...args];
  while (/^-(?:[HLP]|O\d)$/.test(startOf(words[0] ?? literal("")))) words.shift();
  const start = words.findIndex((word) => /^[-(!,]/.test(startOf(word)) || startOf(word) === "\\(");
  const roots = start < 0 ? words : words.slice(0, start);
  const rest = start < 0 ? [] : words.slice(start);
  if (roots.length === 0) roots.push(literal("."));
  const values = rest.map(valueOf);
  const at = values.findIndex((value, index) => /^-i?name$/.test(value ?? "") && !isNegation(values[index - 1]));
  // A name limits only later actions, and only when no other test widens the search.
  const isNarrow = !values.some(
    (value, index) =>
      value === "-o" ||
      value === "-or" ||
      value === "," ||
      (isNegation(value) && values[index + 1] === "(") ||
      (index < at && value !== null && (findActions.has(value) || /^-(?:delete|ls|fls|f?print(?:0|f)?)$/.test(value))),
  );
  const pattern = at < 0 || !isNarrow ? null : (values[at + 1] ?? null);
  const name = pattern === null ? null : patternOf(pattern);
  return { roots, rest, tree: roots.map((root) => ({ kind: "tree", root, name, text: `${root.text}/…` })) };
}

function isNegation(value: string | null | undefined): boolean {
  return value === "!" || value === "-not";
}

const computedSearch = alwaysAsks(
  "computed-name",
  "The find arguments are known only at run time.",
  ["Write the full arguments."],
  ["execute"],
);

export function find(call: ProgramCall): boolean {
  const { roots, rest, tree } = findPlan(call.args);
  const { findings, scope } = call;
  for (const root of roots) findings.push(...judgePath(root, "list", pathContext(scope)));
  const values = rest.map(valueOf);
  const hasTest = values.some((value) => value !== null && findTests.has(value));
  for (let index = 0; index < rest.length; index += 1) {
    const value = values[index] ?? null;
    if (value === null) {
      // In place of a pattern or a number it is text; elsewhere it may be an action.
      if (!findTests.has(values[index - 1] ?? "")) findings.push(computedSearch);
      continue;
    }
    if (value === "-delete") {
      const context = pathContext(scope);
      const found: Field[] = hasTest
        ? tree.map((one) => ({ ...one, name: anyName }) as Field)
        : tree.map((one) => ({ ...one, name: null }) as Field);
      for (const one of found) findings.push(...judgePath(one, "delete-tree", context));
    } else if (findWrites.has(value)) call.apply(rest[index + 1] ?? unknown("file"), "write");
    else if (value === "-files0-from") {
      call.apply(rest[index + 1] ?? unknown("file"), "read");
      findings.push(computedSearch);
    } else if (findActions.has(value)) {
      const end = values.findIndex((word, at) => at > index && (word === ";" || word === "+"));
      const command = rest.slice(index + 1, end < 0 ? rest.length : end);
      const handed = tree.map((one) => (hasTest && one.kind === "tree" && one.name === null ? { ...one, name: anyName } : one));
      call.judgeWords(replaced(command, "{}", handed), "find -exec", { input: { kind: "none" } });
      if (end < 0) return true;
      index = end;
    }
  }
  return true;
}

/** The files that a listing command prints, as input for `xargs`; null for other commands. */
export function namesOf(name: string, args: readonly Field[]): readonly Field[] | null {
  const tree: Field = { kind: "tree", root: literal("."), name: null, text: "files", skipsHidden: true };
  switch (name) {
    case "find": {
      const { rest, tree: found } = findPlan(args);
      return rest.some((word) => findActions.has(valueOf(word) ?? "")) ? null : found;
    }
    case "fd":
    case "fdfind":
    case "rg":
      return args.some((field) => field.kind !== "static" || /^-(?:[a-zA-Z]*[uH.]|-hidden|-no-ignore)/.test(field.value)) ? null : [tree];
    case "git":
      return valueOf(args[0]) === "ls-files" ? [tree] : null;
    default:
      return null;
  }
}

export function fd(call: ProgramCall): boolean {
  const at = call.args.findIndex((field) => /^(?:-x|-X|--exec|--exec-batch)$/.test(valueOf(field) ?? ""));
  const before = at < 0 ? call.operands : call.args.slice(0, at).filter((field) => !startOf(field).startsWith("-"));
  const roots = before.slice(1);
  for (const root of roots) call.findings.push(...judgePath(root, "list", pathContext(call.scope)));
  if (at < 0 && call.parsed.flags.some(({ name }) => /^(?:-x|-X|--exec|--exec-batch)$/.test(name))) {
    call.findings.push(
      alwaysAsks(
        "computed-name",
        "The command that fd runs cannot be determined.",
        ["Write -x and the command as separate words."],
        ["execute"],
      ),
    );
  }
  if (at < 0) return true;
  const tree: Field[] = (roots.length === 0 ? [literal(".")] : roots).map((root) => ({ kind: "tree", root, name: anyName, text: "files" }));
  const words = call.args.slice(at + 1);
  const end = words.findIndex((field) => valueOf(field) === ";");
  const command = end < 0 ? words : words.slice(0, end);
  // Further folders or flags that widen the search may follow.
  if (end >= 0 && end < words.length - 1) call.findings.push(computedSearch);
  const hasMarker = command.some((field) => /\{[./]*\}/.test(valueOf(field) ?? ""));
  call.judgeWords(hasMarker ? replaced(command, "{}", tree) : [...command, ...tree], "fd --exec", { input: { kind: "none" } });
  return true;
}
