import * as nodePath from "node:path";
import type { Arguments } from "./command-arguments.ts";
import { hasFlag } from "./command-arguments.ts";
import { dropStart, type Field, joined, literal, patternOf, startOf, unknown, valueOf } from "./command-fields.ts";
import { asks, denies, fetchedScript, type Finding, holds } from "./command-findings.ts";
import { judgeInlineCode } from "./command-code.ts";
import { judgeMakeTargets } from "./command-makefile.ts";
import { judgePackageScript, judgeWorkspaceScripts } from "./command-scripts.ts";
import { hasDashNames, isGuarded, judgePath, type PathContext } from "./command-paths.ts";
import type { Program, ProgramRule, Use } from "./command-rules.ts";
import { type Input, pathContext, type Scope } from "./command-scope.ts";
import { changesExecution, isHarmlessVariable, isPagerOff, isSensitiveVariable } from "./command-words.ts";

/** One program call on its way through the policy. */
export interface Call {
  readonly name: string;
  readonly program: Program;
  readonly args: readonly Field[];
  readonly given: Arguments;
  readonly base: ProgramRule | null;
  /** Without the sub-command. */
  readonly operands: readonly Field[];
  readonly text: string;
  /** Where the program works: after `-C`. */
  readonly scope: Scope;
  /** Where the shell stands. */
  readonly outer: Scope;
  readonly findings: Finding[];
  /** Done after this call is recorded, so that parts stand in reading order. */
  readonly later: (work: () => void) => void;
  readonly judgeWords: (words: readonly Field[], label: string, more?: Partial<Scope>) => void;
  /** `input`: what the commands in it can read, when that is not what the shell reads. */
  readonly judgeShell: (text: Field, label: string, input?: Input) => void;
  readonly apply: (field: Field, use: Use) => void;
}

interface Special {
  /** Rewrites the words before they are read. */
  readonly prepare?: (args: readonly Field[], name: string) => readonly Field[];
  /** True when the operands are dealt with. */
  readonly judge?: (call: Call) => boolean;
}

/** Programs with a syntax of their own, by the name the table gives them. */
export const specials: Readonly<Record<string, Special>> = {
  cd: { judge: changeFolder },
  env: { judge: environment },
  shell: { judge: shell },
  eval: { judge: evaluate },
  command: { judge: commandBuiltin },
  declare: { judge: declare },
  names: { judge: variableNames },
  prefix: { judge: prefix },
  "shell-settings": { judge: shellSettings },
  condition: { judge: condition },
  elevate: { judge: elevate },
  flock: { judge: lock },
  isolate: { judge: isolate },
  xargs: { judge: xargs },
  find: { judge: find },
  fd: { judge: fd },
  grep: { judge: grep },
  sed: { judge: sed },
  awk: { judge: awk },
  tar: { prepare: dashed },
  dd: { judge: dd },
  rm: { judge: remove },
  copy: { judge: copy },
  git: { judge: git },
  scripts: { judge: packageScripts },
  interpreter: { prepare: moduleLast, judge: interpreter },
  "package-runner": { judge: packageRunner },
  "project-runner": { judge: projectRunner },
  tests: { judge: testRunner },
  goals: { judge: goals },
  targets: { judge: makeTargets },
  container: { judge: container },
  transfer: { judge: transfer },
  channel: { judge: channel },
  "remote-copy": { judge: remoteCopy },
  "names-lookup": { judge: namesLookup },
};

function given(call: Call, ...flags: readonly string[]): boolean {
  return flags.some((flag) => hasFlag(call.given, flag, flag.startsWith("--")));
}

// ---- the shell's own ---------------------------------------------------------------------------------------------------

function changeFolder(call: Call): boolean {
  const { state, run } = call.outer;
  const [target] = call.operands;
  const path = target === undefined ? (call.name === "cd" ? run.engine.home : null) : valueOf(target);
  if (path === null || path === "-" || call.name === "popd" || /^[+-]\d/.test(path)) {
    state.cwds = null;
    return true;
  }
  const next: string[] = [];
  for (const cwd of path.startsWith("/") ? ["/"] : (state.cwds ?? ["\0"])) {
    const written = path.startsWith("/") ? path : cwd === "." ? path : `${cwd}/${path}`;
    // A shell takes `..` by the name it came by, a system by where that leads; both are kept when they differ.
    const named = nodePath.normalize(written).replace(/(?<=.)\/$/, "");
    const places = [run.engine.paths.resolve(named), run.engine.paths.resolve(written)];
    for (const [index, place] of places.entries()) {
      if (!place.ok || place.sensitive === "secret") {
        state.cwds = null;
        return true;
      }
      const other = places[0];
      if (index === 0) next.push(named === "" ? "." : named);
      else if (other?.ok === true && other.absolute !== place.absolute) next.push(place.inside ? place.display : place.absolute);
      // The folder may be made first, or the command may fail and the next one run where it stood.
      if (place.type !== "directory") next.push(...(state.cwds ?? []));
    }
  }
  const different = [...new Set(next)];
  state.cwds = different.length > 4 ? null : different;
  return true;
}

function environment(call: Call): boolean {
  const words = [...call.args];
  let isCleared = false;
  while (words.length > 0) {
    const [word] = words;
    const start = word === undefined ? "" : startOf(word);
    if (word === undefined) break;
    if (start === "--") {
      words.shift();
      continue;
    }
    if (start === "-" || start === "-i" || start === "--ignore-environment") {
      isCleared = true;
      words.shift();
    } else if (/^-[i0v]*[uCSP]$|^--(?:unset|chdir|split-string)$/.test(start)) {
      words.shift();
      const value = words.shift();
      if (value !== undefined && /S$|^--split/.test(start)) return splitString(value, words, call);
      if (/^-C$|^--chdir/.test(start))
        call.findings.push(asks("unknown-folder", "The program works in another folder.", ["Use cd in front of the command."]));
    } else if (/^--split-string=|^-[i0v]*S/.test(start)) {
      words.shift();
      return splitString(
        dropStart(word, start.indexOf("S") > 0 && !start.startsWith("--") ? start.indexOf("S") + 1 : "--split-string=".length),
        words,
        call,
      );
    } else if (start.startsWith("-")) {
      if (/^--chdir=|^-C/.test(start))
        call.findings.push(asks("unknown-folder", "The program works in another folder.", ["Use cd in front of the command."]));
      words.shift();
    } else if (start.includes("=")) {
      judgeSetting(word, call.findings, true);
      words.shift();
    } else break;
  }
  if (words.length === 0) {
    if (!isCleared)
      call.findings.push(
        asks(
          "environment-print",
          "This prints every environment variable, passwords and keys too.",
          ["Print the one variable you need, such as echo $PATH."],
          ["credentials", "read"],
        ),
      );
  } else call.judgeWords(words, "env");
  return true;
}

function splitString(value: Field, rest: readonly Field[], call: Call): boolean {
  const text = valueOf(value);
  if (text === null) call.judgeShell(value, "env -S");
  else
    call.judgeShell(
      joined([
        literal(`env ${text}`),
        ...rest.map((field) => (field.kind === "static" ? literal(`'${field.value.replaceAll("'", "'\\''")}'`) : field)),
      ]),
      "env -S",
    );
  return true;
}

/** `NAME=value` given as a word. */
function judgeSetting(word: Field, findings: Finding[], isPrefix: boolean): void {
  const start = startOf(word);
  const name = start.slice(0, start.indexOf("=")).replace(/\+$/, "");
  const value = word.kind === "static" ? word.value.slice(start.indexOf("=") + 1) : null;
  if (isSensitiveVariable(name) && !isPagerOff(name, value)) findings.push(changesExecution(name));
  else if (isPrefix && !isHarmlessVariable(name) && !isPagerOff(name, value)) {
    findings.push(
      asks(
        "environment",
        `The variable ${name} is set for the program, and what that changes is not known.`,
        ["Use the program's own flags."],
        ["settings"],
      ),
    );
  }
}

function shell(call: Call): boolean {
  const { args, findings, scope } = call;
  let isCommand = false;
  let index = 0;
  for (; index < args.length; index += 1) {
    const field = args[index];
    if (field === undefined) break;
    const start = startOf(field);
    if (field.kind === "dynamic" && start === "") break;
    if (start === "--" || start === "-") {
      index += 1;
      break;
    }
    if (/^(?:--rcfile|--init-file)(?:=|$)/.test(start)) {
      findings.push(
        holds("startup-file", "A start-up file changes what the shell does.", ["Leave the start-up file out."], ["settings", "execute"]),
      );
      if (!start.includes("=")) index += 1;
    } else if (/^[-+][oO]$/.test(start)) index += 1;
    else if (start.startsWith("--")) continue;
    else if (start.startsWith("-") || start.startsWith("+")) {
      if (start.startsWith("-") && start.includes("c")) isCommand = true;
      // `-eo pipefail`
      if (/^[-+][a-z]*o$/.test(start)) index += 1;
    } else break;
  }
  const operand = args[index];
  if (isCommand) {
    if (operand === undefined) findings.push(holds("computed-script", "The shell is given no command to run."));
    else call.judgeShell(operand, `${call.name} -c`);
    return true;
  }
  if (given(call, "--version", "--help")) return true;
  if (operand === undefined || given(call, "-s") || isStandardInput(operand)) {
    readsScript(call, operand);
    return true;
  }
  if (given(call, "-n") && !given(call, "-i")) {
    findings.push(...judgePath(operand, "read", pathContext(scope)));
    return true;
  }
  runsFile(operand, call);
  for (const field of args.slice(index + 1)) call.apply(field, "maybe");
  return true;
}

function isStandardInput(field: Field): boolean {
  return /^\/dev\/(?:stdin|fd\/\d+)$/.test(valueOf(field) ?? "");
}

/** A shell or an interpreter that takes what it runs from a pipe or a redirect. */
function readsScript(call: Call, operand: Field | undefined): void {
  const { input, run } = call.scope;
  if (input.kind === "text" && (operand === undefined || /^\/dev\/stdin$/.test(valueOf(operand) ?? ""))) {
    if (call.program.special === "shell") call.judgeShell(literal(input.text), `${call.name} <`, { kind: "unknown" });
    else judgeInlineCode(literal(input.text), call);
    return;
  }
  if (run.fetches && (input.kind !== "none" || operand !== undefined)) call.findings.push(fetchedScript);
  else {
    call.findings.push(
      holds(
        "script-from-input",
        `What ${call.name} runs comes from its input, and is known only then.`,
        ["Write the commands themselves."],
        ["execute"],
      ),
    );
  }
}

/** A script file: inside the workspace its content was reviewed or will be; elsewhere it is anyone's. */
function runsFile(file: Field, call: Call): void {
  const context = pathContext(call.scope);
  call.findings.push(...judgePath(file, "read", context));
  const path = valueOf(file);
  const isOutside =
    path === null ||
    (context.cwds ?? [null]).some((cwd) => {
      const resolved =
        cwd === null && !path.startsWith("/") ? null : context.resolve(path.startsWith("/") ? path : `${cwd ?? "."}/${path}`);
      return resolved?.ok !== true || !resolved.inside;
    });
  call.findings.push(
    isOutside
      ? holds(
          "run-script",
          `This runs the script ${file.text} from outside the workspace.`,
          ["Use a script of the workspace."],
          ["execute", "outside"],
        )
      : asks(
          "run-script",
          `This runs the script ${file.text}, whose commands are not judged.`,
          ["Run the project's tests or build by their usual command."],
          ["execute"],
        ),
  );
}

function evaluate(call: Call): boolean {
  const text = joined(valueOf(call.args[0]) === "--" ? call.args.slice(1) : call.args);
  const value = valueOf(text);
  if (value === null) call.judgeShell(text, "eval");
  else if (value !== "") {
    const scope = { ...call.outer, within: [...call.outer.within, "eval"], depth: call.outer.depth + 1 };
    call.later(() => scope.run.judgeText(value, scope));
  }
  return true;
}

/** `command`, `builtin`, `exec`: what follows the flags is a command. */
function commandBuiltin(call: Call): boolean {
  const flags = call.given.flags.map(({ name }) => name);
  if (call.name === "command" && flags.some((name) => name === "-v" || name === "-V")) return true;
  if (call.operands.length > 0) call.judgeWords(call.operands, call.name);
  else if (call.name === "exec")
    call.findings.push(
      asks(
        "changes-shell.input",
        "This changes where later commands read from and write to.",
        ["Redirect the single command."],
        ["settings"],
      ),
    );
  return true;
}

function declare(call: Call): boolean {
  const { findings, given: flags, operands, outer } = call;
  const isExport = call.name === "export" || flags.flags.some(({ name }) => name === "-x");
  for (const field of operands) {
    const start = startOf(field);
    if (field.kind !== "static" && !start.includes("=")) {
      findings.push(
        holds("changes-execution", "Which variable this sets is known only when it runs.", ["Write the name itself."], ["settings"]),
      );
      continue;
    }
    if (/\[/.test(start.split("=")[0] ?? ""))
      findings.push(holds("arithmetic-runs", "A subscript here can run a command.", [], ["execute"]));
    if (start.includes("=")) judgeSetting(field, findings, isExport);
    else if (isSensitiveVariable(start)) findings.push(changesExecution(start));
    else if (isExport && !isHarmlessVariable(start))
      findings.push(asks("environment", `The variable ${start} is handed to every program after it.`, [], ["settings"]));
    const name = start.replace(/\+?=.*$/s, "");
    if (field.kind === "static" && start.includes("=") && field.quoted === true) outer.state.variables.set(name, null);
  }
  // `-n` makes a reference, `-i` evaluates each value as a sum, `-f` is about functions.
  if (flags.flags.some(({ name }) => name === "-n" || name === "-i")) {
    findings.push(
      holds("changes-execution", "A variable that refers to another, or is a sum, can run what its value holds.", [], ["settings"]),
    );
  }
  return true;
}

/** Built-ins that set variables they are given the names of: `read`, `mapfile`, `unset`, `printf -v`, `getopts`. */
function variableNames(call: Call): boolean {
  const names =
    call.name === "printf" ? call.given.flags.filter(({ name }) => name === "-v").map(({ value }) => value) : [...call.operands];
  const format = call.name === "printf" ? call.operands[0] : undefined;
  if (format !== undefined && (format.kind !== "static" || /%[^%a-mo-zA-Z]*n|%\(/.test(format.value.replaceAll(/%\([^)]*\)T/g, "")))) {
    call.findings.push(
      holds(
        "changes-execution",
        "This format sets a variable, or is known only when it runs.",
        ["Write the format itself, without %n."],
        ["settings"],
      ),
    );
  }
  if (call.name === "getopts") names.shift();
  for (const field of names) {
    const name = field === null ? null : valueOf(field);
    if (name === null || !/^\w+$/.test(name)) {
      call.findings.push(
        holds(
          "changes-execution",
          "Which variable this sets is known only when it runs, or runs a subscript.",
          ["Write the name itself."],
          ["settings"],
        ),
      );
    } else if (isSensitiveVariable(name)) call.findings.push(changesExecution(name));
    else {
      if (call.name === "unset") call.outer.state.variables.delete(name);
      else call.outer.state.variables.set(name, null);
    }
  }
  return true;
}

// ---- those that run others ---------------------------------------------------------------------------------------------

/** `timeout 5 ls`, `taskset -c 0 ls`: a number or a mask, then the command. */
function prefix(call: Call): boolean {
  const words = [...call.operands];
  // A wrong guess of what is a number and what the command would hide the command, so only what looks like a number goes.
  if (/timeout$/.test(call.name)) words.shift();
  else if (/^(?:taskset|chrt|choom)$/.test(call.name) && /^[\da-fx,-]+$/.test(startOf(words[0] ?? literal("")))) words.shift();
  else if (/^setarch$/.test(call.name) && words.length > 1) words.shift();
  while (call.name === "setarch" && startOf(words[0] ?? literal("")).startsWith("-")) words.shift();
  if (valueOf(words[0]) === "--") words.shift();
  if (words.length > 0) call.judgeWords(words, call.name);
  return true;
}

/** `trap 'commands' EXIT`: what it would run is judged, though it is always asked. */
function shellSettings(call: Call): boolean {
  const [first] = call.operands;
  if (call.name === "trap" && first !== undefined && !startOf(first).startsWith("-")) call.judgeShell(first, "trap");
  return call.name === "trap";
}

/** `test`, `[`: `-v` and `-R` evaluate a subscript. */
function condition(call: Call): boolean {
  for (const [index, field] of call.args.entries()) {
    const value = valueOf(field);
    if ((value === "-v" || value === "-R") && valueOf(call.args[index + 1])?.includes("[") !== false) {
      call.findings.push(holds("arithmetic-runs", "A test of an element can run a command in its subscript.", [], ["execute"]));
    }
  }
  return true;
}

function elevate(call: Call): boolean {
  const isSwitch = call.name === "su" || call.name === "sg" || call.name === "newgrp";
  const words = [...call.operands];
  while (words[0] !== undefined && startOf(words[0]).includes("=")) judgeSetting(words.shift() ?? literal(""), call.findings, true);
  if (/^(?:gosu|su-exec|setuidgid)$/.test(call.name)) words.shift();
  if (call.name === "su" || call.name === "sg") {
    // The command's flag may follow the user's name.
    const at = words.findIndex((word) => /^(?:-c|--command)$/.test(startOf(word)));
    const text = at < 0 ? undefined : words[at + 1];
    if (text !== undefined) call.judgeShell(text, `${call.name} -c`);
  }
  if (call.name === "sudoedit" || given(call, "-e", "--edit")) for (const word of words) call.apply(word, "write");
  else if (!isSwitch && words.length > 0) call.judgeWords(words, call.name);
  return true;
}

function lock(call: Call): boolean {
  const [file, ...words] = call.operands;
  if (file !== undefined && !/^\d+$/.test(startOf(file))) call.apply(file, "create");
  const at = words.findIndex((word) => /^(?:-c|--command)$/.test(startOf(word)));
  const text = at < 0 ? undefined : words[at + 1];
  if (text !== undefined) call.judgeShell(text, "flock -c");
  else if (words.length > 0) call.judgeWords(words, "flock");
  return true;
}

function isolate(call: Call): boolean {
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

function xargs(call: Call): boolean {
  const words = call.operands;
  const { input } = call.scope;
  let handed: readonly Field[] = [unknown("input")];
  if (given(call, "-a", "--arg-file")) handed = [unknown("arguments")];
  else if (input.kind === "names") {
    handed = input.fields;
    if (input.fields.some((field) => field.kind === "tree" && field.skipsHidden === true) && hasDashNames(pathContext(call.scope))) {
      call.findings.push(
        holds(
          "pattern-flag",
          "A file here has a name that a program would take for a flag.",
          ["Put ./ in front of the names."],
          ["execute"],
        ),
      );
    }
  } else if (input.kind === "text" && !/["'\\]/.test(input.text))
    handed = input.text
      .split(/\s+/)
      .filter((word) => word !== "")
      .map((word) => literal(word));
  const marker = call.given.flags.find(({ name }) => name === "-I" || name === "-J" || name === "-i" || name === "--replace");
  if (words.length === 0) return true;
  if (marker === undefined) call.judgeWords([...words, ...handed], "xargs", { input: { kind: "none" } });
  else call.judgeWords(replaced(words, valueOf(marker.value ?? undefined) ?? "{}", handed), "xargs", { input: { kind: "none" } });
  return true;
}

/** The words with a marker such as `{}` replaced by what will be put there. */
function replaced(words: readonly Field[], marker: string, fields: readonly Field[]): Field[] {
  return words.flatMap((word) => {
    if (word.kind !== "static" || marker === "" || !word.value.includes(marker)) return [word];
    if (word.value === marker) return [...fields];
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

/** The folders `find` starts from and what it looks for. */
function findPlan(args: readonly Field[]): { roots: Field[]; rest: Field[]; tree: Field[] } {
  const words = [...args];
  while (/^-(?:[HLP]|O\d)$/.test(startOf(words[0] ?? literal("")))) words.shift();
  const start = words.findIndex((word) => /^[-(!,]/.test(startOf(word)) || startOf(word) === "\\(");
  const roots = start < 0 ? words : words.slice(0, start);
  const rest = start < 0 ? [] : words.slice(start);
  if (roots.length === 0) roots.push(literal("."));
  const values = rest.map(valueOf);
  // A name narrows what is found only when nothing widens it again.
  const isNarrow = !values.some((value) => value === "-o" || value === "-or" || value === ",");
  const at = values.findIndex((value, index) => /^-i?name$/.test(value ?? "") && !/^(?:!|-not)$/.test(values[index - 1] ?? ""));
  const pattern = at < 0 || !isNarrow ? null : (values[at + 1] ?? null);
  const name = pattern === null ? null : patternOf(pattern);
  return { roots, rest, tree: roots.map((root) => ({ kind: "tree", root, name, text: `${root.text}/…` })) };
}

function find(call: Call): boolean {
  const { roots, rest, tree } = findPlan(call.args);
  const { findings, scope } = call;
  for (const root of roots) findings.push(...judgePath(root, "list", pathContext(scope)));
  const values = rest.map(valueOf);
  const hasTest = values.some((value) => value !== null && findTests.has(value));
  for (let index = 0; index < rest.length; index += 1) {
    const value = values[index] ?? null;
    if (value === null) {
      // Where a pattern or a number stands it is text; anywhere else it may be an action.
      if (!findTests.has(values[index - 1] ?? ""))
        findings.push(holds("computed-name", "What find does is known only when it runs.", ["Write its words themselves."], ["execute"]));
      continue;
    }
    if (value === "-delete") {
      const context = pathContext(scope);
      const found: Field[] = hasTest
        ? tree.map((one) => ({ ...one, name: /^/ }) as Field)
        : tree.map((one) => ({ ...one, name: null }) as Field);
      for (const one of found) findings.push(...judgePath(one, "delete-tree", context));
    } else if (findWrites.has(value)) call.apply(rest[index + 1] ?? unknown("file"), "write");
    else if (value === "-files0-from") call.apply(rest[index + 1] ?? unknown("file"), "read");
    else if (findActions.has(value)) {
      const end = values.findIndex((word, at) => at > index && (word === ";" || word === "+"));
      const command = rest.slice(index + 1, end < 0 ? rest.length : end);
      const handed = tree.map((one) => (hasTest && one.kind === "tree" && one.name === null ? { ...one, name: /^/ } : one));
      call.judgeWords(replaced(command, "{}", handed), "find -exec", { input: { kind: "none" } });
      if (end < 0) return true;
      index = end;
    }
  }
  return true;
}

/** What a command prints that lists files, for `xargs` after it; null for other commands. */
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

function fd(call: Call): boolean {
  const at = call.args.findIndex((field) => /^(?:-x|-X|--exec|--exec-batch)$/.test(valueOf(field) ?? ""));
  const before = at < 0 ? call.operands : call.args.slice(0, at).filter((field) => !startOf(field).startsWith("-"));
  const roots = before.slice(1);
  for (const root of roots) call.findings.push(...judgePath(root, "list", pathContext(call.scope)));
  if (at < 0 && call.given.flags.some(({ name }) => /^(?:-x|-X|--exec|--exec-batch)$/.test(name))) {
    call.findings.push(
      holds(
        "computed-name",
        "What fd runs cannot be told from its words.",
        ["Write -x and the command as words of their own."],
        ["execute"],
      ),
    );
  }
  if (at < 0) return true;
  const tree: Field[] = (roots.length === 0 ? [literal(".")] : roots).map((root) => ({ kind: "tree", root, name: /^/, text: "files" }));
  const words = call.args.slice(at + 1);
  const end = words.findIndex((field) => valueOf(field) === ";");
  const command = end < 0 ? words : words.slice(0, end);
  const hasMarker = command.some((field) => /\{[./]*\}/.test(valueOf(field) ?? ""));
  call.judgeWords(hasMarker ? replaced(command, "{}", tree) : [...command, ...tree], "fd --exec", { input: { kind: "none" } });
  return true;
}

// ---- those that read and write files -----------------------------------------------------------------------------------

function grep(call: Call): boolean {
  const isRipgrep = call.name === "rg" || call.name === "ag" || call.name === "ack";
  const hasPattern = given(call, "-e", "-f", "--regexp", "--file", "--files", "--type-list");
  const files = hasPattern ? call.operands : call.operands.slice(1);
  const isRecursive =
    isRipgrep ||
    given(call, "-r", "-R", "--recursive", "--dereference-recursive") ||
    call.given.flags.some(({ value }) => valueOf(value ?? undefined) === "recurse");
  const showsHidden = !isRipgrep || call.given.flags.some(({ name }) => /^(?:-u|-\.|--hidden|--no-ignore.*|--unrestricted)$/.test(name));
  const isList = given(call, "-l", "--files-with-matches", "-L", "-c", "--count", "-q", "--quiet", "--files") && !given(call, "-o");
  const context = pathContext(call.scope);
  if (!isRecursive) {
    for (const file of files) call.findings.push(...judgePath(file, "read", context));
    return true;
  }
  const glob = call.given.flags.find(({ name }) => name === "--include" || name === "-g" || name === "--glob");
  const pattern = glob === undefined ? null : valueOf(glob.value ?? undefined);
  const narrowed = pattern === null || pattern.startsWith("!") || pattern.includes("/") ? null : pattern;
  const name = narrowed === null ? null : patternOf(narrowed.replace(/\{.*\}/, "*"));
  const reads = call.scope.input.kind === "none" || call.scope.input.kind === "names";
  const roots = files.length > 0 ? files : isRipgrep && !reads && !showsHidden ? [] : [literal(".")];
  for (const root of roots) {
    if (isList) call.findings.push(...judgePath(root, "read", context));
    else if (root.kind === "static")
      call.findings.push(...judgePath({ kind: "tree", root, name, text: root.text, skipsHidden: !showsHidden }, "read", context));
    else call.findings.push(...judgePath(root, "search", context));
  }
  return true;
}

function sed(call: Call): boolean {
  const scripts = call.given.flags.filter(({ name }) => name === "-e" || name === "--expression").map(({ value }) => value);
  const hasScript = scripts.length > 0 || given(call, "-f", "--file");
  const [first, ...rest] = call.operands;
  if (!hasScript && first !== undefined) scripts.push(first);
  for (const script of scripts) {
    const text = script === null ? null : valueOf(script);
    if (text === null)
      call.findings.push(asks("sed-script", "What sed does is known only when it runs.", ["Write the script itself."], ["execute"]));
    else if (/\be\b|(?:^|[;{}\n\d$/!])\s*e(?:\s|$)|\/[a-z\d]*e[a-z\d]*(?:[;}\n]|$)/i.test(text) && !isPlainSed(text)) {
      call.findings.push(
        holds("sed-runs", "A sed script with the command e runs other commands.", ["Use plain substitutions."], ["execute"]),
      );
    } else if (!isPlainSed(text)) {
      call.findings.push(
        asks(
          "sed-script",
          "This sed script may write or read files of its own.",
          ["Use plain substitutions, such as s/a/b/g, or print lines with -n."],
          ["write"],
        ),
      );
    }
  }
  const inPlace = given(call, "-i", "--in-place", "-I");
  for (const file of hasScript ? call.operands : rest) call.apply(file, inPlace ? "change" : "read");
  if (inPlace)
    for (const file of hasScript ? call.operands : rest)
      call.findings.push(...judgePath(file, "read", pathContext(call.scope)).filter(({ verdict }) => verdict === "deny"));
  return true;
}

/** Addresses, print, delete, quit and substitutions without the flags `e` and `w`. */
function isPlainSed(text: string): boolean {
  const address = String.raw`(?:(?:\d+|\$|/(?:\\.|[^/\\\n])*/I?)(?:\s*,\s*(?:[+~]?\d+|\$|/(?:\\.|[^/\\\n])*/I?))?\s*!?\s*)?`;
  const substitute = String.raw`s([/|#,:@%!])(?:\\.|(?!\1)[^\\\n])*\1(?:\\.|(?!\1)[^\\\n])*\1[gpiIm\d]*`;
  const one = new RegExp(`^\\s*${address}\\s*(?:[pdqDPNnGgHhx=]|q\\d+|${substitute}|y/[^/]*/[^/]*/)?\\s*$`);
  // A semicolon inside a substitution makes a piece that is not plain, which asks.
  return (
    one.test(text) ||
    text
      .replace(/^\{|\}$/g, "")
      .split(/[;\n]/)
      .every((piece) => one.test(piece))
  );
}

function awk(call: Call): boolean {
  const hasFile = given(call, "-f", "--file", "-e", "--source", "-i", "--include", "-l", "--load", "-E", "--exec");
  const [program, ...rest] = call.operands;
  if (!hasFile && program !== undefined) {
    const text = valueOf(program);
    if (text === null)
      call.findings.push(asks("awk-script", "What awk does is known only when it runs.", ["Write the program itself."], ["execute"]));
    else if (/system|getline|@\s*(?:load|include|namespace)|\/inet|(?<!\|)\|(?!\|)|@[a-z]/i.test(withoutRegex(text))) {
      call.findings.push(
        holds(
          "awk-runs",
          "This awk program can run other commands or read other files.",
          ["Use grep, cut or sort for the other step."],
          ["execute"],
        ),
      );
    } else if (/print[^;}\n]*>|ENVIRON/.test(text)) {
      call.findings.push(
        holds("awk-writes", "This awk program writes files or prints the environment.", ["Print, and redirect the output."], ["write"]),
      );
    }
  } else if (hasFile && !given(call, "-f", "--file"))
    call.findings.push(holds("awk-runs", "This awk program is loaded from elsewhere.", [], ["execute"]));
  for (const file of hasFile ? call.operands : rest) {
    if (!/^[A-Za-z_]\w*=/.test(startOf(file))) call.apply(file, "read");
  }
  return true;
}

function withoutRegex(text: string): string {
  return text
    .replaceAll(/\/(?:\\.|[^/\\\n])*\/(?=\s*(?:[{;)&!]|$))/g, "//")
    .replaceAll(/"(?:\\.|[^"\\])*"/g, (string) => (/inet|\|/.test(string) && string.includes("/inet") ? string : '""'));
}

/** `tar xzf a.tgz`: the first word is flags without a dash. */
function dashed(args: readonly Field[]): readonly Field[] {
  const [first, ...rest] = args;
  const value = valueOf(first);
  return value !== null && /^[a-zA-Z]+$/.test(value) ? [literal(`-${value}`), ...rest] : args;
}

function dd(call: Call): boolean {
  for (const field of call.operands) {
    const start = startOf(field);
    if (start.startsWith("if=")) call.apply(dropStart(field, 3), "read");
    else if (start.startsWith("of=")) call.apply(dropStart(field, 3), "write");
    else if (field.kind !== "static")
      call.findings.push(holds("unknown-target", "What dd writes is known only when it runs.", ["Name the file itself."], ["write"]));
  }
  return true;
}

function remove(call: Call): boolean {
  const isTree = given(call, "-r", "-R", "--recursive");
  for (const field of call.operands) call.apply(field, isTree ? "delete-tree" : "delete");
  return true;
}

/** `cp`, `mv`, `ln`, `install`: sources and then one target, or the target by `-t`. */
function copy(call: Call): boolean {
  const folder = call.given.flags.find(({ name }) => name === "-t" || name === "--target-directory")?.value ?? null;
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
  // Into a folder: the names stay.
  const base = valueOf(target);
  if (base !== null) {
    for (const source of sources) {
      const name = /([^/]+)\/*$/.exec(valueOf(source) ?? "")?.[1];
      if (name !== undefined)
        call.findings.push(
          ...judgePath(literal(`${base.replace(/\/+$/, "")}/${name}`), "write", context).filter(
            (finding) => finding.verdict === "deny" || finding.tier === "T3",
          ),
        );
    }
  }
  return true;
}

// ---- git, interpreters, containers, transfers ---------------------------------------------------------------------------

const harmlessGitSetting =
  /^(?:color\.[\w.]+|core\.(?:quotepath|abbrev|ignorecase)|log\.\w+|diff\.(?:noprefix|renames|context|algorithm|colormoved|mnemonicprefix)|status\.\w+|column\.\w+|advice\.\w+|grep\.\w+|blame\.\w+|core\.pager|pager\.\w+)=(?:[\w.-]*)$/i;

function git(call: Call): boolean {
  const context = pathContext(call.scope);
  for (const { name, value } of call.given.flags) {
    if (name !== "-c" || value === null || valueOf(call.given.operands[0]) === "switch") continue;
    const setting = valueOf(value);
    if (setting !== null && !setting.includes("=")) continue;
    if (
      setting === null ||
      !harmlessGitSetting.test(setting) ||
      /pager/i.test(setting) === !/pager\w*(?:\.\w+)?=(?:cat|false|true|less)?$/i.test(setting)
    ) {
      call.findings.push(
        holds("git.setting", "A setting given with -c can make git run other commands.", ["Leave -c out."], ["execute", "settings"]),
      );
    }
    const alias = /^alias\.[^=]*=!?(.*)$/s.exec(setting ?? "");
    if (alias?.[1] !== undefined) call.judgeShell(literal(setting?.includes("=!") === true ? alias[1] : `git ${alias[1]}`), "git alias");
  }
  const sub = valueOf(call.given.operands[0]);
  for (const field of call.args) {
    const word = startOf(field);
    if (!word.startsWith("-")) break;
    if (
      !/^(?:-C.*|-c.*|--no-pager|-P|--version|-v|--help|-h|--no-optional-locks|--literal-pathspecs|--glob-pathspecs|--icase-pathspecs|--no-replace-objects|--git-dir.*|--work-tree.*)$/.test(
        word,
      )
    ) {
      call.findings.push(
        holds("git.global", `The flag ${word} changes how git works before the sub-command.`, ["Leave the flag out."], ["settings"]),
      );
    }
    if (word === "-C" || word === "-c") break;
  }
  for (const { name, value } of call.given.flags) {
    if (name !== "-L" || value === null) continue;
    const range = startOf(value);
    call.findings.push(
      ...judgePath(literal(range.slice(range.lastIndexOf(":") + 1)), "maybe", context).filter(({ verdict }) => verdict === "deny"),
    );
  }
  for (const operand of call.operands) {
    const value = valueOf(operand);
    if (value === null) continue;
    if (/^(?:ext|fd)::/.test(value))
      call.findings.push(
        denies("git.transport", "An ext:: address makes git run a program.", ["Use an https or ssh address."], ["execute"]),
      );
    const colon = value.indexOf(":");
    if (
      colon >= 0 &&
      (sub === "show" || sub === "cat-file" || sub === "diff" || sub === "archive" || sub === "checkout" || sub === "log")
    ) {
      call.findings.push(...judgePath(literal(value.slice(colon + 1)), "maybe", context).filter(({ verdict }) => verdict === "deny"));
    }
  }
  if (sub === "checkout" && !given(call, "-b", "-B", "--orphan")) {
    const named = call.operands.some((operand) => operand.kind !== "static" || isExisting(operand.value, context));
    if (named || call.args.some((field) => valueOf(field) === "--")) {
      call.findings.push(
        holds(
          "git.discard-file",
          "This throws away changes to files.",
          ["Look first, with git diff.", "Set changes aside with git stash push."],
          ["delete", "history"],
        ),
      );
    }
  }
  if (sub === "clean" && call.base?.finding.verdict !== "allow" && call.operands.length === 0 && isGuarded(".", context)) {
    call.findings.push({
      ...holds(
        "git.clean-all",
        "This deletes every file of the workspace that git does not track.",
        ["Look first, with git clean -n."],
        ["delete", "destroy"],
      ),
      risk: "critical",
    });
  }
  return false;
}

function isExisting(path: string, context: PathContext): boolean {
  return (context.cwds ?? []).some((cwd) => {
    const resolved = context.resolve(cwd === "." ? path : `${cwd}/${path}`);
    return resolved.ok && resolved.type !== "missing";
  });
}

/** `python -m module …` and `python -c code …`: what follows belongs to the module. */
function moduleLast(args: readonly Field[], name: string): readonly Field[] {
  if (!/^(?:python|pypy)/.test(name)) return args;
  const at = args.findIndex((field) => /^-[mc]$/.test(valueOf(field) ?? ""));
  const before = args.slice(0, Math.max(at, 0));
  if (at < 0 || before.some((field) => !startOf(field).startsWith("-"))) return args;
  return [...args.slice(0, at + 2), literal("--"), ...args.slice(at + 2)];
}

const harmlessModules = /^(?:unittest|compileall|py_compile|json\.tool|tabnanny|platform|sysconfig|calendar|this|dis|ast|tokenize)$/;

function runsModule(call: Call): boolean {
  const module = call.given.flags.find(({ name }) => name === "-m")?.value ?? null;
  if (module === null || call.program.special !== "interpreter" || !/^(?:python|pypy)/.test(call.name)) return false;
  const name = valueOf(module);
  const program = name === null ? undefined : call.scope.run.engine.table.programs.get(name);
  if (program?.tool === true || program?.special === "project-runner") call.judgeWords([module, ...call.operands], "python -m");
  else {
    if (name === null || !harmlessModules.test(name) || (name === "json.tool" && call.operands.length > 1)) {
      call.findings.push(
        holds(
          "run-module",
          `This runs the module ${module.text}, which is not judged.`,
          ["Run the project's tests or build by their usual command."],
          ["execute"],
        ),
      );
    }
    for (const operand of call.operands) call.apply(operand, "maybe");
  }
  return true;
}

/** `npm test`, `npm run build`, `pnpm exec tsc`: what the script in package.json runs is looked at too. */
function packageScripts(call: Call): boolean {
  if (call.name === "bun" && given(call, "-r", "--preload")) {
    call.findings.push(holds("packages.preload", "This loads other code first.", ["Leave the option out."], ["execute"]));
  }
  if (call.base?.finding.id === "packages.exec") {
    const at = call.args.findIndex((field) => valueOf(field) === "exec");
    const words = call.args.slice(at + 1);
    if (valueOf(words[0]) === "--") words.shift();
    runsTool(words, call);
    return true;
  }
  if (call.base === null || !/^packages\.(?:test|build|script)$/.test(call.base.finding.id)) return false;
  const [first, second] = call.given.operands.map(valueOf);
  const name = first === "run" || first === "run-script" ? second : first === "t" || first === "tst" ? "test" : first;
  if (name === undefined || name === null) return false;
  const isYarn = first === "workspace" || first === "workspaces";
  const filters = call.given.flags.filter((flag) => /^(?:-w|-ws|--workspaces?|--filter|-F|-r|--recursive)$/.test(flag.name));
  if (isYarn) judgeWorkspaceScripts(valueOf(call.given.operands.at(-1)) ?? "", first === "workspace" ? (second ?? null) : null, call);
  else if (filters.length > 0) judgeWorkspaceScripts(name, filters.length > 1 ? null : valueOf(filters[0]?.value ?? undefined), call);
  judgePackageScript(name, call);
  return false;
}

function runsTool(words: readonly Field[], call: Call): void {
  const [tool] = words;
  const name = valueOf(tool);
  const program = name === null ? undefined : call.scope.run.engine.table.programs.get(name);
  if (program?.tool !== true) {
    call.findings.push(
      holds(
        "package-runner.unknown",
        `This may fetch the package ${tool?.text ?? ""} and run it.`,
        ["Use a tool the project has installed."],
        ["network", "download", "execute"],
      ),
    );
  }
  if (program !== undefined) call.judgeWords(words, call.name);
}

/** `npx tool …`: a tool of the project. */
function packageRunner(call: Call): boolean {
  const [tool] = call.operands;
  const name = valueOf(tool);
  if (tool === undefined) return true;
  if (call.base?.finding.verdict === "allow") runsTool(call.operands, call);
  else if (name !== null && call.scope.run.engine.table.programs.has(name)) call.judgeWords(call.operands, call.name);
  return true;
}

const runners = /^(?:poetry|pdm|uv|pipenv|hatch|rye|bundle|bundler|pyenv|rbenv)$/;

/** `poetry run pytest`, `bundle exec rspec`: what follows is a program of the project. */
function projectRunner(call: Call): boolean {
  const at = call.args.findIndex((field) => /^(?:run|exec)$/.test(valueOf(field) ?? ""));
  if (at < 0 || call.base?.finding.id !== "project.runs") return false;
  const words = call.args.slice(at + 1);
  while (
    /^--(?:frozen|no-sync|locked|offline|no-dev|all-extras|quiet|all-groups|no-project|isolated)$|^-q$/.test(
      startOf(words[0] ?? literal("")),
    )
  )
    words.shift();
  const [first] = words;
  if (!runners.test(call.name) || first === undefined || startOf(first).startsWith("-")) {
    call.findings.push(
      holds(
        "unknown-use",
        `The policy does not know this use of ${call.name}.`,
        ["Run the project's tests or build by their usual command."],
        ["execute"],
      ),
    );
  }
  if (first !== undefined) call.judgeWords(words, `${call.name} run`);
  return true;
}

const harmlessSettings =
  /^(?:skipTests|skipITs|test|it\.test|maven\.test\.skip|failIfNoTests|surefire\.failIfNoSpecifiedTests|checkstyle\.skip|spring\.profiles\.active|style\.color)(?:=|$)/;

/** Settings given to a build (`-Dname=value`, `-p:Name=value`) can name programs to start and places to write. */
function goals(call: Call): boolean {
  for (const { name, value } of call.given.flags) {
    const isSetting =
      name === "-D" ||
      (name === "-P" && call.name.startsWith("gradle")) ||
      ((name === "-p" || name === "--property" || name === "-property") && call.name === "dotnet");
    if (isSetting && !harmlessSettings.test(valueOf(value ?? undefined) ?? "")) {
      call.findings.push(
        holds(
          "goals.setting",
          "This setting can make the build start another program or write elsewhere.",
          ["Leave the setting out."],
          ["execute"],
        ),
      );
    }
  }
  return false;
}

/** What the recipes of a Makefile run is looked at too. */
function makeTargets(call: Call): boolean {
  if ((call.name === "make" || call.name === "gmake") && call.base?.finding.verdict !== "deny") judgeMakeTargets(call);
  return false;
}

function testRunner(call: Call): boolean {
  const [first] = call.operands;
  const sub = valueOf(first);
  const isModule = call.given.flags.some(
    ({ name, value }) => name === "-m" && /^(?:pytest|unittest|nose2)$/.test(valueOf(value ?? undefined) ?? ""),
  );
  if (call.name === "coverage" && sub === "run" && !isModule) {
    const file = call.operands[1];
    call.findings.push(
      asks("run-script", `This runs ${file?.text ?? "a module"}, whose commands are not judged.`, ["Run the tests with it."], ["execute"]),
    );
  }
  if (call.name === "tox" && given(call, "-x", "--override")) {
    call.findings.push(holds("test.sets", "This gives tox other commands to run.", ["Name an environment of the project."], ["execute"]));
  }
  if ((call.name === "nyc" || call.name === "c8") && sub !== null && !/^(?:report|check-coverage|merge)$/.test(sub)) {
    call.judgeWords(call.args.slice(call.args.findIndex((field) => field === first)), call.name);
    return true;
  }
  return false;
}

function interpreter(call: Call): boolean {
  const hasCode = call.given.flags.some(
    ({ name, value }) => value !== null && (call.program.values.get(name) === "code" || name === "-m" || name === "--test"),
  );
  if (runsModule(call)) return true;
  const [file, ...rest] = call.operands;
  if (hasCode || call.base?.finding.verdict === "allow") {
    for (const operand of call.operands) call.apply(operand, "maybe");
    return true;
  }
  if (file === undefined || isStandardInput(file) || valueOf(file) === "-") {
    readsScript(call, file);
    return true;
  }
  const isTask =
    /(?:^|\/)(?:manage\.py|artisan)$/.test(valueOf(file) ?? "") &&
    /^(?:test|check|showmigrations|route:list)$/.test(valueOf(rest[0]) ?? "");
  if (isTask) {
    call.findings.push(...judgePath(file, "read", pathContext(call.scope)));
    // The rule asks for any script; the project's own test runner is what it is made for.
    call.findings.splice(0, call.findings.length, ...call.findings.filter((finding) => finding !== call.base?.finding));
    call.findings.push({
      ...(call.base?.finding ?? holds("interpreter", "")),
      id: "interpreter.project-test",
      verdict: "allow",
      tier: "T2",
      risk: "low",
      message: "Runs the project's tests or checks.",
      instead: [],
    });
  } else runsFile(file, call);
  for (const field of rest) call.apply(field, "maybe");
  return true;
}

const mountFlags = new Set(["-v", "--volume", "--mount"]);

function container(call: Call): boolean {
  for (const { name, value } of call.given.flags) {
    const text = value === null ? "" : value.kind === "static" ? value.value : startOf(value);
    if (mountFlags.has(name)) {
      const source = name === "--mount" ? (/(?:^|,)(?:source|src)=([^,]*)/.exec(text)?.[1] ?? "") : (text.split(":")[0] ?? "");
      if (/docker\.sock|podman\.sock|containerd\.sock/.test(text))
        call.findings.push(escapes("hands the container the engine that runs every other one"));
      else if (value?.kind === "dynamic" && source === text)
        call.findings.push(
          holds("container-mount", "What this mounts is known only when it runs.", ["Name the folder itself."], ["container"]),
        );
      else if (/^[/~.]/.test(source)) {
        const context = pathContext(call.scope);
        if (isGuarded(source, context) && !isWorkspaceFolder(source, call.scope))
          call.findings.push(escapes(`gives the container ${source} of this machine`));
        else
          call.findings.push(
            ...judgePath(literal(source), "read", context),
            ...judgePath(literal(source), "create", context).filter(({ tier }) => tier === "T3"),
          );
      }
    } else if (
      /^--(?:privileged|cap-add|security-opt|device|device-cgroup-rule)$/.test(name) &&
      !/^(?:no-new-privileges|false)/.test(text)
    ) {
      call.findings.push(escapes("gives the container rights over this machine"));
    } else if (/^--(?:pid|ipc|uts|userns|cgroupns|network|net)$/.test(name) && text === "host") {
      call.findings.push(
        /net/.test(name)
          ? holds(
              "container-host-network",
              "The container would use this machine's network.",
              ["Leave the network flag out."],
              ["container", "network"],
            )
          : escapes("opens this machine's processes to the container"),
      );
    }
  }
  return false;
}

function isWorkspaceFolder(path: string, scope: Scope): boolean {
  const resolved = scope.run.engine.paths.resolve(path);
  return resolved.ok && resolved.inside;
}

function escapes(what: string): Finding {
  return denies(
    "container-escape",
    `This ${what}, and so lets it out.`,
    ["Run the container without that flag, with the workspace alone mounted."],
    ["container", "privilege"],
  );
}

/** `curl`, `wget` and their like: what is sent, where it is written. */
function transfer(call: Call): boolean {
  call.outer.run.fetches = true;
  const context = pathContext(call.scope);
  for (const { value } of call.given.flags) {
    if (value === null) continue;
    const text = startOf(value);
    const file = /^@(.*)$|=[@<](.*)$/s.exec(text);
    if (file !== null) {
      call.findings.push(
        holds("uploads", "This sends a file of this machine to a server.", ["Ask the owner to send it."], ["network", "upload"]),
      );
      call.findings.push(...judgePath(literal((file[1] ?? file[2] ?? "").split(";")[0] ?? ""), "read", context));
    }
  }
  const targets = call.operands;
  if (targets.some((target) => target.kind !== "static")) {
    call.findings.push(
      holds(
        "sends-computed",
        "The address holds something known only when it runs, which may send data out.",
        ["Write the address itself."],
        ["network", "upload"],
      ),
    );
  }
  for (const target of targets) {
    if (/^file:/i.test(startOf(target)))
      call.findings.push(...judgePath(literal(startOf(target).replace(/^file:(?:\/\/)?(?:localhost)?/i, "")), "read", context));
  }
  const isLocal =
    targets.length > 0 &&
    targets.every((target) => /^(?:https?:\/\/)?(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:[/?#]|$)/i.test(valueOf(target) ?? ""));
  call.findings.push(
    isLocal
      ? asks("network-local", "This talks to a server on this machine.", [], ["network"])
      : holds(
          "network",
          "This reaches a server outside this machine.",
          ["Fetch pages with fetch_url, which keeps to the owner's list of hosts."],
          ["network", "download"],
        ),
  );
  return true;
}

/** `nc` and its like: what is piped in goes out, what comes back may be run. */
function channel(call: Call): boolean {
  call.outer.run.fetches = true;
  return false;
}

/** `scp`, `rsync`: operands with a colon are of another machine. */
function remoteCopy(call: Call): boolean {
  const context = pathContext(call.scope);
  const isRemote = (field: Field) => /^[^/]*:/.test(startOf(field));
  for (const [index, operand] of call.operands.entries()) {
    if (isRemote(operand)) continue;
    const isTarget = index === call.operands.length - 1 && index > 0;
    call.findings.push(...judgePath(operand, isTarget ? "write" : "search", context));
  }
  if (given(call, "--delete*", "--delete", "--remove-source-files")) {
    for (const operand of call.operands.filter((field) => !isRemote(field)))
      call.findings.push(...judgePath(operand, "delete-tree", context));
  }
  return true;
}

/** A name to look up is itself a message to whoever answers for it. */
function namesLookup(call: Call): boolean {
  if (call.operands.some((operand) => operand.kind !== "static")) {
    call.findings.push(
      denies(
        "exfiltrates",
        "A name with something in it that is known only when it runs sends that out with the question.",
        ["Write the name itself."],
        ["network", "upload"],
      ),
    );
  }
  return true;
}
