import { hash } from "node:crypto";
import type { ParsedScript } from "unbash";
import type { CommandPart } from "../../../contract/governance.ts";
import type { Field } from "./shell-fields.ts";
import { type Finding, alwaysAsks, strictest } from "./command-findings.ts";
import type { CommandTable } from "./command-table.ts";
import type { ResolvedPath } from "../path-policy.ts";
import type { CodeTrace, LooksLeft, PathContext, Variables } from "./types.ts";

/** The shell's state at a point of the command line. Walking the commands changes it. */
export interface ShellState {
  /** Possible working folders; null when they are unknown. */
  cwds: readonly string[] | null;
  variables: Variables;
}

/** What a command can read from its standard input. */
export type Input =
  | { readonly kind: "none" }
  | { readonly kind: "text"; readonly text: string }
  /** File names, as printed by `find`. */
  | { readonly kind: "names"; readonly fields: readonly Field[] }
  | { readonly kind: "unknown" };

/** A function of the command line: judges its body in the scope of the call. */
type FunctionBody = (scope: Scope) => void;

/** The dependencies of a judgment, shared by all commands. */
export interface Engine {
  readonly table: CommandTable;
  readonly home: string;
  readonly paths: Omit<PathContext, "cwds" | "looks">;
}

/** A simple command with its findings. `program` names what it runs: the program, its subcommand, and the code that it is given. */
export interface FoundPart {
  readonly part: CommandPart;
  readonly findings: readonly Finding[];
  readonly program: string;
}

/** A judgment in progress. */
export interface Run {
  readonly engine: Engine;
  /** Judges the text of a script inside a scope. */
  readonly judgeText: (text: string, scope: Scope) => void;
  /** Judges a parsed script inside a scope; undefined when parsing failed. Its positions refer to `source`. */
  readonly judgeScript: (script: ParsedScript | undefined, source: string, scope: Scope) => void;
  found: FoundPart[];
  /** Simple commands judged so far; loops that are walked twice count twice. */
  count: number;
  isOver: boolean;
  readonly looks: LooksLeft;
  readonly code: CodeTrace;
  /** True after a program that downloads from the network. */
  fetches: boolean;
}

/** The position of a command and the state there. */
export interface Scope {
  readonly run: Run;
  readonly within: readonly string[];
  readonly depth: number;
  readonly state: ShellState;
  readonly functions: Map<string, FunctionBody>;
  readonly input: Input;
}

const maxCommands = 4000;
export const maxDepth = 24;

export function nestedScope(scope: Scope, label: string, more: Partial<Scope> = {}): Scope {
  return { ...scope, within: [...scope.within, label], depth: scope.depth + 1, ...more };
}

export function cloneState(state: ShellState): ShellState {
  return { cwds: state.cwds, variables: new Map(state.variables) };
}

/** Limits of one command line: far more than people write. */
const maxEntries = 20_000;
const maxPaths = 5_000;

export function newLooks(): LooksLeft {
  return { entries: maxEntries, paths: maxPaths };
}

/** The engine of one judgment, which resolves each path once. */
export function resolvingOnce(engine: Engine): Engine {
  const known = new Map<string, ResolvedPath>();
  const resolve = (path: string): ResolvedPath => {
    const before = known.get(path);
    if (before !== undefined) return before;
    const resolved = engine.paths.resolve(path);
    known.set(path, resolved);
    return resolved;
  };
  return { ...engine, paths: { ...engine.paths, resolve } };
}

export function pathContext({ run, state }: Scope): PathContext {
  return { ...run.engine.paths, cwds: state.cwds, looks: run.looks };
}

/** Records the findings of one simple command. Without a program, what is judged is its own text. */
export function record(
  scope: Scope,
  text: string,
  findings: readonly Finding[],
  program = `shell ${hash("sha256", text).slice(0, 16)}`,
): void {
  const worst = strictest(findings);
  if (worst === null) return;
  scope.run.found.push({
    part: {
      text: text.length > 2000 ? `${text.slice(0, 2000)}…` : text,
      within: [...scope.within],
      verdict: worst.verdict,
      tier: findings.some(({ tier }) => tier === "T3") ? "T3" : "T2",
      rule: { id: `command.${worst.id}`, source: "policy", message: worst.message },
    },
    findings,
    program,
  });
}

/** Counts one simple command; false beyond the limit, which it records. */
export function count(scope: Scope): boolean {
  const { run } = scope;
  run.count += 1;
  if (run.count <= maxCommands) return true;
  if (!run.isOver) {
    run.isOver = true;
    record(scope, "…", [tooMany]);
  }
  return false;
}

export const tooMany = alwaysAsks("too-many", "Too many commands to check.", ["Run it in smaller steps."]);
export const tooDeep = alwaysAsks("too-deep", "The commands are nested too deeply to check.", ["Run it in smaller steps."]);

/** The state after any of several branches. A variable that one branch takes from the environment stays unknown. */
export function mergeStates(states: readonly ShellState[]): ShellState {
  const [first, ...rest] = states;
  if (first === undefined) return { cwds: null, variables: new Map() };
  const cwds = states.some((state) => state.cwds === null) ? null : [...new Set(states.flatMap((state) => state.cwds ?? []))];
  const variables: Variables = new Map();
  for (const [name, values] of first.variables) {
    if (!rest.every((state) => state.variables.has(name))) continue;
    const all = states.map((state) => state.variables.get(name) ?? null);
    const isSame = all.every((one) => one === values);
    const isKnown = all.every((one) => one !== null);
    const joined = all.flatMap((one) => one ?? []);
    variables.set(name, isSame ? values : isKnown && joined.length <= 20 ? joined : null);
  }
  return { cwds: cwds === null || cwds.length > 4 ? null : cwds, variables };
}

export function takeState(target: ShellState, source: ShellState): void {
  target.cwds = source.cwds;
  target.variables = source.variables;
}
