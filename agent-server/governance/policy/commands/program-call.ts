import { type ParsedArguments, hasFlag } from "./command-arguments.ts";
import type { Field } from "./shell-fields.ts";
import type { Finding } from "./command-findings.ts";
import type { Program, ProgramRule, Use } from "./command-table.ts";
import type { Input, Scope } from "./command-scope.ts";

/** One program call while it is judged. */
export interface ProgramCall {
  readonly name: string;
  readonly program: Program;
  readonly args: readonly Field[];
  readonly parsed: ParsedArguments;
  readonly base: ProgramRule | null;
  /** Operands without the subcommand. */
  readonly operands: readonly Field[];
  readonly text: string;
  /** The program's working scope, after `-C`. */
  readonly scope: Scope;
  /** The shell's scope. */
  readonly outer: Scope;
  readonly findings: Finding[];
  /** Runs after this call is recorded, so that the parts are in expansion order. */
  readonly later: (work: () => void) => void;
  readonly judgeWords: (words: readonly Field[], label: string, more?: Partial<Scope>) => void;
  /** `input`: the commands' standard input, when it differs from the shell's. */
  readonly judgeShell: (text: Field, label: string, input?: Input) => void;
  readonly apply: (field: Field, use: Use) => void;
}

export interface SpecialProgram {
  /** Rewrites the arguments before they are parsed. */
  readonly prepare?: (args: readonly Field[], name: string) => readonly Field[];
  /** Returns true when it has judged the operands. */
  readonly judge?: (call: ProgramCall) => boolean;
}

export function hasAnyFlag(call: ProgramCall, ...flags: readonly string[]): boolean {
  return flags.some((flag) => hasFlag(call.parsed, flag, true));
}
