import { readFileSync } from "node:fs";
import * as nodePath from "node:path";
import { asks } from "./command-findings.ts";
import { valueOf } from "./command-fields.ts";
import { inside, type Run } from "./command-scope.ts";
import { isSerious } from "./command-scripts.ts";
import type { Call } from "./command-call.ts";

const maxBytes = 256 * 1024;

interface Target {
  readonly needs: readonly string[];
  readonly recipe: readonly string[];
}

/**
 * What the recipes of the targets, and of those they need, would run. As with package scripts, only what is denied or reaches
 * out of the workspace counts. What make computes itself (`$(shell …)`, includes, patterns) is not followed.
 */
export function judgeMakeTargets(call: Call): void {
  const targets = call.operands.map(valueOf).filter((name): name is string => name !== null && !name.includes("="));
  for (const cwd of call.scope.state.cwds ?? []) {
    const folder = call.scope.run.engine.paths.resolve(cwd);
    if (!folder.ok || !folder.inside) continue;
    const text = readMakefile(folder.absolute);
    if (text === null) continue;
    if (text === "too large") {
      call.findings.push(asks("make.large", "The Makefile is too large to look at what it runs."));
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
      // The next name is tried, as make does.
    }
  }
  return null;
}

function judgeMakefile(text: string, wanted: readonly string[], call: Call): void {
  const { variables, targets, first, computed } = parseMakefile(text);
  const queue = wanted.length > 0 ? [...wanted] : first === null ? [] : [first];
  const seen = new Set<string>();
  const lines: string[] = [...computed];
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    if (seen.has(name)) continue;
    seen.add(name);
    const target = targets.get(name);
    if (target === undefined) continue;
    queue.push(...target.needs);
    lines.push(...target.recipe);
  }
  for (const line of lines) {
    const whole = expand(line, variables, 0);
    for (const [, command] of whole.matchAll(shellCalls)) judgeLine(command ?? "", call);
    judgeLine(whole.replaceAll(functionCalls, "made").replaceAll("$$", "$"), call);
  }
}

const shellCalls = /\$[({]shell ([^()]*(?:\([^()]*\)[^()]*)*)[)}]/g;
const functionCalls = /\$\([a-z]+ [^()]*(?:\([^()]*\)[^()]*)*\)/g;

function judgeLine(line: string, call: Call): void {
  const { scope } = call;
  if (scope.within.filter((one) => one === "recipe").length >= 4) return;
  const run: Run = { ...scope.run, found: [], fetches: false };
  const state = { cwds: scope.state.cwds, variables: new Map() };
  run.judgeText(line, inside({ ...scope, run }, "recipe", { state, functions: new Map(), input: { kind: "none" } }));
  scope.run.count = Math.max(scope.run.count, run.count);
  for (const { part, findings } of run.found) {
    for (const finding of findings.filter(isSerious)) {
      call.findings.push({ ...finding, message: `The Makefile runs this: ${part.text.slice(0, 200)}. ${finding.message}` });
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
  /** What make runs while it reads the file. */
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
    const setting = /^\s*(?:export\s+|override\s+)*([\w.-]+)\s*([:+?]|::)?=\s*(.*)$/.exec(line);
    if (setting?.[1] !== undefined) {
      variables.set(setting[1], setting[3] ?? "");
      // `:=` is worked out while make reads the file, `=` where it is used.
      if (setting[2]?.startsWith(":") === true) computed.push(...callsIn(setting[3] ?? ""));
      continue;
    }
    const made = /^\s*([\w.-]+)\s*!=\s*(.*)$/.exec(line);
    if (made !== null) computed.push(made[2] ?? "");
    const rule = /^([^\s#:=][^:=#]*):(?!=):?\s*([^;#]*)(?:;(.*))?/.exec(line);
    if (rule === null) {
      computed.push(...callsIn(line));
      continue;
    }
    const names = (rule[1] ?? "").trim().split(/\s+/);
    current = names.map((name) => {
      const target = targets.get(name) ?? { needs: [], recipe: [] };
      target.needs.push(...(rule[2] ?? "").split(/\s+/).filter((need) => need !== "" && need !== "|"));
      if (rule[3] !== undefined) target.recipe.push(rule[3].trim());
      targets.set(name, target);
      return target;
    });
    if (first === null && names[0]?.startsWith(".") === false) first = names[0] ?? null;
  }
  return { variables, targets, first, computed };
}

/** Make's own variables put in; what it would compute becomes a plain word. */
function expand(line: string, variables: ReadonlyMap<string, string>, depth: number): string {
  return line
    .replaceAll(/\$[({]([\w.-]+)[)}]/g, (_whole, name: string) => {
      const value = name === "MAKE" ? "make" : variables.get(name);
      return value === undefined || depth > 5 ? "unset" : expand(value, variables, depth + 1);
    })
    .replaceAll(/\$[@<^+*?%|]/g, "target");
}
