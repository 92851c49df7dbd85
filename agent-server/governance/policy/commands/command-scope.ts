import type { ParsedScript } from "unbash";
import type { CommandPart } from "../../../contract/governance.ts";
import type { Field } from "./shell-fields.ts";
import { type Finding, holds, strictest } from "./command-findings.ts";
import type { CommandTable } from "./command-table.ts";
import type { PathContext, Variables } from "./types.ts";

/** What the shell knows at a point of the command line; commands change it as it is walked. */
export interface State {
  /** Folders a relative path may start from, as `resolve` takes them; null when that is not known. */
  cwds: readonly string[] | null;
  variables: Variables;
}

/** What a command can read from its standard input. */
export type Input =
  | { readonly kind: "none" }
  | { readonly kind: "text"; readonly text: string }
  /** File names, as `find` prints them. */
  | { readonly kind: "names"; readonly fields: readonly Field[] }
  | { readonly kind: "unknown" };

/** A function of the command line: judges its body as it runs where it is called. */
export type FunctionBody = (scope: Scope) => void;

/** The deps of a judgement, the same for every command. */
export interface Engine {
  readonly table: CommandTable;
  readonly home: string;
  readonly paths: Omit<PathContext, "cwds">;
}

/** One judgement in progress. */
export interface Run {
  readonly engine: Engine;
  /** Judges the text of a script inside a scope. */
  readonly judgeText: (text: string, scope: Scope) => void;
  /** Judges a parsed script inside a scope; undefined when it could not be read. `source` is what its positions count. */
  readonly judgeScript: (script: ParsedScript | undefined, source: string, scope: Scope) => void;
  found: { readonly part: CommandPart; readonly findings: readonly Finding[] }[];
  /** Simple commands judged so far, those in loops that are walked twice counted twice. */
  count: number;
  isOver: boolean;
  /** Programs that fetch from the network were seen. */
  fetches: boolean;
}

/** Where a command stands. */
export interface Scope {
  readonly run: Run;
  readonly within: readonly string[];
  readonly depth: number;
  readonly state: State;
  readonly functions: Map<string, FunctionBody>;
  readonly input: Input;
}

export const maxCommands = 4000;
export const maxDepth = 24;

export function inside(scope: Scope, label: string, more: Partial<Scope> = {}): Scope {
  return { ...scope, within: [...scope.within, label], depth: scope.depth + 1, ...more };
}

export function cloneState(state: State): State {
  return { cwds: state.cwds, variables: new Map(state.variables) };
}

export function pathContext(scope: Scope): PathContext {
  return { ...scope.run.engine.paths, cwds: scope.state.cwds };
}

/** Records what was found about one simple command. */
export function record(scope: Scope, text: string, findings: readonly Finding[]): void {
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
  });
}

/** Counts one simple command; false once there are too many to look at, which is recorded. */
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

export const tooMany = holds("too-many", "The command line holds too many commands to look at each.", ["Run it in smaller steps."]);
export const tooDeep = holds("too-deep", "The commands are nested too deeply to be judged.", ["Run it in smaller steps."]);

/** What holds whichever of several ways was taken. A variable that one of them left to the outside stays of the outside. */
export function mergeStates(states: readonly State[]): State {
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

export function takeState(target: State, source: State): void {
  target.cwds = source.cwds;
  target.variables = source.variables;
}
