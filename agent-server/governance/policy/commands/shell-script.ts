import { judgeSum, judgeTest } from "./shell-conditions.ts";
import { valueOf } from "./shell-fields.ts";
import { allows, asks, denies, type Finding, alwaysAsks } from "./command-findings.ts";
import {
  cloneState,
  count,
  nestedScope,
  maxDepth,
  mergeStates,
  record,
  type Scope,
  type ShellState,
  takeState,
  tooDeep,
} from "./command-scope.ts";
import { assign, inputOf, judgeRedirects, judgeSimple, outputOf, syntaxError, words } from "./simple-command.ts";
import { dropsCommands } from "./shell-source.ts";
import { changesExecution, isSensitiveVariable } from "./shell-variables.ts";
import {
  type AndOr,
  type Command,
  type CommandNode,
  type CompoundList,
  parse,
  type ParsedScript,
  type Pipeline,
  type PipelineNode,
  type Statement,
} from "unbash";

/** Judges a script text in the given scope. */
export function judgeText(text: string, scope: Scope): void {
  if (scope.depth > maxDepth) record(scope, text, [tooDeep]);
  else judgeScript(parse(text), text, scope);
}

export function judgeScript(script: ParsedScript | undefined, source: string, scope: Scope): void {
  if (scope.depth > maxDepth) {
    record(scope, "…", [tooDeep]);
    return;
  }
  if (script === undefined || (script.errors?.length ?? 0) > 0)
    record(scope, script === undefined ? "…" : source.slice(script.pos, script.end), [syntaxError]);
  else if (dropsCommands(script, script.source ?? source)) record(scope, source.slice(script.pos, script.end), [syntaxError]);
  for (const statement of script?.commands ?? []) judgeStatement(statement, script?.source ?? source, scope);
}

function judgeStatement(statement: Statement, source: string, scope: Scope): void {
  if (statement.background === true && scope.within.some((one) => one === "while" || one === "until")) {
    record(scope, source.slice(statement.pos, statement.end), [
      asks("background-loop", "A loop that starts background programs can overload the machine.", ["Wait for each program."], ["process"]),
    ]);
  }
  if (statement.background === true) judgeNode(statement.command, source, { ...scope, state: cloneState(scope.state) });
  else judgeNode(statement.command, source, scope);
}

function judgeList(list: CompoundList, source: string, scope: Scope): void {
  if (dropsCommands(list, source)) record(scope, source.slice(list.pos, list.end), [syntaxError]);
  for (const statement of list.commands) {
    if (scope.run.isOver) return;
    judgeStatement(statement, source, scope);
  }
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
    case "ArithmeticCommand":
    case "ArithmeticFor":
    case "BraceGroup":
    case "Case":
    case "Coproc":
    case "For":
    case "Function":
    case "If":
    case "Redirected":
    case "Select":
    case "Subshell":
    case "TestCommand":
    case "While":
    default:
      judgeCompound(node, source, scope);
  }
}

/** Any command may be the last to run, so the state after the chain merges all of them. */
function judgeAndOr(node: AndOr, source: string, scope: Scope): void {
  let after: ShellState | null = null;
  for (const [index, command] of node.commands.entries()) {
    if (after !== null && node.operators[index - 1] === "||") takeState(scope.state, cloneState(after));
    judgeNode(command, source, scope);
    if (scope.run.isOver) return;
    after = after === null ? cloneState(scope.state) : mergeStates([after, scope.state]);
  }
  if (after !== null) takeState(scope.state, after);
}

function judgePipeline(node: Pipeline, source: string, scope: Scope): void {
  if (node.commands.length === 0) {
    record(scope, source.slice(node.pos, node.end), [syntaxError]);
    return;
  }
  if (node.commands.length === 1) {
    for (const command of node.commands) judgeNode(command, source, scope);
    return;
  }
  let input = scope.input;
  for (const command of node.commands) {
    const stage = nestedScope(scope, "pipe", { depth: scope.depth, state: cloneState(scope.state), input });
    const before = scope.run.found.length;
    judgeNode(command, source, stage);
    input = outputOf(command, stage, scope.run.found.length - before);
  }
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
      judgeList(node.body, source, nestedScope(scope, "{ }"));
      return;
    case "Subshell":
      judgeList(node.body, source, nestedScope(scope, "( )", { state: cloneState(scope.state) }));
      return;
    case "If": {
      const inner = nestedScope(scope, "if");
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
      const inner = nestedScope(scope, "case");
      const ways = [cloneState(scope.state)];
      for (const item of node.items) {
        if (scope.run.isOver) return;
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
      const inner = nestedScope(scope, "coproc", { state: cloneState(scope.state), input: { kind: "unknown" } });
      if (node.name !== undefined) assign(node.name.value, null, scope);
      if (node.body.type === "CompoundList") judgeList(node.body, source, inner);
      else judgeNode(node.body, source, inner);
      return;
    }
    case "TestCommand": {
      if (!count(scope)) return;
      const findings: Finding[] = [allows("test", "Tests a condition.", ["read"])];
      judgeTest(node.expression, source, scope, findings);
      record(scope, source.slice(node.pos, node.end), findings);
      return;
    }
    case "ArithmeticCommand":
    default:
      if (!count(scope)) return;
      record(scope, source.slice(node.pos, node.end), [allows("sum", "Evaluates arithmetic and sets only variables.", [])]);
      judgeSum(node.expression, source, scope);
  }
}

function branch(list: CompoundList, source: string, scope: Scope): ShellState {
  const way = { ...scope, state: cloneState(scope.state) };
  judgeList(list, source, way);
  return way.state;
}

/** Walks a loop's body again when the first iteration changes the folder or variables. */
function judgeLoop(label: string, scope: Scope, walk: (inner: Scope) => void): void {
  const { run } = scope;
  const before = run.found.length;
  const first = nestedScope(scope, label, { state: cloneState(scope.state) });
  walk(first);
  const merged = mergeStates([scope.state, first.state]);
  const isSteady = sameFolders(merged.cwds, scope.state.cwds) && sameVariables(first.state, scope.state);
  if (isSteady || run.isOver) {
    takeState(scope.state, merged);
    return;
  }
  const later: ShellState = {
    cwds: sameFolders(merged.cwds, scope.state.cwds) ? merged.cwds : null,
    variables: new Map(scope.state.variables),
  };
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
  // Keeps a denial of the first iteration, because later iterations know less.
  const denied = run.found.splice(before).filter(({ part }) => part.verdict === "deny");
  run.found.push(...denied);
  const second = nestedScope(scope, label, { state: cloneState(later) });
  walk(second);
  takeState(scope.state, mergeStates([later, second.state]));
  if (!sameFolders(scope.state.cwds, later.cwds)) scope.state.cwds = null;
}

function sameFolders(one: readonly string[] | null, other: readonly string[] | null): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && one.every((folder, index) => folder === other[index]);
}

function sameVariables(one: ShellState, other: ShellState): boolean {
  return [...other.variables].every(([name, values]) => one.variables.get(name) === values);
}

function judgeFunction(node: Extract<CommandNode, { type: "Function" }>, source: string, scope: Scope): void {
  const name = node.name.value;
  const { run } = scope;
  const findings: Finding[] = [];
  if (run.engine.table.programs.has(name) || !/^[\w.-]+$/.test(name) || node.name.parts !== undefined) {
    findings.push(
      alwaysAsks(
        "function-shadows",
        `The function ${name} replaces the command with the same name.`,
        ["Use another name for the function."],
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
    findings.push(
      denies("fork-bomb", "Fork bomb: the function starts itself endlessly and crashes the machine.", [], ["process", "destroy"]),
    );
  }
  record(scope, `${name}()`, findings);
  const label = `${name}()`;
  const walk = (from: Scope): void => {
    if (from.within.filter((one) => one === label).length > 1) return;
    const inner = nestedScope(from, label);
    if (node.body.type === "CompoundList") judgeList(node.body, source, inner);
    else judgeNode(node.body, source, inner);
  };
  scope.functions.set(name, walk);
  // The function may be called later or indirectly, so its body is also judged at its definition, with no known state.
  walk({ ...scope, state: { cwds: scope.state.cwds, variables: new Map() }, input: { kind: "unknown" } });
}

function selfInBackground(name: string, body: string): boolean {
  const escaped = name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?:^|[\\s;{(|&])${escaped}(?:\\s[^;|&]*)?&(?!&)`).test(body);
}
