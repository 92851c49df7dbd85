import * as nodePath from "node:path";
import { type ParsedArguments, fits, parseArguments, useOfFlag } from "./command-arguments.ts";
import { bracesOf, type Field, joined, literal, valueOf } from "./shell-fields.ts";
import { allows, asks, fetchedScript, type Finding, alwaysAsks } from "./command-findings.ts";
import { addCodeFile, addNamedFiles } from "./command-code.ts";
import { judgeInlineCode } from "./inline-code.ts";
import { judgePath } from "./command-paths.ts";
import type { Program, Use } from "./command-table.ts";
import { type Input, nestedScope, maxDepth, pathContext, record, type Scope, tooDeep } from "./command-scope.ts";
import type { ProgramCall } from "./program-call.ts";
import { specialPrograms } from "./special-programs.ts";

/** Judges one simple command: a program's name and its arguments. `written` is the name as spelled in the source. */
export function judgeProgram(fields: readonly Field[], text: string, scope: Scope, findings: Finding[], written: string): void {
  if (scope.depth > maxDepth) {
    record(scope, text, [...findings, tooDeep]);
    return;
  }
  const [first, ...args] = fields;
  if (first === undefined || first.kind !== "static" || isComputed(written)) {
    findings.push(
      alwaysAsks("computed-name", "Starts a program whose name is known only at run time.", ["Write the program's name."], ["execute"]),
    );
  }
  const name = valueOf(first);
  if (name === null || name === "") {
    for (const field of args) findings.push(...judgePath(field, "maybe", pathContext(scope)));
    record(scope, text, findings);
    return;
  }
  const own = scope.functions.get(name);
  if (own !== undefined) {
    findings.push(allows("function", "Calls a function of this command line, which is checked separately."));
    for (const field of args)
      findings.push(...judgePath(field, "maybe", pathContext(scope)).filter((finding) => finding.verdict === "deny"));
    record(scope, text, findings);
    own(scope);
    return;
  }
  const known = findProgram(name, scope, findings);
  if (known === null) {
    addNamedFiles(args, scope);
    for (const field of args)
      findings.push(...judgePath(field, "maybe", pathContext(scope)).filter((finding) => finding.verdict === "deny"));
    record(scope, text, findings, name);
    return;
  }
  judgeKnown(known.name, known.program, args, text, scope, findings);
}

/** True when the name results from an expansion or a pattern. */
function isComputed(written: string): boolean {
  const bare = written.replaceAll(/'[^']*'/g, "");
  return written !== "[" && (/[$`*?[]/.test(bare) || /,|\.\./.test(bare.slice(...bracesOf(bare))));
}

const systemFolder = /^(?:\/usr(?:\/local)?)?\/s?bin\/([^/]+)$|^\/opt\/homebrew\/bin\/([^/]+)$/;
const projectFolder =
  /(?:^|\/)(?:node_modules\/\.bin|vendor\/bin|\.?venv\/bin|env\/bin)\/([^/]+)$|^(?:\.\/)?bin\/(?:rails|rake|rspec|bundle|rubocop|phpunit|pest|phpstan)$/;

function findProgram(written: string, scope: Scope, findings: Finding[]): { name: string; program: Program } | null {
  const { programs } = scope.run.engine.table;
  let name = written.replace(/\.(?:exe|cmd)$/i, "");
  if (name.includes("/") || name.includes("\\")) {
    // The path as written: without `.exe` it would be another file.
    if (!systemFolder.test(name)) addCodeFile(literal(written), scope);
    const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
    const system = systemFolder.exec(name);
    const project = projectFolder.exec(name);
    const inWorkspace = isInWorkspace(written, scope);
    const isWrapper = inWorkspace && /^(?:gradlew|mvnw)$/.test(base);
    if (system === null && !(inWorkspace && project !== null) && !isWrapper) {
      if (inWorkspace) {
        findings.push(
          asks(
            "run-script",
            `Runs unreviewed code: ${written}.`,
            ["Run the project's tests or build with their usual command."],
            ["execute"],
          ),
        );
        const program = programs.get(base);
        return program === undefined ? null : { name: base, program };
      }
      findings.push(unknownProgram(written));
      const program = programs.get(base);
      return program === undefined ? null : { name: base, program };
    }
    name = base;
  }
  const program = programs.get(name) ?? programs.get(withoutVersion(name));
  if (program !== undefined) return { name, program };
  findings.push(unknownProgram(written));
  // A case-insensitive disk also starts `RM`.
  const folded = programs.get(name.toLowerCase());
  return folded === undefined ? null : { name: name.toLowerCase(), program: folded };
}

function withoutVersion(name: string): string {
  return name.replace(/-?(?<!\d|\d\.)\d+(?:\.\d+)*$/, "");
}

function isInWorkspace(path: string, scope: Scope): boolean {
  const { cwds } = scope.state;
  const places = path.startsWith("/") || path.startsWith("~") ? [path] : cwds?.map((cwd) => `${cwd}/${path}`);
  return (
    places?.every((place) => {
      const { resolve } = scope.run.engine.paths;
      const resolved = resolve(place);
      if (!resolved.ok || resolved.inside) return resolved.ok;
      // A project tool is often a link: `.venv/bin/python` leads to the system's Python.
      const folder = resolve(nodePath.dirname(place));
      return projectFolder.test(path) && folder.ok && folder.inside;
    }) ?? false
  );
}

function unknownProgram(name: string): Finding {
  return alwaysAsks(
    "unknown-program",
    `Unknown program ${name}.`,
    ["Use a tool for this, or a known program such as git, npm or ls."],
    ["execute"],
  );
}

function judgeKnown(name: string, program: Program, words: readonly Field[], text: string, scope: Scope, findings: Finding[]): void {
  const special = program.special === null ? undefined : specialPrograms[program.special];
  const args = special?.prepare?.(words, name) ?? words;
  const parsed = parseArguments(args, program);
  const base = program.rules.find((rule) => !rule.raises && fits(rule, parsed) >= 0) ?? null;
  const taken = base === null ? Math.min(program.subcommands ? 1 : 0, parsed.operands.length) : fits(base, parsed);
  if (base === null) {
    const what = [name, ...parsed.operands.slice(0, program.subcommands ? 1 : 0).map((field) => field.text)].join(" ");
    findings.push(alwaysAsks("unknown-use", `Unknown use of ${what}.`, ["Use plain flags, or another program."], ["execute"]));
  } else findings.push(base.finding);
  for (const rule of program.rules) if (rule.raises && fits(rule, parsed) >= 0) findings.push(rule.finding);

  const later: (() => void)[] = [];
  const call: ProgramCall = {
    name,
    program,
    args,
    parsed,
    base,
    operands: parsed.operands.slice(taken),
    text,
    scope: moved(parsed, program, scope, findings),
    outer: scope,
    findings,
    later: (work) => later.push(work),
    judgeWords: (fields, label, more) => later.push(() => judgeInner(fields, label, call.scope, more)),
    judgeShell: (field, label, input) => judgeShell(field, label, call, input),
    apply: (field, use) => apply(field, use, call),
  };
  const usesOfOperands = base?.operands ?? program.operands;
  if (parsed.unclear !== null && !usesOfOperands.every((use) => use === "text")) {
    findings.push(
      program.subcommands && parsed.operands[0] === parsed.unclear
        ? alwaysAsks("computed-name", "The subcommand is known only at run time.", ["Write the subcommand."], ["execute"])
        : asks("unknown-argument", `An argument of ${name} is known only at run time, and may be a flag.`, ["Write the full argument."]),
    );
  }
  for (const flag of parsed.flags) {
    if (flag.value === null) continue;
    const use = useOfFlag(program, valueOf(parsed.operands[0]), flag.name) ?? "maybe";
    apply(flag.value, use, call);
    if (program.shared && flag.apart === true && use === "text" && flag.value.kind !== "dynamic") apply(flag.value, "maybe", call);
  }
  if (base?.finding.verdict === "allow" && !usesOfOperands.every((one) => one === "text")) findings.push(...judgeFolder(call.scope));
  const isDone = special?.judge?.(call) ?? false;
  if (!isDone) {
    if (program.runs !== null) runOperands(program.runs, call);
    else {
      for (const [index, operand] of call.operands.entries()) {
        apply(operand, usesOfOperands[Math.min(index, usesOfOperands.length - 1)] ?? "maybe", call);
      }
    }
  }
  if (findings.some(({ verdict, tags }) => verdict === "ask" && tags.includes("execute"))) addNamedFiles(args, call.scope);
  // A package is the object of an installation; a script, target or image is what the program runs.
  const runsCode = findings.some(({ tags }) => tags.includes("execute") && !tags.includes("install"));
  const said = parsed.operands.slice(0, Math.max(taken, program.subcommands ? 1 : 0) + (runsCode ? 1 : 0));
  record(scope, text, findings, [name, ...said.map((field) => valueOf(field) ?? field.text)].join(" "));
  for (const work of later) work();
}

/** Expansion, building and testing outside the workspace, or in an unknown folder, requires approval. */
function judgeFolder(scope: Scope): Finding[] {
  const { cwds } = scope.state;
  if (cwds === null) return [asks("unknown-folder", "Runs in a folder known only at run time.", ["Name the folder."])];
  for (const cwd of cwds) {
    if (cwd === ".") continue;
    const resolved = scope.run.engine.paths.resolve(cwd);
    if (!resolved.ok) return [asks("outside-folder", resolved.message)];
    if (!resolved.inside)
      return [asks("outside-folder", "Runs in a folder outside the workspace.", ["Work inside the workspace."], ["outside"])];
  }
  return [];
}

/** The scope of a program that works in another folder (`git -C`, `make -C`). */
function moved(parsed: ParsedArguments, program: Program, scope: Scope, findings: Finding[]): Scope {
  const folders = parsed.flags.filter(
    ({ name, value }) => value !== null && useOfFlag(program, valueOf(parsed.operands[0]), name) === "cwd",
  );
  if (folders.length === 0) return scope;
  let { cwds } = scope.state;
  for (const { value } of folders) {
    const path = valueOf(value ?? undefined);
    if (path === null) {
      findings.push(asks("unknown-folder", "Works in a folder known only at run time.", ["Name the folder."]));
      cwds = null;
    } else {
      findings.push(...judgePath(literal(path), "list", { ...pathContext(scope), cwds }));
      cwds = path.startsWith("/") || path.startsWith("~") ? [path] : (cwds?.map((cwd) => `${cwd}/${path}`) ?? null);
    }
  }
  return { ...scope, state: { cwds, variables: scope.state.variables } };
}

function runOperands(runs: NonNullable<Program["runs"]>, call: ProgramCall): void {
  const words = call.operands.slice(runs.after);
  for (const operand of call.operands.slice(0, runs.after)) apply(operand, "text", call);
  if (words.length === 0) return;
  if (runs.as === "words") call.judgeWords(words, call.name);
  else if (words.length === 1 && words[0] !== undefined) judgeShell(words[0], call.name, call);
  else judgeShell(joined(words), call.name, call);
}

function judgeInner(words: readonly Field[], label: string, scope: Scope, more: Partial<Scope> = {}): void {
  const inner = nestedScope(scope, label, more);
  inner.run.count += 1;
  const [first] = words;
  judgeProgram(words, words.map((word) => word.text).join(" "), inner, [], first?.kind === "static" ? "" : (first?.text ?? ""));
}

/** Judges text that another shell runs, with that shell's variables. */
function judgeShell(field: Field, label: string, call: ProgramCall, input: Input = call.scope.input): void {
  const text = valueOf(field);
  if (text === null) {
    call.findings.push(
      call.scope.run.fetches
        ? fetchedScript
        : alwaysAsks("computed-script", "Runs commands known only at run time.", ["Write the commands directly."], ["execute"]),
    );
    return;
  }
  const scope = nestedScope(call.scope, label, {
    state: { cwds: call.scope.state.cwds, variables: new Map() },
    functions: new Map(),
    input,
  });
  call.later(() => scope.run.judgeText(text, scope));
}

function apply(field: Field, use: Use, call: ProgramCall): void {
  if (use === "text" || use === "cwd") return;
  if (use === "shell") judgeShell(field, `${call.name} -c`, call);
  else if (use === "program") judgeShell(field, call.name, call);
  else if (use === "code") judgeInlineCode(field, call);
  else call.findings.push(...judgePath(field, use, pathContext(call.scope)));
}
