import { readFileSync } from "node:fs";
import * as nodePath from "node:path";
import { addCodeFile, addSource } from "./command-code.ts";
import { asks, alwaysAsks } from "./command-findings.ts";
import { valueOf } from "./shell-fields.ts";
import { nestedScope, type Run } from "./command-scope.ts";
import { isFarIn, isSerious, labelOf, nearestFolder } from "./package-scripts.ts";
import type { ProgramCall } from "./program-call.ts";

const maxBytes = 256 * 1024;

interface Target {
  readonly needs: readonly string[];
  readonly recipe: readonly string[];
}

const targetFiles: Readonly<Record<string, readonly string[]>> = {
  make: ["GNUmakefile", "makefile", "Makefile"],
  gmake: ["GNUmakefile", "makefile", "Makefile"],
  just: ["justfile", "Justfile", ".justfile"],
  task: ["Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml"],
  rake: ["rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"],
  invoke: ["tasks.py"],
  inv: ["tasks.py"],
};

const namesFile = /^(?:-f|--file|--makefile|--justfile|--taskfile|--rakefile)$/;

/** The files whose targets a call runs. A missing file counts too, because it would be read instead of the next one. */
export function addTargetFiles(call: ProgramCall): void {
  const { run, state } = call.scope;
  const given = call.parsed.flags.filter(({ name }) => namesFile.test(name));
  for (const { value } of given) addCodeFile(value ?? undefined, call.scope);
  if (given.length > 0) return;
  const names = Object.hasOwn(targetFiles, call.name) ? targetFiles[call.name] : undefined;
  if (names === undefined || state.cwds === null) {
    run.code.isUnknown = true;
    return;
  }
  for (const cwd of state.cwds) {
    const folder = run.engine.paths.resolve(cwd);
    if (!folder.ok || !folder.inside) {
      run.code.isUnknown = true;
      continue;
    }
    const here = call.name.endsWith("make") ? folder.absolute : nearestFolder(folder.absolute, names, run);
    for (const name of names) addSource(run.code, { kind: "file", absolute: nodePath.join(here, name) });
  }
}

/**
 * Judges the recipes of the targets and their prerequisites. As with package scripts, only denials and effects outside the
 * workspace count. Text that make computes itself (`$(shell …)`, includes, patterns) is not followed.
 */
export function judgeMakeTargets(call: ProgramCall): void {
  const targets = call.operands.map(valueOf).filter((name): name is string => name !== null && !name.includes("="));
  for (const cwd of call.scope.state.cwds ?? []) {
    const folder = call.scope.run.engine.paths.resolve(cwd);
    if (!folder.ok || !folder.inside) continue;
    const text = readMakefile(folder.absolute);
    if (text === null) continue;
    if (text === "too large") {
      call.findings.push(asks("make.large", "The Makefile is too large to check."));
      continue;
    }
    judgeMakefile(text, targets, call);
  }
}

function readMakefile(folder: string): string | null {
  for (const name of ["GNUmakefile", "makefile", "Makefile"]) {
    try {
      const text = readFileSync(nodePath.join(folder, name), "utf8");
      return text.length > maxBytes ? "too large" : text;
    } catch {
      // Tries the next name, like make.
    }
  }
  return null;
}

function judgeMakefile(text: string, wanted: readonly string[], call: ProgramCall): void {
  const { variables, targets, first, computed } = parseMakefile(text);
  const queue = wanted.length > 0 ? [...wanted] : first === null ? [] : [first];
  const label = labelOf("recipe ", queue.join(" "), call.scope);
  if (isFarIn(label, "recipe ", call)) return;
  const seen = new Set<string>();
  const lines: string[] = [...computed];
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    if (seen.has(name)) continue;
    seen.add(name);
    for (const target of targetsFor(name, targets)) {
      queue.push(...target.needs);
      lines.push(...target.recipe);
    }
  }
  for (const line of lines) {
    const budget = { left: maxReplacements };
    const whole = expand(line, variables, budget);
    if (budget.left <= 0) call.findings.push(makeDeep);
    for (const [, command] of whole.matchAll(shellCalls)) judgeLine(command ?? "", label, call);
    // Functions that return one of several texts.
    for (const [, choice] of whole.matchAll(choices)) for (const one of (choice ?? "").split(",")) judgeLine(one, label, call);
    judgeLine(whole.replaceAll(functionCalls, "made").replaceAll("$$", "$"), label, call);
  }
}

/** The rules of a target: explicit rules, pattern rules, or make's built-in ones. */
function targetsFor(name: string, targets: ReadonlyMap<string, Target>): Target[] {
  const own = targets.get(name);
  if (own !== undefined && own.recipe.length > 0) return [own];
  const found = own === undefined ? [] : [own];
  for (const [pattern, target] of targets) {
    const [start, end] = pattern.split("%");
    if (start !== undefined && end !== undefined && name.startsWith(start) && name.endsWith(end)) found.push(target);
  }
  const last = targets.get(".DEFAULT");
  return found.length === 0 && last !== undefined ? [last] : found;
}

const shellCalls = /\$[({]shell ([^()]*(?:\([^()]*\)[^()]*)*)[)}]/g;
const choices = /\$\((?:foreach|if|or|and|eval|call) ([^()]*(?:\([^()]*\)[^()]*)*)\)/g;
const functionCalls = /\$\([a-z]+ [^()]*(?:\([^()]*\)[^()]*)*\)/g;

const maxReplacements = 500;

const makeDeep = alwaysAsks(
  "make.deep",
  "The Makefile's variables are nested too deeply to check.",
  ["Run the commands of the target themselves."],
  ["execute"],
);

function judgeLine(line: string, label: string, call: ProgramCall): void {
  const { scope } = call;
  const run: Run = { ...scope.run, found: [], fetches: false };
  const state = { cwds: scope.state.cwds, variables: new Map() };
  run.judgeText(line, nestedScope({ ...scope, run }, label, { state, functions: new Map(), input: { kind: "none" } }));
  scope.run.count = Math.max(scope.run.count, run.count);
  for (const { part, findings } of run.found) {
    for (const finding of findings.filter(isSerious)) {
      call.findings.push({ ...finding, message: `The Makefile runs ${part.text.slice(0, 200)}. ${finding.message}` });
    }
  }
}

function callsIn(text: string): string[] {
  return [...text.matchAll(shellCalls)].map(([, command]) => command ?? "");
}

interface Makefile {
  readonly variables: ReadonlyMap<string, string>;
  readonly targets: ReadonlyMap<string, Target>;
  readonly first: string | null;
  /** Commands that make runs while it reads the file. */
  readonly computed: readonly string[];
}

function parseMakefile(text: string): Makefile {
  const variables = new Map<string, string>();
  const targets = new Map<string, { needs: string[]; recipe: string[] }>();
  const computed: string[] = [];
  let first: string | null = null;
  let current: { needs: string[]; recipe: string[] }[] = [];
  for (const line of text.replaceAll("\\\n", " ").split("\n")) {
    if (line.startsWith("\t")) {
      const recipe = line.slice(1).replace(/^[@+-]+/, "");
      for (const target of current) target.recipe.push(recipe);
      continue;
    }
    const setting = /^\s*(?:export\s+|override\s+)*([\w.-]+)\s*([:+?]|::)?=(.*)$/s.exec(line);
    if (setting?.[1] !== undefined) {
      variables.set(setting[1], (setting[3] ?? "").trimStart());
      // `:=` is expanded when make reads the file, the others on use.
      if (setting[2]?.startsWith(":") === true) computed.push(...callsIn(setting[3] ?? ""));
      continue;
    }
    const made = /^\s*([\w.-]+)\s*!=(.*)$/s.exec(line);
    if (made !== null) computed.push((made[2] ?? "").trimStart());
    computed.push(...callsIn(line));
    const rule = /^([^\s#:=][^:=#]*):(?!=):?\s*([^;#]*)(?:;(.*))?/.exec(line);
    if (rule === null) continue;
    const put = (written: string | undefined) =>
      expand(written ?? "", variables, { left: maxReplacements })
        .split(/\s+/)
        .filter((word) => word !== "");
    const names = put(rule[1]);
    current = names.map((name) => {
      const target = targets.get(name) ?? { needs: [], recipe: [] };
      target.needs.push(...put(rule[2]));
      if (rule[3] !== undefined) target.recipe.push(rule[3].trim());
      targets.set(name, target);
      return target;
    });
    if (first === null && names[0]?.startsWith(".") === false) first = names[0] ?? null;
  }
  return { variables, targets, first: variables.get(".DEFAULT_GOAL")?.trim() ?? first, computed };
}

/** Expands make's variables within the budget; computed text becomes a plain word. */
function expand(line: string, variables: ReadonlyMap<string, string>, budget: { left: number }): string {
  return line
    .replaceAll(/\$[({]([\w.-]+)[)}]/g, (_whole, name: string) => {
      const value = name === "MAKE" ? "make" : variables.get(name);
      if (value === undefined) return "unset";
      budget.left -= 1;
      return budget.left > 0 ? expand(value, variables, budget) : "unset";
    })
    .replaceAll(/\$[@<^+*?%|]/g, "target");
}
