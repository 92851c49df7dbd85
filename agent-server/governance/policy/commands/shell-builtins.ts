import { addCodeFile } from "./command-code.ts";
import { judgePath } from "./command-paths.ts";
import * as nodePath from "node:path";
import { hasAnyFlag, type ProgramCall } from "./program-call.ts";
import { judgeInlineCode } from "./inline-code.ts";
import { type Field, joined, literal, startOf, valueOf } from "./shell-fields.ts";
import { judgeSetting } from "./env-program.ts";
import { asks, fetchedScript, alwaysAsks } from "./command-findings.ts";
import { pathContext } from "./command-scope.ts";
import { changesExecution, isHarmlessVariable, isSensitiveVariable } from "./shell-variables.ts";

export function changeFolder(call: ProgramCall): boolean {
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
    // A shell resolves `..` by the logical path, the system by the physical one; both are kept when they differ.
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
      // The folder may be created first, or cd may fail and the next command run in the old folder.
      if (place.type !== "directory") next.push(...(state.cwds ?? []));
    }
  }
  const different = [...new Set(next)];
  state.cwds = different.length > 4 ? null : different;
  return true;
}

export function shell(call: ProgramCall): boolean {
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
        alwaysAsks("startup-file", "A startup file changes what the shell does.", ["Omit the startup file."], ["settings", "execute"]),
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
    if (operand === undefined) findings.push(alwaysAsks("computed-script", "Starts a shell without a command."));
    else call.judgeShell(operand, `${call.name} -c`);
    return true;
  }
  if (hasAnyFlag(call, "--version", "--help")) return true;
  if (operand === undefined || hasAnyFlag(call, "-s") || isStandardInput(operand)) {
    readsScript(call, operand);
    return true;
  }
  if (hasAnyFlag(call, "-n") && !hasAnyFlag(call, "-i")) {
    findings.push(...judgePath(operand, "read", pathContext(scope)));
    return true;
  }
  runsFile(operand, call);
  for (const field of args.slice(index + 1)) call.apply(field, "maybe");
  return true;
}

export function isStandardInput(field: Field): boolean {
  return /^\/dev\/(?:stdin|fd\/\d+)$/.test(valueOf(field) ?? "");
}

/** A shell or interpreter that reads its code from a pipe or a redirect. */
export function readsScript(call: ProgramCall, operand: Field | undefined): void {
  const { input, run } = call.scope;
  if (input.kind === "text" && (operand === undefined || /^\/dev\/stdin$/.test(valueOf(operand) ?? ""))) {
    if (call.program.special === "shell") call.judgeShell(literal(input.text), `${call.name} <`, { kind: "unknown" });
    else judgeInlineCode(literal(input.text), call);
    return;
  }
  if (run.fetches && (input.kind !== "none" || operand !== undefined)) call.findings.push(fetchedScript);
  else {
    call.findings.push(
      alwaysAsks(
        "script-from-input",
        `Runs code that ${call.name} reads from its input, known only at run time.`,
        ["Write the commands directly."],
        ["execute"],
      ),
    );
  }
}

/** True for a file that may be outside the workspace. */
export function isOutside(file: Field, call: ProgramCall): boolean {
  const context = pathContext(call.scope);
  const path = valueOf(file);
  if (path === null) return true;
  const places = path.startsWith("/") ? [path] : context.cwds?.map((cwd) => `${cwd}/${path}`);
  return (
    places?.every((place) => {
      const resolved = context.resolve(place);
      return resolved.ok && resolved.inside;
    }) !== true
  );
}

/** Judges a script file: its content is reviewed inside the workspace, unknown elsewhere. */
export function runsFile(file: Field, call: ProgramCall): void {
  addCodeFile(file, call.scope);
  call.findings.push(...judgePath(file, "read", pathContext(call.scope)));
  call.findings.push(
    isOutside(file, call)
      ? alwaysAsks(
          "run-script",
          `Runs the script ${file.text} from outside the workspace.`,
          ["Use a script of the workspace."],
          ["execute", "outside"],
        )
      : asks(
          "run-script",
          `Runs unreviewed code: ${file.text}.`,
          ["Run the project's tests or build with their usual command."],
          ["execute"],
        ),
  );
}

/** `source x.sh`: the table's rule asks for it every time. */
export function sourceFile(call: ProgramCall): boolean {
  addCodeFile(call.operands[0], call.scope);
  return false;
}

export function evaluate(call: ProgramCall): boolean {
  const text = joined(valueOf(call.args[0]) === "--" ? call.args.slice(1) : call.args);
  const value = valueOf(text);
  if (value === null) call.judgeShell(text, "eval");
  else if (value !== "") {
    const scope = { ...call.outer, within: [...call.outer.within, "eval"], depth: call.outer.depth + 1 };
    call.later(() => scope.run.judgeText(value, scope));
  }
  return true;
}

/** `let 'x = y + 1'`: each argument is an arithmetic expression. */
export function sums(call: ProgramCall): boolean {
  const scope = { ...call.outer, within: [...call.outer.within, "let"], depth: call.outer.depth + 1 };
  for (const operand of call.operands) {
    const value = valueOf(operand);
    // An unknown word matches only the rule that asks.
    if (value !== null) call.later(() => scope.run.judgeText(`((${value}))`, scope));
  }
  return true;
}

/** `command`, `builtin`, `exec`: a command follows the flags. */
export function commandBuiltin(call: ProgramCall): boolean {
  const flags = call.parsed.flags.map(({ name }) => name);
  if (call.name === "command" && flags.some((name) => name === "-v" || name === "-V")) return true;
  if (call.operands.length > 0) call.judgeWords(call.operands, call.name);
  else if (call.name === "exec")
    call.findings.push(
      asks("changes-shell.input", "Redirects the input and output of later commands.", ["Redirect only this command."], ["settings"]),
    );
  return true;
}

export function declare(call: ProgramCall): boolean {
  const { findings, parsed: flags, operands, outer } = call;
  const isExport = call.name === "export" || flags.flags.some(({ name }) => name === "-x");
  for (const field of operands) {
    const start = startOf(field);
    if (field.kind !== "static" && !start.includes("=")) {
      findings.push(
        alwaysAsks("changes-execution", "Sets a variable whose name is known only at run time.", ["Write the full name."], ["settings"]),
      );
      continue;
    }
    if (/\[/.test(start.split("=")[0] ?? ""))
      findings.push(alwaysAsks("arithmetic-runs", "This subscript can run a command.", [], ["execute"]));
    if (start.includes("=")) judgeSetting(field, findings, isExport);
    else if (isSensitiveVariable(start)) findings.push(changesExecution(start));
    else if (isExport && !isHarmlessVariable(start))
      findings.push(asks("environment", `Exports the variable ${start} to all later programs.`, [], ["settings"]));
    const name = start.replace(/\+?=.*/s, "");
    if (field.kind === "static" && start.includes("=") && field.quoted === true) outer.state.variables.set(name, null);
  }
  // `-n` makes a reference, `-i` evaluates values as arithmetic, `-f` refers to functions.
  if (flags.flags.some(({ name }) => name === "-n" || name === "-i")) {
    findings.push(alwaysAsks("changes-execution", "A reference or integer variable can run commands in its value.", [], ["settings"]));
  }
  return true;
}

/** Builtins that set the variables they name: `read`, `mapfile`, `unset`, `printf -v`, `getopts`. */
export function variableNames(call: ProgramCall): boolean {
  const names =
    call.name === "printf" ? call.parsed.flags.filter(({ name }) => name === "-v").map(({ value }) => value) : [...call.operands];
  const format = call.name === "printf" ? call.operands[0] : undefined;
  if (
    format !== undefined &&
    (format.kind !== "static" || /%[^%a-mo-zA-Z]*[hjlLtz]*n|%\(/.test(format.value.replaceAll(/%\([^)]*\)T/g, "")))
  ) {
    call.findings.push(
      alwaysAsks(
        "changes-execution",
        "The format sets a variable or is known only at run time.",
        ["Write the full format, without %n."],
        ["settings"],
      ),
    );
  }
  if (call.name === "getopts") names.shift();
  for (const field of names) {
    const name = field === null ? null : valueOf(field);
    if (name === null || !/^\w+$/.test(name)) {
      call.findings.push(
        alwaysAsks(
          "changes-execution",
          "Sets a variable whose name is known only at run time or can run a subscript.",
          ["Write the full name."],
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

/** `trap 'commands' EXIT`: judges the commands, although it always asks. */
export function shellSettings(call: ProgramCall): boolean {
  const [first] = call.operands;
  if (call.name === "trap" && first !== undefined && !startOf(first).startsWith("-")) call.judgeShell(first, "trap");
  return call.name === "trap";
}

/** `test`, `[`: `-v` and `-R` evaluate a subscript. */
export function condition(call: ProgramCall): boolean {
  for (const [index, field] of call.args.entries()) {
    const value = valueOf(field);
    if ((value === "-v" || value === "-R") && valueOf(call.args[index + 1])?.includes("[") !== false) {
      call.findings.push(alwaysAsks("arithmetic-runs", "Testing an element can run a command in its subscript.", [], ["execute"]));
    }
  }
  return true;
}
