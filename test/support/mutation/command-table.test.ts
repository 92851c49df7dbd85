import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandCase, commandCases } from "../command-cases.ts";
import { type CommandWorkspace, createCommandWorkspace } from "../command-workspace.ts";

/**
 * The rows of test/fixtures/commands through the command policy, for mutation testing alone: the same expectations as
 * test/unit/governance/policy/command-table.test.ts in a few tests instead of thousands, since each is looked up for each mutant.
 */
const rowsInOne = 40;

let tree: CommandWorkspace;
beforeAll(async () => {
  tree = await createCommandWorkspace();
});
afterAll(() => tree.dispose());

function groups(rows: readonly CommandCase[]): (readonly [number, readonly CommandCase[]])[] {
  return Array.from({ length: Math.ceil(rows.length / rowsInOne) }, (_, index) => [
    index,
    rows.slice(index * rowsInOne, (index + 1) * rowsInOne),
  ]);
}

const sentence = /^\S.{4,}[.!?)]$/s;

function wrong(one: CommandCase): boolean {
  const { verdict, tier, riskLevel, rules, alternatives } = tree.judge(one.command, one.cwd);
  const explained =
    rules.length > 0 &&
    rules.every(({ id, message }) => /^[a-z][a-z0-9_.-]*[a-z0-9]$/i.test(id) && sentence.test(message)) &&
    (verdict === "allow" || alternatives.every((alternative) => sentence.test(alternative)));
  const expected =
    one.expect === "not_deny"
      ? verdict !== "deny" && riskLevel !== "critical"
      : one.expect === "not_allow"
        ? verdict !== "allow"
        : verdict === one.expect;
  return !explained || !expected || (one.tier !== undefined && tier !== one.tier);
}

describe("rows of the table", () => {
  it.each(groups(commandCases.filter(({ expect: expected }) => expected !== "allow")))("that are held, %i", (_index, rows) => {
    expect(rows.filter(wrong).map(({ command }) => command)).toEqual([]);
  });

  // Of the everyday rows as many are asked as when this was written, and not one more.
  it("that are everyday", () => {
    const everyday = commandCases.filter(({ expect: expected }) => expected === "allow");
    expect(everyday.filter(wrong).length).toBeLessThanOrEqual(12);
  });
});
