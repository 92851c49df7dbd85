import { dropStart, type Field, startOf, valueOf } from "./shell-fields.ts";
import type { Program, ProgramRule, Use } from "./command-table.ts";

interface GivenFlag {
  /** `-x`, `--long`, or `-long` in the single style; numbers are `-#`. */
  readonly name: string;
  readonly value: Field | null;
  /** True when the value is a separate word. */
  readonly apart?: boolean;
}

/** A program's arguments, parsed as the program parses them. */
export interface ParsedArguments {
  readonly flags: readonly GivenFlag[];
  readonly operands: readonly Field[];
  /** A word known only at run time, which may be a flag or subcommand. */
  readonly unclear: Field | null;
}

/** Splits a program's arguments into flags, values and operands. */
export function parseArguments(fields: readonly Field[], program: Program): ParsedArguments {
  if (!program.subcommands) return read(fields, program, program.values, program.stop);
  const head = read(fields, program, program.values, true);
  const [sub, ...rest] = head.operands;
  if (sub === undefined) return head;
  const name = valueOf(sub);
  if (name === null) return { ...head, unclear: head.unclear ?? sub };
  const tail = read(rest, program, valuesFor(program, name), program.stop);
  return { flags: [...head.flags, ...tail.flags], operands: [sub, ...tail.operands], unclear: head.unclear ?? tail.unclear };
}

/** A subcommand's flags with values: those of its rules and of the program. */
function valuesFor(program: Program, sub: string): ReadonlyMap<string, Use> {
  const rules = program.rules.filter(
    (rule) => rule.values.size > 0 && (rule.sub.length === 0 || rule.sub.some(([first]) => first?.test(sub) === true)),
  );
  if (rules.length === 0) return program.values;
  return new Map([...program.values, ...rules.flatMap((rule) => [...rule.values])]);
}

/** How a flag's value is used; null for an unknown flag. */
export function useOfFlag(program: Program, sub: string | null, flag: string): Use | null {
  const found = (program.subcommands && sub !== null ? valuesFor(program, sub) : program.values).get(flag);
  if (found !== undefined) return found;
  if (program.subcommands) return null;
  for (const rule of program.rules) if (rule.values.has(flag)) return rule.values.get(flag) ?? null;
  return null;
}

function read(fields: readonly Field[], program: Program, values: ReadonlyMap<string, Use>, stop: boolean): ParsedArguments {
  const flags: GivenFlag[] = [];
  const operands: Field[] = [];
  let unclear: Field | null = null;
  for (let index = 0; index < fields.length; index += 1) {
    const field = fields[index];
    if (field === undefined) break;
    const start = startOf(field);
    if (start === "--" && field.kind === "static") {
      operands.push(...fields.slice(index + 1));
      break;
    }
    const isFlag = start.startsWith("-") && start !== "-";
    if (!isFlag) {
      if (field.kind === "dynamic" && field.prefix === "" && field.number !== true) unclear ??= field;
      operands.push(field);
      if (!stop) continue;
      operands.push(...fields.slice(index + 1));
      break;
    }
    const next = fields[index + 1];
    if (start.startsWith("--") || program.style === "single") {
      const equals = start.indexOf("=");
      const name = equals < 0 ? start : start.slice(0, equals);
      const whole = values.has(name) ? name : lengthened(name, values);
      if (equals >= 0) flags.push({ name: whole ?? name, value: dropStart(field, equals + 1) });
      else if (field.kind !== "static") {
        unclear ??= field;
        flags.push({ name, value: null });
      } else if (values.has(name)) {
        flags.push({ name, value: next ?? null, apart: true });
        if (takesNext(next, program)) index += 1;
      } else if (whole !== null) {
        // An abbreviated or another flag: the next word is read as both.
        flags.push({ name: whole, value: next ?? null }, { name, value: null });
      } else flags.push({ name, value: null });
      continue;
    }
    const taken = cluster(field, start, values, next, flags);
    if (taken === "unclear") unclear ??= field;
    if (taken === "next" && takesNext(next, program)) index += 1;
  }
  return { flags, operands, unclear };
}

/**
 * A table row may describe several programs, so a flag with a value in one may have none in another: a word that looks like a
 * flag, or is unknown, is also read on its own.
 */
function takesNext(next: Field | undefined, program: Program): boolean {
  return !(program.shared && next !== undefined && (next.kind !== "static" || next.value.startsWith("-")));
}

/** The flag that an abbreviation may stand for. */
function lengthened(name: string, values: ReadonlyMap<string, Use>): string | null {
  if (name.length < 4 || !name.startsWith("--")) return null;
  for (const flag of values.keys()) if (flag.startsWith(name)) return flag;
  return null;
}

/** `-abc`: single letters until one takes a value. */
function cluster(
  field: Field,
  start: string,
  values: ReadonlyMap<string, Use>,
  next: Field | undefined,
  flags: GivenFlag[],
): "next" | "unclear" | null {
  if (/^-\d+$/.test(start) && field.kind === "static") {
    flags.push({ name: "-#", value: null });
    return null;
  }
  for (let at = 1; at < start.length; at += 1) {
    const name = `-${start.charAt(at)}`;
    if (!values.has(name)) {
      flags.push({ name, value: null });
      continue;
    }
    const rest = dropStart(field, at + 1);
    if (field.kind !== "static" || at + 1 < start.length) {
      flags.push({ name, value: startOf(rest).startsWith("=") ? dropStart(rest, 1) : rest });
      return null;
    }
    flags.push({ name, value: next ?? null, apart: true });
    return "next";
  }
  return field.kind === "static" ? null : "unclear";
}

/**
 * True when a flag was given. `loose` also accepts GNU abbreviations (`--comp` for `--compress-program`), for rules that raise a
 * verdict.
 */
export function hasFlag(given: ParsedArguments, wanted: string, loose: boolean): boolean {
  return given.flags.some(({ name }) => sameFlag(name, wanted, loose));
}

function sameFlag(name: string, wanted: string, loose: boolean): boolean {
  if (name === wanted) return true;
  if (wanted.endsWith("*") && name.startsWith(wanted.slice(0, -1))) return true;
  return loose && name.length >= 4 && name.startsWith("--") && wanted.startsWith(name);
}

/** The number of operands that a rule reads as its subcommand; -1 when the rule does not match. */
export function fits(rule: ProgramRule, given: ParsedArguments): number {
  const taken = subLength(rule, given);
  if (taken < 0) return -1;
  const loose = rule.finding.verdict !== "allow";
  if (rule.any !== null && !rule.any.some((flag) => hasFlag(given, flag, loose))) return -1;
  if (rule.none !== null && rule.none.some((flag) => hasFlag(given, flag, !loose))) return -1;
  if (rule.only !== null && !given.flags.every(({ name }) => rule.only?.some((flag) => sameFlag(name, flag, false)))) return -1;
  const rest = given.operands.slice(taken);
  if (rule.bare !== null && rule.bare !== (rest.length === 0)) return -1;
  if (rule.operandsOnly !== null && !rest.every((field) => matches(field, rule.operandsOnly ?? [], loose))) return -1;
  if (rule.operand !== null) {
    const wanted = rule.operand;
    const isFound =
      rest.some((field) => matches(field, wanted, loose)) ||
      given.flags.some(({ value }) => value !== null && matches(value, wanted, loose));
    if (!isFound) return -1;
  }
  return taken;
}

function subLength(rule: ProgramRule, given: ParsedArguments): number {
  if (rule.sub.length === 0) return 0;
  for (const sub of rule.sub) {
    if (sub.every((word, index) => word.test(valueOf(given.operands[index]) ?? "\0"))) return sub.length;
  }
  return -1;
}

/** An uncertain value matches only rules that ask. */
function matches(field: Field, wanted: readonly RegExp[], loose: boolean): boolean {
  if (field.kind !== "static" && !loose) return false;
  const text = field.kind === "static" ? field.value : startOf(field);
  return wanted.some((pattern) => pattern.test(text));
}
