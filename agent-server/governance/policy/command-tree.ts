import {
  type AndOr,
  type ArithmeticExpression,
  type Assignment,
  type Command,
  type CommandNode,
  type CompoundList,
  parse,
  type ParsedScript,
  type Pipeline,
  type PipelineNode,
  type Redirection,
  type Statement,
  type TestExpression,
  type Word,
} from "unbash";
import { type Field, literal, valueOf } from "./command-fields.ts";
import { allowed, asks, denies, type Finding, holds } from "./command-findings.ts";
import { judgePath } from "./command-paths.ts";
import { judgeProgram } from "./command-programs.ts";
import { namesOf } from "./command-wrappers.ts";
import {
  cloneState,
  count,
  type Input,
  inside,
  mergeStates,
  pathContext,
  record,
  type Scope,
  type State,
  takeState,
  tooDeep,
  maxDepth,
} from "./command-scope.ts";
import { dropsCommands, dropsWords, isPlainMark } from "./command-source.ts";
import {
  changesExecution,
  expandWord,
  inspectArithmetic,
  isHarmlessVariable,
  isPagerOff,
  isSensitiveVariable,
  type WordContext,
} from "./command-words.ts";

const unreadable = holds("syntax", "The command cannot be read as a shell would read it.", [
  "Write it more simply, one command at a time.",
]);

/** Judges the text of a script, as a shell would run it, inside the scope. */
export function judgeText(text: string, scope: Scope): void {
  if (scope.depth > maxDepth) record(scope, text, [tooDeep]);
  else judgeScript(parse(text), text, scope);
}

function judgeScript(script: ParsedScript | undefined, source: string, scope: Scope): void {
  if (scope.depth > maxDepth) {
    record(scope, "…", [tooDeep]);
    return;
  }
  if (script === undefined || (script.errors?.length ?? 0) > 0)
    record(scope, script === undefined ? "…" : source.slice(script.pos, script.end), [unreadable]);
  else if (dropsCommands(script, script.source ?? source)) record(scope, source.slice(script.pos, script.end), [unreadable]);
  for (const statement of script?.commands ?? []) judgeStatement(statement, script?.source ?? source, scope);
}

function judgeStatement(statement: Statement, source: string, scope: Scope): void {
  if (statement.background === true && scope.within.some((one) => one === "while" || one === "until")) {
    record(scope, source.slice(statement.pos, statement.end), [
      asks(
        "background-loop",
        "A loop that starts programs in the background can fill the machine with them.",
        ["Wait for each program."],
        ["process"],
      ),
    ]);
  }
  if (statement.background === true) judgeNode(statement.command, source, { ...scope, state: cloneState(scope.state) });
  else judgeNode(statement.command, source, scope);
}

function judgeList(list: CompoundList, source: string, scope: Scope): void {
  for (const statement of list.commands) judgeStatement(statement, source, scope);
}

function judgeNode(node: PipelineNode | AndOr, source: string, scope: Scope): void {
  if (scope.depth > maxDepth) {
    record(scope, "…", [tooDeep]);
    return;
  }
  switch (node.type) {
    case "AndOr":
      judgeAndOr(node, source, scope);
      return;
    case "Pipeline":
      judgePipeline(node, source, scope);
      return;
    case "Command":
      judgeSimple(node, source, scope);
      return;
    default:
      judgeCompound(node, source, scope);
  }
}

/** Each command may be the last that runs, so what follows the chain holds after any of them. */
function judgeAndOr(node: AndOr, source: string, scope: Scope): void {
  const after: State[] = [];
  for (const [index, command] of node.commands.entries()) {
    if (node.operators[index - 1] === "||") takeState(scope.state, cloneState(mergeStates(after)));
    judgeNode(command, source, scope);
    after.push(cloneState(scope.state));
  }
  takeState(scope.state, mergeStates(after));
}

function judgePipeline(node: Pipeline, source: string, scope: Scope): void {
  if (node.commands.length === 0) {
    record(scope, source.slice(node.pos, node.end), [unreadable]);
    return;
  }
  if (node.commands.length === 1) {
    for (const command of node.commands) judgeNode(command, source, scope);
    return;
  }
  let input = scope.input;
  for (const command of node.commands) {
    const stage = inside(scope, "pipe", { depth: scope.depth, state: cloneState(scope.state), input });
    const before = scope.run.found.length;
    judgeNode(command, source, stage);
    input = outputOf(command, stage, scope.run.found.length - before);
  }
}

/** What a pipe hands on, where that stands in the command itself. */
function outputOf(node: CommandNode, scope: Scope, parts: number): Input {
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

function judgeCompound(node: Exclude<CommandNode, Command>, source: string, scope: Scope): void {
  switch (node.type) {
    case "Redirected": {
      const findings: Finding[] = [];
      judgeRedirects(node.redirects, source, scope, findings);
      record(scope, source.slice(node.pos, node.end), findings);
      judgeNode(node.command, source, { ...scope, input: inputOf(node.redirects, scope) });
      return;
    }
    case "BraceGroup":
      judgeList(node.body, source, inside(scope, "{ }"));
      return;
    case "Subshell":
      judgeList(node.body, source, inside(scope, "( )", { state: cloneState(scope.state) }));
      return;
    case "If": {
      const inner = inside(scope, "if");
      judgeList(node.clause, source, inner);
      const ways = [branch(node.then, source, inner)];
      for (const elif of node.elif) {
        judgeList(elif.clause, source, inner);
        ways.push(branch(elif.then, source, inner));
      }
      ways.push(node.else === undefined ? cloneState(scope.state) : branch(node.else, source, inner));
      takeState(scope.state, mergeStates(ways));
      return;
    }
    case "Case": {
      const findings: Finding[] = [];
      words([node.word, ...node.items.flatMap((item) => item.pattern)], source, scope, findings);
      record(scope, "case", findings);
      const inner = inside(scope, "case");
      const ways = [cloneState(scope.state)];
      for (const item of node.items) {
        const from = mergeStates([scope.state, ...ways]);
        const way = { ...inner, state: cloneState(from) };
        judgeList(item.body, source, way);
        ways.push(way.state);
      }
      takeState(scope.state, mergeStates(ways));
      return;
    }
    case "For":
    case "Select": {
      const findings: Finding[] = [];
      const values = node.wordlist === undefined ? null : words(node.wordlist, source, scope, findings);
      const name = node.name.value;
      if (isSensitiveVariable(name)) findings.push(changesExecution(name));
      record(scope, `for ${name}`, findings);
      const isKnown =
        node.type === "For" &&
        values !== null &&
        values.length > 0 &&
        values.every((one) => one.kind !== "tree" && (one.kind !== "dynamic" || one.number === true));
      judgeLoop(node.type === "For" ? "for" : "select", scope, (inner) => {
        assign(name, isKnown ? values : null, inner);
        judgeList(node.body, source, inner);
      });
      return;
    }
    case "ArithmeticFor":
      judgeSum(node.initialize, source, scope);
      judgeLoop("for", scope, (inner) => {
        judgeSum(node.test, source, inner);
        judgeList(node.body, source, inner);
        judgeSum(node.update, source, inner);
      });
      return;
    case "While":
      judgeLoop(node.kind, scope, (inner) => {
        judgeList(node.clause, source, inner);
        judgeList(node.body, source, inner);
      });
      return;
    case "Function":
      judgeFunction(node, source, scope);
      return;
    case "Coproc": {
      const inner = inside(scope, "coproc", { state: cloneState(scope.state), input: { kind: "unknown" } });
      if (node.name !== undefined) assign(node.name.value, null, scope);
      if (node.body.type === "CompoundList") judgeList(node.body, source, inner);
      else judgeNode(node.body, source, inner);
      return;
    }
    case "TestCommand": {
      if (!count(scope)) return;
      const findings: Finding[] = [allowed("test", "A test changes nothing.", ["read"])];
      judgeTest(node.expression, source, scope, findings);
      record(scope, source.slice(node.pos, node.end), findings);
      return;
    }
    case "ArithmeticCommand":
    default:
      if (!count(scope)) return;
      record(scope, source.slice(node.pos, node.end), [allowed("sum", "A sum changes nothing but variables.", [])]);
      judgeSum(node.expression, source, scope);
  }
}

function branch(list: CompoundList, source: string, scope: Scope): State {
  const way = { ...scope, state: cloneState(scope.state) };
  judgeList(list, source, way);
  return way.state;
}

/** A loop's body is walked again when its first round leaves another folder or other variables behind. */
function judgeLoop(label: string, scope: Scope, walk: (inner: Scope) => void): void {
  const { run } = scope;
  const before = run.found.length;
  const first = inside(scope, label, { state: cloneState(scope.state) });
  walk(first);
  const merged = mergeStates([scope.state, first.state]);
  const isSteady = sameFolders(merged.cwds, scope.state.cwds) && sameVariables(first.state, scope.state);
  if (isSteady || run.isOver) {
    takeState(scope.state, merged);
    return;
  }
  const later: State = { cwds: sameFolders(merged.cwds, scope.state.cwds) ? merged.cwds : null, variables: new Map(scope.state.variables) };
  for (const [name, values] of first.state.variables) {
    const earlier = scope.state.variables.get(name);
    if (earlier === values) continue;
    const isNumber = [...(earlier ?? []), ...(values ?? [])].every((field) =>
      field.kind === "dynamic" ? field.number === true : /^[-+]?\d+$/.test(valueOf(field) ?? ""),
    );
    if (!scope.state.variables.has(name)) continue;
    later.variables.set(
      name,
      isNumber && values !== null && earlier !== undefined && earlier !== null
        ? [{ kind: "dynamic", prefix: "", number: true, text: name }]
        : null,
    );
  }
  // What the first round would do stays when it is denied: later rounds know less.
  const denied = run.found.splice(before).filter(({ part }) => part.verdict === "deny");
  run.found.push(...denied);
  const second = inside(scope, label, { state: cloneState(later) });
  walk(second);
  takeState(scope.state, mergeStates([later, second.state]));
  if (!sameFolders(scope.state.cwds, later.cwds)) scope.state.cwds = null;
}

function sameFolders(one: readonly string[] | null, other: readonly string[] | null): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && one.every((folder, index) => folder === other[index]);
}

function sameVariables(one: State, other: State): boolean {
  return [...other.variables].every(([name, values]) => one.variables.get(name) === values);
}

function judgeFunction(node: Extract<CommandNode, { type: "Function" }>, source: string, scope: Scope): void {
  const name = node.name.value;
  const { run } = scope;
  const findings: Finding[] = [];
  if (run.engine.table.programs.has(name) || !/^[\w.-]+$/.test(name) || node.name.parts !== undefined) {
    findings.push(
      holds(
        "function-shadows",
        `The function ${name} would run in place of the command of that name.`,
        ["Give the function a name of its own."],
        ["settings"],
      ),
    );
  }
  const body = source.slice(node.body.pos, node.body.end);
  if (
    new RegExp(
      `(?:^|[^\\w])${name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}\\s*\\|\\s*${name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}[^\\w]`,
    ).test(body) ||
    selfInBackground(name, body)
  ) {
    findings.push(denies("fork-bomb", "A function that starts itself over and over brings the machine down.", [], ["process", "destroy"]));
  }
  record(scope, `${name}()`, findings);
  const label = `${name}()`;
  const walk = (from: Scope): void => {
    if (from.within.filter((one) => one === label).length > 1) return;
    const inner = inside(from, label);
    if (node.body.type === "CompoundList") judgeList(node.body, source, inner);
    else judgeNode(node.body, source, inner);
  };
  scope.functions.set(name, walk);
  // It may never be called here, or by something that is not seen: its commands are judged where they stand, with nothing set.
  walk({ ...scope, state: { cwds: scope.state.cwds, variables: new Map() }, input: { kind: "unknown" } });
}

function selfInBackground(name: string, body: string): boolean {
  const escaped = name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?:^|[\\s;{(|&])${escaped}(?:\\s[^;|&]*)?&(?!&)`).test(body);
}

function judgeTest(test: TestExpression, source: string, scope: Scope, findings: Finding[]): void {
  switch (test.type) {
    case "TestUnary": {
      const [field] = words([test.operand], source, scope, findings);
      if (/^-[vR]$/.test(test.operator) && valueOf(field)?.includes("[") !== false) {
        findings.push(holds("arithmetic-runs", "A test of an element can run a command in its subscript.", [], ["execute"]));
      }
      return;
    }
    case "TestBinary": {
      const fields = words([test.left, test.right], source, scope, findings);
      const isNumbers = fields.every((field) =>
        field.kind === "dynamic" ? field.number === true : /^[-+]?\d+$/.test(valueOf(field) ?? ""),
      );
      if (/^-(?:eq|ne|lt|le|gt|ge)$/.test(test.operator) && !isNumbers) {
        findings.push(
          asks(
            "arithmetic",
            "Comparing a value that is not known as a number can run commands hidden in it.",
            ["Compare as text, with = or !=."],
            ["execute"],
          ),
        );
      }
      return;
    }
    case "TestLogical":
      for (const operand of test.operands) judgeTest(operand, source, scope, findings);
      return;
    case "TestNot":
      judgeTest(test.operand, source, scope, findings);
      return;
    case "TestGroup":
    default:
      judgeTest(test.expression, source, scope, findings);
  }
}

function judgeSum(expression: ArithmeticExpression | undefined, source: string, scope: Scope): void {
  const findings: Finding[] = [];
  inspectArithmetic(expression, wordContext(scope, findings, source));
  record(scope, "(( ))", findings);
}

/** Expands words, and judges the commands in them. */
function words(list: readonly Word[], source: string, scope: Scope, findings: Finding[]): Field[] {
  const context = wordContext(scope, findings, source);
  return list.flatMap((word) => {
    const odd = oddCharacters(word);
    if (odd !== null) findings.push(odd);
    return expandWord(word, context);
  });
}

// Characters that look like a space, a dash or a sign of the shell without being one.
const lookalike =
  /[\u00A0\u1680\u2000-\u200A\u2010-\u2015\u2018-\u201F\u2024\u2028\u2029\u202F\u203A\u2044\u205F\u2212\u2215\u2216\u2223\u2236\u3000\u301C\uA789\uFE52\uFE63\uFF01-\uFF5E]/u;
const mixedScripts =
  /\p{Script=Latin}[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]|[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]\p{Script=Latin}/u;

function oddCharacters(word: Word): Finding | null {
  if (!/[^\0-\x7F]/.test(word.text)) return null;
  const bare = word.parts === undefined ? word.text : word.parts.map((part) => (part.type === "Literal" ? part.text : "")).join("");
  return lookalike.test(bare) || mixedScripts.test(word.value)
    ? holds("lookalike", "A word holds characters that look like others, so it is not what it seems.", [
        "Write the word in plain characters.",
      ])
    : null;
}

export function wordContext(scope: Scope, findings: Finding[], source = ""): WordContext {
  const { state, run } = scope;
  const [cwd, ...others] = state.cwds ?? [];
  const found = cwd === undefined || others.length > 0 ? null : run.engine.paths.resolve(cwd);
  // Through a link the shell keeps the name it was given.
  const here = found?.ok === true && (cwd === "." || cwd === found.display || cwd === found.absolute) ? found : null;
  return {
    home: run.engine.home,
    cwd: here?.ok === true ? here.absolute : null,
    variables: state.variables,
    onScript: (script, within) => {
      judgeScript(
        script,
        script?.source ?? source,
        inside(scope, within, { state: cloneState(state), input: within === ">(…)" ? { kind: "unknown" } : scope.input }),
      );
    },
    onFinding: (finding) => findings.push(finding),
  };
}

function judgeSimple(node: Command, source: string, scope: Scope): void {
  if (!count(scope)) return;
  const findings: Finding[] = [];
  const text = source.slice(node.pos, node.end);
  if (dropsWords(node, source)) findings.push(unreadable);
  const assignments = node.prefix.filter((one): one is Assignment => one.type === "Assignment");
  for (const assignment of assignments) judgeAssignment(assignment, source, scope, findings, node.name !== undefined);
  judgeRedirects(node.redirects, source, scope, findings);
  if (node.name === undefined) {
    findings.push(allowed("assignment", assignments.length === 0 ? "A redirection alone." : "Sets a variable of this command line."));
    record(scope, text, findings);
    return;
  }
  const name = words([node.name], source, scope, findings);
  const fields: Field[] = [];
  const declared: Assignment[] = [];
  for (const word of node.args) {
    if (word.type === "Word") fields.push(...words([word], source, scope, findings));
    else {
      declared.push(word);
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

/** `isPrefix`: only for the command it stands before. */
function judgeAssignment(node: Assignment, source: string, scope: Scope, findings: Finding[], isPrefix: boolean): void {
  const context = wordContext(scope, findings, source);
  if (node.index !== undefined && !/^(?:\d+|[@*])$/.test(node.index.text)) {
    if (/\$\(|`/.test(node.index.text))
      findings.push(holds("arithmetic-runs", "A subscript with a command in it runs that command.", [], ["execute"]));
    else findings.push(asks("arithmetic", "A subscript that is not a number can run commands hidden in it.", [], ["execute"]));
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
        `The variable ${node.name} is set for the program, and what that changes is not known.`,
        ["Use the program's own flags."],
        ["settings"],
      ),
    );
  }
  if (isPrefix) return;
  assign(node.name, node.append === true || node.index !== undefined ? null : values, scope);
}

function assign(name: string, values: readonly Field[] | null, scope: Scope): void {
  scope.state.variables.set(name, values);
}

function judgeRedirects(redirects: readonly Redirection[], source: string, scope: Scope, findings: Finding[]): void {
  for (const redirect of redirects) {
    if (redirect.type === "HereDoc") {
      if (redirect.closing === undefined) findings.push(unreadable);
      if (redirect.delimiter === undefined || !isPlainMark(redirect.delimiter)) findings.push(unreadable);
      if (redirect.body.parts === undefined || redirect.delimiter?.quoted === true) continue;
      const { text, pos, end, parts } = redirect.body;
      expandWord({ type: "Word", text, value: text, pos, end, parts }, wordContext(scope, findings, source));
      continue;
    }
    if (redirect.target === undefined) {
      findings.push(unreadable);
      continue;
    }
    const targets = words([redirect.target], source, scope, findings);
    if (redirect.type === "HereString") continue;
    const [target, ...more] = targets;
    const value = valueOf(target);
    if (target === undefined || more.length > 0) {
      findings.push(holds("unknown-target", "Where this writes or reads is known only when it runs.", ["Name the file itself."]));
      continue;
    }
    if ((redirect.operator === ">&" || redirect.operator === "<&") && value !== null && /^(?:\d+-?|-)$/.test(value)) continue;
    if (value !== null && /^\/dev\/fd\/6[34]$/.test(value)) continue;
    findings.push(...judgePath(target, redirect.operator === "<" || redirect.operator === "<&" ? "read" : "write", pathContext(scope)));
  }
}

function inputOf(redirects: readonly Redirection[], scope: Scope): Input {
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
