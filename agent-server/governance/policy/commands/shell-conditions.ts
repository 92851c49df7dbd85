import { valueOf } from "./shell-fields.ts";
import { asks, type Finding, alwaysAsks } from "./command-findings.ts";
import { record, type Scope } from "./command-scope.ts";
import { wordContext, words } from "./simple-command.ts";
import { inspectArithmetic } from "./expand-word.ts";
import type { ArithmeticExpression, TestExpression } from "unbash";

/** Judges a condition (`[[ … ]]`): commands in its words and arithmetic evaluation. */
export function judgeTest(test: TestExpression, source: string, scope: Scope, findings: Finding[]): void {
  switch (test.type) {
    case "TestUnary": {
      const [field] = words([test.operand], source, scope, findings);
      if (/^-[vR]$/.test(test.operator) && valueOf(field)?.includes("[") !== false) {
        findings.push(alwaysAsks("arithmetic-runs", "Testing an element can run a command in its subscript.", [], ["execute"]));
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
            "A numeric comparison with an unknown value can run commands hidden in it.",
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

/** Judges an arithmetic expression (`(( … ))`, or a part of `for ((…))`). */
export function judgeSum(expression: ArithmeticExpression | undefined, source: string, scope: Scope): void {
  const findings: Finding[] = [];
  inspectArithmetic(expression, wordContext(scope, findings, source));
  record(scope, "(( ))", findings);
}
