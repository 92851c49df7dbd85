import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Tier } from "../../../../agent-server/contract/common.ts";
import type { Rule, Verdict } from "../../../../agent-server/contract/governance.ts";
import { type CommandCase, commandCases, titleOf } from "../../../support/command-cases.ts";
import { type CommandWorkspace, createCommandWorkspace } from "../../../support/command-workspace.ts";
import { createGovernanceFixture, type GovernanceFixture, intent } from "../../../support/governance-fixture.ts";

/** The rows go through the whole gate as well, with the shipped tables. */
const throughTheGate = true;

/** Of everyday commands that read, build and test, so many run without a question. */
const everydayAtLeast = 0.95;

interface Judged {
  readonly verdict: Verdict;
  readonly tier: Tier;
  readonly riskLevel: string;
  readonly rules: readonly Rule[];
  readonly alternatives: readonly string[];
}

let tree: CommandWorkspace;
let room: GovernanceFixture;

beforeAll(async () => {
  tree = await createCommandWorkspace();
  const { workspace, dataDir, configDir, home } = tree;
  if (throughTheGate) room = createGovernanceFixture({ workspace, dataDir, configDir, home });
});
afterAll(() => {
  if (throughTheGate) room.dispose();
  tree.dispose();
});

const judges: readonly (readonly [string, (one: CommandCase) => Judged])[] = [
  ["the command policy", (one) => tree.judge(one.command, one.cwd)],
  [
    "the gate",
    (one) =>
      room.governance.evaluate(
        intent("shell_exec", "run", { command: tree.expand(one.command) }, one.cwd === undefined ? {} : { cwd: tree.expand(one.cwd) }),
      ),
  ],
];

for (const [name, judge] of judges.slice(0, throughTheGate ? 2 : 1)) {
  describe(`${name} obeys the table of commands`, () => {
    const wrong: string[] = [];
    const files = [...new Set(commandCases.map((one) => one.file))];
    for (const file of files) {
      const rows = commandCases.filter((one) => one.file === file);
      // Everyday rows count as a share, below: which few of them are asked is the table's choice.
      const held = rows.filter((one) => one.expect !== "allow");
      if (held.length > 0) {
        it.each(held.map((one) => [titleOf(one), one.why, one] as const))(`${file} %s: %s`, (_title, _why, one) => {
          const judged = judge(one);
          expectExplained(judged, name === "the gate");
          switch (one.expect) {
            case "deny":
            case "ask":
              expect(judged.verdict).toBe(one.expect);
              break;
            case "not_deny":
              expect(judged.verdict).not.toBe("deny");
              expect(judged.riskLevel).not.toBe("critical");
              break;
            case "not_allow":
            case "allow":
              expect(judged.verdict).not.toBe("allow");
          }
          if (one.tier !== undefined) expect(judged.tier).toBe(one.tier);
        });
      }
    }

    it("lets everyday reading, building and testing run without a question", () => {
      const rows = commandCases.filter((one) => one.expect === "allow");
      expect(rows.length).toBeGreaterThanOrEqual(250);
      let allowed = 0;
      for (const one of rows) {
        const judged = judge(one);
        expectExplained(judged, name === "the gate");
        if (judged.verdict === "allow") allowed += 1;
        else wrong.push(`${judged.verdict} ${judged.rules.map((rule) => rule.id).join(",")}  ${one.command}`);
      }
      const share = allowed / rows.length;
      console.info(`${name}: ${allowed} of ${rows.length} everyday commands are allowed (${(share * 100).toFixed(1)} %)`);
      expect(share, `asked although everyday:\n${wrong.join("\n")}`).toBeGreaterThanOrEqual(everydayAtLeast);
    });
  });
}

it("has the rows it promises", () => {
  expect(commandCases.length).toBeGreaterThanOrEqual(700);
  expect(new Set(commandCases.map((one) => `${one.cwd ?? ""}\n${one.command}`)).size).toBe(commandCases.length);
  expect(commandCases.filter((one) => one.file === "gtfobins").length).toBeGreaterThanOrEqual(150);
});

/** A verdict names its rules, each with a sentence, and what is not allowed says what could be done instead. */
function expectExplained(judged: Judged, isGate: boolean): void {
  expect(judged.rules.length).toBeGreaterThan(0);
  for (const rule of judged.rules) {
    expect(rule.id).toMatch(/^[a-z][a-z0-9_.-]*[a-z0-9]$/i);
    expect(rule.message).toMatch(/^\S.{8,}[.!?)]$/s);
  }
  if (judged.verdict !== "allow") {
    if (isGate) expect(judged.alternatives.length).toBeGreaterThan(0);
    for (const alternative of judged.alternatives) expect(alternative).toMatch(/^\S.{4,}[.!?]$/s);
  }
}
