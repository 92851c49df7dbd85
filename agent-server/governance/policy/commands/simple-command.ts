import { type Field, literal, valueOf } from "./shell-fields.ts";
import { allows, asks, type Finding, alwaysAsks } from "./command-findings.ts";
import { judgePath } from "./command-paths.ts";
import { judgeProgram } from "./simple-program.ts";
import { cloneState, count, type Input, nestedScope, pathContext, record, type Scope } from "./command-scope.ts";
import { dropsWords, isPlainMark } from "./shell-source.ts";
import { changesExecution, isHarmlessVariable, isPagerOff, isSensitiveVariable } from "./shell-variables.ts";
import { expandWord } from "./expand-word.ts";
import type { WordContext } from "./types.ts";
import { namesOf } from "./wrapper-programs.ts";
import type { Assignment, Command, CommandNode, Redirection, Word } from "unbash";

export const syntaxError = alwaysAsks("syntax", "The command has a syntax error.", ["Simplify it, one command at a time."]);

/** The output that a pipe passes on, when the command text contains it. */
export function outputOf(node: CommandNode, scope: Scope, parts: number): Input {
  if (node.type !== "Command" || parts < 1 || node.name === undefined) return { kind: "unknown" };
  const quiet: WordContext = { ...wordContext(scope, []), onScript: () => undefined };
  const words = node.args.flatMap((word) => (word.type === "Word" ? expandWord(word, quiet) : [literal(word.text)]));
  const names = namesOf(node.name.value, words);
  if (names !== null) return { kind: "names", fields: names };
  const values = words.map(valueOf);
  if (values.some((value) => value === null)) return { kind: "unknown" };
  if (node.name.value === "echo") {
    const first = values.findIndex((value) => !/^-[neE]+$/.test(value ?? ""));
    return { kind: "text", text: `${(first < 0 ? [] : values.slice(first)).join(" ")}\n` };
  }
  if (node.name.value === "printf") {
    const [format, ...rest] = values;
    if (format === "%s" || format === "%s\\n") return { kind: "text", text: `${rest.join("\n")}\n` };
    if (rest.length === 0 && format !== undefined && format !== null && !format.includes("%")) {
      return { kind: "text", text: format.replaceAll("\\n", "\n").replaceAll("\\t", "\t") };
    }
  }
  if (node.name.value === "cat" && values.every((value) => value === "-")) return inputOf(node.redirects, scope);
  return { kind: "unknown" };
}

/** Expands words and judges the commands in them. */
export function words(list: readonly Word[], source: string, scope: Scope, findings: Finding[]): Field[] {
  const context = wordContext(scope, findings, source);
  return list.flatMap((word) => {
    const odd = oddCharacters(word);
    if (odd !== null) findings.push(odd);
    return expandWord(word, context);
  });
}

// Characters that look like a space, a dash or a shell operator.
const lookalike =
  /[\u00A0\u1680\u2000-\u200A\u2010-\u2015\u2018-\u201F\u2024\u2028\u2029\u202F\u203A\u2044\u205F\u2212\u2215\u2216\u2223\u2236\u3000\u301C\uA789\uFE52\uFE63\uFF01-\uFF5E]/u;

const mixedScripts =
  /\p{Script=Latin}[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]|[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]\p{Script=Latin}/u;

function oddCharacters(word: Word): Finding | null {
  if (!/[^\0-\x7F]/.test(word.text)) return null;
  const bare = word.parts === undefined ? word.text : word.parts.map((part) => (part.type === "Literal" ? part.text : "")).join("");
  return lookalike.test(bare) || mixedScripts.test(word.value)
    ? alwaysAsks("lookalike", "A word contains lookalike characters, which can disguise what it means.", ["Use plain characters."])
    : null;
}

export function wordContext(scope: Scope, findings: Finding[], source = ""): WordContext {
  const { state, run } = scope;
  const [cwd, ...others] = state.cwds ?? [];
  const found = cwd === undefined || others.length > 0 ? null : run.engine.paths.resolve(cwd);
  // The shell keeps the logical name of a linked folder.
  const here = found?.ok === true && (cwd === "." || cwd === found.display || cwd === found.absolute) ? found : null;
  return {
    home: run.engine.home,
    cwd: here?.ok === true ? here.absolute : null,
    variables: state.variables,
    onScript: (script, within) => {
      run.judgeScript(
        script,
        script?.source ?? source,
        nestedScope(scope, within, { state: cloneState(state), input: within === ">(…)" ? { kind: "unknown" } : scope.input }),
      );
    },
    onFinding: (finding) => findings.push(finding),
  };
}

export function judgeSimple(node: Command, source: string, scope: Scope): void {
  if (!count(scope)) return;
  const findings: Finding[] = [];
  const text = source.slice(node.pos, node.end);
  // The grammar allows no parenthesis directly after a command; the parser drops it.
  if (dropsWords(node, source) || /^[ \t]*\(/.test(source.slice(node.end, node.end + 100))) findings.push(syntaxError);
  const assignments = node.prefix.filter((one): one is Assignment => one.type === "Assignment");
  for (const assignment of assignments) judgeAssignment(assignment, source, scope, findings, node.name !== undefined);
  judgeRedirects(node.redirects, source, scope, findings);
  if (node.name === undefined) {
    findings.push(allows("assignment", assignments.length === 0 ? "Only a redirection." : "Sets a variable of this command line."));
    record(scope, text, findings);
    return;
  }
  const name = words([node.name], source, scope, findings);
  const fields: Field[] = [];
  for (const word of node.args) {
    if (word.type === "Word") fields.push(...words([word], source, scope, findings));
    else {
      judgeAssignment(word, source, scope, findings, false);
      fields.push({ kind: "static", value: word.text, text: word.text });
    }
  }
  const input = node.redirects.some(isInput) ? inputOf(node.redirects, scope) : scope.input;
  judgeProgram([...name, ...fields], text, { ...scope, input }, findings, node.name.text);
}

function isInput(redirect: Redirection): boolean {
  return redirect.operator.startsWith("<");
}

/** `isPrefix`: applies only to the command that follows. */
function judgeAssignment(node: Assignment, source: string, scope: Scope, findings: Finding[], isPrefix: boolean): void {
  const context = wordContext(scope, findings, source);
  if (node.index !== undefined && !/^(?:\d+|[@*])$/.test(node.index.text)) {
    if (/\$\(|`/.test(node.index.text))
      findings.push(alwaysAsks("arithmetic-runs", "A subscript that contains a command runs it.", [], ["execute"]));
    else findings.push(asks("arithmetic", "A subscript with an unknown value can run commands hidden in it.", [], ["execute"]));
    expandWord(node.index, context);
  }
  let values: readonly Field[] | null = null;
  if (node.value.type === "ArrayValue") for (const element of node.value.elements) expandWord(element, context);
  else {
    const fields = expandWord(node.value, context);
    const [only, ...more] = fields;
    if (only === undefined) values = [literal("")];
    else if (more.length === 0 && !node.value.text.includes("{")) {
      if (only.kind === "static" || (only.kind === "dynamic" && only.number === true)) values = [only];
    }
  }
  const [single] = values ?? [];
  if (isSensitiveVariable(node.name)) {
    if (!isPagerOff(node.name, valueOf(single))) findings.push(changesExecution(node.name));
  } else if (isPrefix && !isHarmlessVariable(node.name)) {
    findings.push(
      asks(
        "environment",
        `Sets the variable ${node.name} for the program, with unknown effect.`,
        ["Use the program's flags."],
        ["settings"],
      ),
    );
  }
  if (isPrefix) return;
  assign(node.name, node.append === true || node.index !== undefined ? null : values, scope);
}

export function assign(name: string, values: readonly Field[] | null, scope: Scope): void {
  scope.state.variables.set(name, values);
}

export function judgeRedirects(redirects: readonly Redirection[], source: string, scope: Scope, findings: Finding[]): void {
  for (const redirect of redirects) {
    if (redirect.type === "HereDoc") {
      if (redirect.closing === undefined) findings.push(syntaxError);
      if (redirect.delimiter === undefined || !isPlainMark(redirect.delimiter)) findings.push(syntaxError);
      if (redirect.body.parts === undefined || redirect.delimiter?.quoted === true) continue;
      const { text, pos, end, parts } = redirect.body;
      expandWord({ type: "Word", text, value: text, pos, end, parts }, wordContext(scope, findings, source));
      continue;
    }
    if (redirect.target === undefined) {
      findings.push(syntaxError);
      continue;
    }
    const targets = words([redirect.target], source, scope, findings);
    if (redirect.type === "HereString") continue;
    const [target, ...more] = targets;
    const value = valueOf(target);
    if (target === undefined || more.length > 0) {
      findings.push(alwaysAsks("unknown-target", "Reads or writes a file whose name is known only at run time.", ["Name the file."]));
      continue;
    }
    if ((redirect.operator === ">&" || redirect.operator === "<&") && value !== null && /^(?:\d+-?|-)$/.test(value)) continue;
    if (value !== null && /^\/dev\/fd\/6[34]$/.test(value)) continue;
    findings.push(...judgePath(target, redirect.operator === "<" || redirect.operator === "<&" ? "read" : "write", pathContext(scope)));
  }
}

export function inputOf(redirects: readonly Redirection[], scope: Scope): Input {
  const last = redirects.findLast(isInput);
  if (last === undefined) return scope.input;
  if (last.type === "HereDoc") {
    const { body, delimiter } = last;
    const isPlain = delimiter?.quoted === true || body.parts === undefined || body.parts.every((part) => part.type === "Literal");
    return isPlain ? { kind: "text", text: body.text } : { kind: "unknown" };
  }
  if (last.type !== "HereString" || last.target === undefined) return { kind: "unknown" };
  const quiet: WordContext = { ...wordContext(scope, []), onScript: () => undefined };
  const [field] = expandWord(last.target, quiet);
  const value = valueOf(field);
  return value === null ? { kind: "unknown" } : { kind: "text", text: value };
}
