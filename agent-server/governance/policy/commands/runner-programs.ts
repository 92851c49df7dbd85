import { addCodeFile, addNamedFiles } from "./command-code.ts";
import { judgePath } from "./command-paths.ts";
import { hasAnyFlag, type ProgramCall } from "./program-call.ts";
import { type Field, literal, startOf, valueOf } from "./shell-fields.ts";
import { allows, asks, type Finding, alwaysAsks } from "./command-findings.ts";
import { addTargetFiles, judgeMakeTargets } from "./make-targets.ts";
import { pathContext } from "./command-scope.ts";
import { addManifest, judgePackageScript, judgeWorkspaceScripts } from "./package-scripts.ts";
import { isOutside, isStandardInput, readsScript, runsFile } from "./shell-builtins.ts";

/** `python -m module …` and `python -c code …`: the rest belongs to the module. */
export function moduleLast(args: readonly Field[], name: string): readonly Field[] {
  if (!/^(?:python|pypy)/.test(name)) return args;
  const at = args.findIndex((field) => /^-[mc]$/.test(valueOf(field) ?? ""));
  const before = args.slice(0, Math.max(at, 0));
  if (at < 0 || before.some((field) => !startOf(field).startsWith("-"))) return args;
  return [...args.slice(0, at + 2), literal("--"), ...args.slice(at + 2)];
}

const harmlessModules = /^(?:unittest|compileall|py_compile|json\.tool|tabnanny|platform|sysconfig|calendar|this|dis|ast|tokenize)$/;

function runsUnknownModule(module: Field): Finding {
  return alwaysAsks(
    "run-module",
    `Runs unreviewed code: module ${module.text}.`,
    ["Run the project's tests or build with their usual command."],
    ["execute"],
  );
}

function runsModule(call: ProgramCall): boolean {
  const module = call.parsed.flags.find(({ name }) => name === "-m")?.value ?? null;
  if (module === null) return false;
  if (!/^(?:python|pypy)/.test(call.name)) {
    // Otherwise it loads code in addition to the program, like `perl -mstrict x.pl`.
    call.findings.push(runsUnknownModule(module));
    return false;
  }
  const name = valueOf(module);
  const program = name === null ? undefined : call.scope.run.engine.table.programs.get(name);
  if (program?.tool === true || program?.special === "project-runner") call.judgeWords([module, ...call.operands], "python -m");
  else {
    if (name === null || !harmlessModules.test(name) || (name === "json.tool" && call.operands.length > 1)) {
      call.findings.push(runsUnknownModule(module));
    }
    for (const operand of call.operands) call.apply(operand, "maybe");
  }
  return true;
}

/** `npm test`, `npm run build`, `pnpm exec tsc`: also judges the package.json script. */
export function packageScripts(call: ProgramCall): boolean {
  if (call.name === "bun" && hasAnyFlag(call, "-r", "--preload")) {
    call.findings.push(alwaysAsks("packages.preload", "Loads other code first.", ["Omit the option."], ["execute"]));
  }
  if (call.base?.finding.id === "packages.exec") {
    const at = call.args.findIndex((field) => valueOf(field) === "exec");
    const words = call.args.slice(at + 1);
    if (valueOf(words[0]) === "--") words.shift();
    runsTool(words, call);
    return true;
  }
  if (call.base === null || !/^packages\.(?:test|build|script)$/.test(call.base.finding.id)) {
    // Installing, packing and publishing run scripts of the project too.
    addManifest(call);
    return false;
  }
  const [first, second] = call.parsed.operands.map(valueOf);
  const name = first === "run" || first === "run-script" ? second : first === "t" || first === "tst" ? "test" : first;
  if (name === undefined || name === null) {
    addManifest(call);
    return false;
  }
  // The script may be a program that runs a file of its arguments.
  addNamedFiles(call.args, call.scope);
  const isYarn = first === "workspace" || first === "workspaces";
  const filters = call.parsed.flags.filter((flag) => /^(?:-w|-ws|--workspaces?|--filter|-F|-r|--recursive)$/.test(flag.name));
  if (isYarn)
    judgeWorkspaceScripts(
      valueOf(call.parsed.operands[first === "workspace" ? 2 : 3]) ?? "",
      first === "workspace" ? (second ?? null) : null,
      call,
    );
  else if (filters.length > 0) judgeWorkspaceScripts(name, filters.length > 1 ? null : valueOf(filters[0]?.value ?? undefined), call);
  judgePackageScript(name, call);
  return false;
}

function runsTool(words: readonly Field[], call: ProgramCall): void {
  const [tool] = words;
  const name = valueOf(tool);
  const program = name === null ? undefined : call.scope.run.engine.table.programs.get(name);
  if (program?.tool !== true) {
    call.findings.push(
      alwaysAsks(
        "package-runner.unknown",
        `May download and run the package ${tool?.text ?? ""}.`,
        ["Use a tool that the project has installed."],
        ["network", "download", "execute"],
      ),
    );
  }
  if (program !== undefined) call.judgeWords(words, call.name);
}

/** `npx tool …`: a tool of the project. */
export function packageRunner(call: ProgramCall): boolean {
  const [tool] = call.operands;
  const name = valueOf(tool);
  if (tool === undefined) return true;
  if (call.base?.finding.verdict === "allow") runsTool(call.operands, call);
  else if (name !== null && call.scope.run.engine.table.programs.has(name)) call.judgeWords(call.operands, call.name);
  return true;
}

const runners = /^(?:poetry|pdm|uv|pipenv|hatch|rye|bundle|bundler|pyenv|rbenv)$/;

/** `poetry run pytest`, `bundle exec rspec`: the rest is a program of the project. */
export function projectRunner(call: ProgramCall): boolean {
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
      alwaysAsks(
        "unknown-use",
        `Unknown use of ${call.name}.`,
        ["Run the project's tests or build with their usual command."],
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
export function goals(call: ProgramCall): boolean {
  for (const { name, value } of call.parsed.flags) {
    const isSetting =
      name === "-D" ||
      (name === "-P" && call.name.startsWith("gradle")) ||
      (/^(?:-p$|--property(?::|$))/.test(name) && call.name === "dotnet");
    if (isSetting && !harmlessSettings.test(valueOf(value ?? undefined) ?? "")) {
      call.findings.push(
        alwaysAsks(
          "goals.setting",
          "This setting can make the build start another program or write elsewhere.",
          ["Omit the setting."],
          ["execute"],
        ),
      );
    }
  }
  return false;
}

/** Judges the recipes of the Makefile too. */
export function makeTargets(call: ProgramCall): boolean {
  addTargetFiles(call);
  if ((call.name === "make" || call.name === "gmake") && call.base?.finding.verdict !== "deny") judgeMakeTargets(call);
  return false;
}

export function testRunner(call: ProgramCall): boolean {
  const [first] = call.operands;
  const sub = valueOf(first);
  const isModule = call.parsed.flags.some(
    ({ name, value }) => name === "-m" && /^(?:pytest|unittest|nose2)$/.test(valueOf(value ?? undefined) ?? ""),
  );
  if (call.name === "coverage" && sub === "run" && !isModule) {
    const file = call.operands[1];
    call.findings.push(asks("run-script", `Runs unreviewed code: ${file?.text ?? "a module"}.`, ["Run the tests with it."], ["execute"]));
  }
  if (call.name === "tox" && hasAnyFlag(call, "-x", "--override")) {
    call.findings.push(alwaysAsks("test.sets", "Gives tox other commands to run.", ["Use an environment of the project."], ["execute"]));
  }
  if ((call.name === "nyc" || call.name === "c8") && sub !== null && !/^(?:report|check-coverage|merge)$/.test(sub)) {
    call.judgeWords(call.args.slice(call.args.findIndex((field) => field === first)), call.name);
    return true;
  }
  return false;
}

/** Options whose value is code that is loaded first; `-r` of php and others is the code itself. */
const loads = /^--(?:require|import|loader|experimental-loader|env-file)$/;

/** Code files that the options of an interpreter name. */
function addLoadedCode(call: ProgramCall): void {
  const isNode = /^(?:node|nodejs|tsx|ts-node)$/.test(call.name);
  for (const { name, value } of call.parsed.flags) {
    if (!loads.test(name) && !(isNode && name === "-r")) continue;
    // Only the package manager knows where a bare module name leads.
    if (/^\.{0,2}\//.test(startOf(value ?? literal("")))) addCodeFile(value ?? undefined, call.scope);
    else call.scope.run.code.isUnknown = true;
  }
  if (call.parsed.flags.some(({ name }) => name === "--test")) for (const operand of call.operands) addCodeFile(operand, call.scope);
}

export function interpreter(call: ProgramCall): boolean {
  addLoadedCode(call);
  const hasCode = call.parsed.flags.some(
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
  const rule = call.base?.finding;
  if (rule !== undefined && isProjectTask(file, rest[0], call)) {
    addCodeFile(file, call.scope);
    call.findings.push(...judgePath(file, "read", pathContext(call.scope)));
    // The rule asks for every script, except the project's own test runner.
    const task = allows("interpreter.project-test", "Runs the project's tests or checks.", rule.tags);
    call.findings.splice(call.findings.indexOf(rule), 1, task);
  } else runsFile(file, call);
  for (const field of rest) call.apply(field, "maybe");
  return true;
}

/** `manage.py test`, `artisan test`: not with a flag that loads other code, for which the rule asks every time. */
function isProjectTask(file: Field, task: Field | undefined, call: ProgramCall): boolean {
  const name = call.name === "php" ? /(?:^|\/)artisan$/ : /(?:^|\/)manage\.py$/;
  return (
    call.base?.finding.tier === "T2" &&
    name.test(startOf(file)) &&
    /^(?:test|check|showmigrations|route:list)$/.test(valueOf(task) ?? "") &&
    !isOutside(file, call)
  );
}
