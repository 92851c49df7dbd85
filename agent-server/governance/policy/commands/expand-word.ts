import { expandBraces } from "./brace-expansion.ts";
import { type Field, literal, unknown } from "./shell-fields.ts";
import { asks, alwaysAsks } from "./command-findings.ts";
import { appendChoices, appendField, appendText, appendUnknown, choiceField, finish, type Expansion } from "./word-expansions.ts";
import { hasOpenSum, isOpenExpansion } from "./shell-source.ts";
import { changesExecution, isSensitiveVariable, lookUp, number, numberNames } from "./shell-variables.ts";
import type { WordContext } from "./types.ts";
import type { ArithmeticExpression, DoubleQuotedChild, ParameterExpansionPart, Word, WordPart } from "unbash";

const openExpansion = alwaysAsks("syntax", "An expansion is unclosed, or only some shells support it.", ["Simplify it."], ["execute"]);

/** Expands a word to zero or more fields. Reports risks of the word itself to the context. */
export function expandWord(word: Word, context: WordContext): Field[] {
  const parts = word.parts;
  if (hasOpenSum(word)) context.onFinding(openExpansion);
  if (parts === undefined) {
    if (word.text.startsWith("~")) return [tilde(word.value, word.text, context)];
    if (hasLooseBraces(word.text)) return [unknown(word.text)];
    return [{ kind: "static", value: word.value, text: word.text, quoted: word.text !== word.value }];
  }
  let expansions: Expansion[] = [{ value: "", pattern: "", isPattern: false, prefix: null, isNumber: false, isPresent: false }];
  let hasBraces = false;
  let loose = "";
  for (const [index, part] of parts.entries()) {
    hasBraces ||= part.type === "BraceExpansion";
    loose += part.type === "Literal" ? part.text : "q";
    if (index === 0 && part.type === "Literal" && part.text.startsWith("~")) {
      appendField(expansions, tilde(part.value, part.text, context), true);
      continue;
    }
    expansions = appendPart(expansions, part, context);
  }
  // Braces that the parser ignored but a shell may expand.
  if (!hasBraces && hasLooseBraces(loose)) return [unknown(word.text)];
  return expansions.flatMap((expansion) => finish(expansion, word));
}

function hasLooseBraces(text: string): boolean {
  return [...text.matchAll(/\{([^{}]*)\}/g)].some(([, inner = ""]) => inner.includes(",") || inner.includes(".."));
}

function tilde(value: string, text: string, context: WordContext): Field {
  const name = /^~[^/]*/.exec(text)?.[0] ?? "~";
  const rest = value.slice(name.length);
  if (name === "~") return literal(context.home + rest, text);
  if (name === "~+" && context.cwd !== null) return literal(context.cwd + rest, text);
  return unknown(text);
}

function appendPart(expansions: Expansion[], part: WordPart, context: WordContext): Expansion[] {
  switch (part.type) {
    case "Literal":
      appendText(expansions, part.value, false);
      return expansions;
    case "SingleQuoted":
    case "AnsiCQuoted":
      appendText(expansions, part.value, true);
      return expansions;
    case "DoubleQuoted":
      appendText(expansions, "", true);
      return part.parts.reduce((before, child) => appendQuoted(before, child, context), expansions);
    case "LocaleString":
      part.parts.reduce((before, child) => appendQuoted(before, child, context), expansions);
      appendUnknown(expansions, true);
      return expansions;
    case "Glob":
      if (part.parts?.some((child) => child.type !== "Literal" && child.type !== "SingleQuoted") === true) {
        // The text in brackets is expanded, and its commands run, before it becomes a pattern.
        for (const child of part.parts) appendPart([], child, context);
        appendUnknown(expansions, true);
        return expansions;
      }
      for (const expansion of expansions) {
        expansion.value += part.text;
        expansion.pattern += part.text;
        expansion.isPattern = true;
        expansion.isPresent = true;
      }
      return expansions;
    case "ExtendedGlob":
      // A shell without extglob rejects it.
      context.onFinding(
        asks(
          "extended-pattern",
          "Only some shells support patterns such as @(a|b).",
          ["Name the files, or use plain patterns."],
          ["execute"],
        ),
      );
      for (const child of part.parts ?? []) appendPart([], child, context);
      for (const expansion of expansions) {
        expansion.value += part.text;
        expansion.pattern += part.text;
        expansion.isPattern = true;
        expansion.isPresent = true;
      }
      return expansions;
    case "BraceExpansion": {
      for (const child of part.parts ?? []) appendPart([], child, context);
      const choices = expandBraces(part.text);
      if (choices !== null)
        return appendChoices(
          expansions,
          choices.map((choice) => choiceField(choice)),
          false,
        );
      appendUnknown(expansions, true);
      return expansions;
    }
    case "ProcessSubstitution":
      context.onScript(part.script, part.operator === "<" ? "<(…)" : ">(…)");
      // The program gets /dev/fd/N.
      appendText(expansions, part.operator === "<" ? "/dev/fd/63" : "/dev/fd/64", true);
      return expansions;
    case "SimpleExpansion":
    case "ParameterExpansion":
    case "CommandExpansion":
    case "ArithmeticExpansion":
    default:
      return appendExpansion(expansions, part, false, context);
  }
}

function appendQuoted(expansions: Expansion[], part: DoubleQuotedChild, context: WordContext): Expansion[] {
  if (part.type !== "Literal") return appendExpansion(expansions, part, true, context);
  appendText(expansions, part.value, true);
  return expansions;
}

function appendExpansion(
  expansions: Expansion[],
  part: Exclude<DoubleQuotedChild, { type: "Literal" }>,
  quoted: boolean,
  context: WordContext,
): Expansion[] {
  if (isOpenExpansion(part)) context.onFinding(openExpansion);
  switch (part.type) {
    case "SimpleExpansion":
      return appendVariable(expansions, part.text.slice(1), quoted, context);
    case "ParameterExpansion":
      return appendParameter(expansions, part, quoted, context);
    case "CommandExpansion":
      context.onScript(part.script, "$(…)");
      appendUnknown(expansions, quoted);
      return expansions;
    case "ArithmeticExpansion":
    default:
      inspectArithmetic(part.expression, context);
      appendUnknown(expansions, true, true);
      return expansions;
  }
}

function appendVariable(expansions: Expansion[], name: string, quoted: boolean, context: WordContext): Expansion[] {
  const values = lookUp(name, context);
  if (values === null) appendUnknown(expansions, quoted);
  else return appendChoices(expansions, values, quoted);
  return expansions;
}

function appendParameter(expansions: Expansion[], part: ParameterExpansionPart, quoted: boolean, context: WordContext): Expansion[] {
  const { operation, index, parameter } = part;
  if (index !== undefined) inspectIndex(index, context);
  if (part.prefix === "!" || operation?.type === "Names") {
    context.onFinding(
      alwaysAsks("indirect", "The expansion ${!name} reads a variable named by another one.", ["Use the variable directly."], ["execute"]),
    );
    appendUnknown(expansions, quoted);
    return expansions;
  }
  if (operation === undefined) {
    if (part.prefix === "#") appendUnknown(expansions, true, true);
    else if (index !== undefined) {
      if (!context.variables.has(parameter)) lookUp(parameter, context);
      appendUnknown(expansions, quoted);
    } else return appendVariable(expansions, parameter, quoted, context);
    return expansions;
  }
  switch (operation.type) {
    case "Transform":
    case "Unknown":
      context.onFinding(
        alwaysAsks(
          "transform",
          "An expansion such as ${name@P} can run commands in a variable's value.",
          ["Use the plain variable."],
          ["execute"],
        ),
      );
      break;
    case "Default":
      expandWord(operation.operand, context);
      if (operation.operator.endsWith("=")) {
        if (isSensitiveVariable(parameter)) context.onFinding(changesExecution(parameter));
        context.variables.set(parameter, null);
      }
      break;
    case "Slice":
      for (const word of [operation.offset, operation.length]) if (word !== undefined) inspectIndex(word, context);
      break;
    case "Replace":
      expandWord(operation.pattern, context);
      expandWord(operation.replacement, context);
      break;
    case "Remove":
      expandWord(operation.operand, context);
      break;
    case "CaseModification":
    default:
      if (operation.operand !== undefined) expandWord(operation.operand, context);
  }
  if (!context.variables.has(parameter)) lookUp(parameter, context);
  appendUnknown(expansions, quoted);
  return expansions;
}

/** A subscript or offset is evaluated as arithmetic, which can run commands. */
function inspectIndex(word: Word, context: WordContext): void {
  if (/^\s*(?:-?\d+|[@*])\s*$/.test(word.text)) return;
  if (word.text.includes("$(") || word.text.includes("`")) context.onFinding(arithmeticRuns);
  const fields = expandWord(word, context);
  const isSafe =
    fields.length > 0 && fields.every((field) => isNumeric(field) || (field.kind === "static" && isNumericName(field.value, context)));
  if (!isSafe) context.onFinding(arithmeticUnknown);
}

const arithmeticRuns = alwaysAsks(
  "arithmetic-runs",
  "A command inside a subscript or arithmetic expression runs, and its output may run too.",
  ["Use arithmetic without commands."],
  ["execute"],
);

const arithmeticUnknown = asks(
  "arithmetic",
  "Arithmetic with an unknown value can run commands hidden in it.",
  ["Use numbers, or variables that were set to numbers in the same command."],
  ["execute"],
);

function isNumeric(field: Field): boolean {
  return field.kind === "static"
    ? /^\s*[-+]?(?:\d+|0x[\da-f]+)\s*$/i.test(field.value)
    : field.kind === "dynamic" && field.number === true && /^[-+0-9]*$/.test(field.prefix);
}

function isNumericName(name: string, context: WordContext): boolean {
  if (!/^[a-z_]\w*$/i.test(name)) return /^[-+*/%()\s\d]+$/.test(name);
  if (numberNames.test(name)) return true;
  const values = context.variables.get(name);
  return values !== undefined && values !== null && values.length > 0 && values.every(isNumeric);
}

/** Judges an arithmetic expression: its commands, the variables it sets, and whether its inputs are known numbers. */
export function inspectArithmetic(expression: ArithmeticExpression | undefined, context: WordContext): void {
  if (expression === undefined) return;
  switch (expression.type) {
    case "ArithmeticBinary": {
      inspectArithmetic(expression.right, context);
      const isAssignment = /^(?:[-+*/%&|^]|<<|>>)?=$/.test(expression.operator);
      if (isAssignment && expression.left.type === "ArithmeticWord" && expression.left.parts === undefined) {
        const name = expression.left.value;
        if (isSensitiveVariable(name)) context.onFinding(changesExecution(name));
        if (!/^[a-z_]\w*$/i.test(name)) context.onFinding(arithmeticUnknown);
        else if (expression.operator !== "=") inspectArithmetic(expression.left, context);
        context.variables.set(name, [number]);
      } else inspectArithmetic(expression.left, context);
      return;
    }
    case "ArithmeticUnary":
      inspectArithmetic(expression.operand, context);
      return;
    case "ArithmeticTernary":
      for (const one of [expression.test, expression.consequent, expression.alternate]) inspectArithmetic(one, context);
      return;
    case "ArithmeticGroup":
      inspectArithmetic(expression.expression, context);
      return;
    case "ArithmeticCommandExpansion":
      context.onScript(expression.script, "$(…)");
      context.onFinding(arithmeticRuns);
      return;
    case "ArithmeticWord":
    default: {
      const { parts, value } = expression;
      if (parts === undefined) {
        if (!/^(?:\d+(?:#\w+)?|0x[\da-f]+)$/i.test(value) && !isNumericName(value, context)) context.onFinding(arithmeticUnknown);
        return;
      }
      if (parts.some((part) => part.type === "CommandExpansion")) context.onFinding(arithmeticRuns);
      const fields = expandWord({ type: "Word", text: value, value, pos: expression.pos, end: expression.end, parts }, context);
      if (!fields.every(isNumeric)) context.onFinding(arithmeticUnknown);
    }
  }
}
