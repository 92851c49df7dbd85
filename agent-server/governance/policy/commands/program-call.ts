import { type Arguments, hasFlag } from "./command-arguments.ts";
import type { Field } from "./shell-fields.ts";
import type { Finding } from "./command-findings.ts";
import type { Program, ProgramRule, Use } from "./command-table.ts";
import type { Input, Scope } from "./command-scope.ts";

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

export interface SpecialProgram {
  /** Rewrites the words before they are read. */
  readonly prepare?: (args: readonly Field[], name: string) => readonly Field[];
  /** True when the operands are dealt with. */
  readonly judge?: (call: Call) => boolean;
}

export function given(call: Call, ...flags: readonly string[]): boolean {
  return flags.some((flag) => hasFlag(call.given, flag, true));
}
