import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandCases } from "../../../support/command-cases.ts";
import { judgedLine } from "../../../support/command-judged.ts";
import { type CommandWorkspace, createCommandWorkspace } from "../../../support/command-workspace.ts";

/**
 * What each row of the command table is judged, with its rules: verdict, tier and risk, scope, rules, tags, how many alternatives are
 * offered, and what the command line consists of. A change of the rules shows here in full and is reviewed as such; what must hold
 * whatever the rules say is in command-table.test.ts. Regenerate with
 * `UPDATE_COMMANDS=1 npx vitest run --project unit test/unit/governance/policy/command-judgements.test.ts`.
 */
const file = join(import.meta.dirname, "../../../fixtures/command-judgements.txt");
const updates = process.env["UPDATE_COMMANDS"] !== undefined;
const rowsInOne = 50;

let tree: CommandWorkspace;
beforeAll(async () => {
  tree = await createCommandWorkspace();
  if (updates) writeFileSync(file, commandCases.map((one) => `${judged(one)}\n`).join(""));
});
afterAll(() => tree.dispose());

const judged = ({ command, cwd }: { command: string; cwd?: string | undefined }): string =>
  `${JSON.stringify(command).slice(0, 200)}${cwd === undefined ? "" : ` in ${cwd}`} | ${judgedLine(tree.judge(command, cwd))}`;

describe("each row of the command table is judged as it was reviewed", () => {
  const groups = Math.ceil(commandCases.length / rowsInOne);
  it.each(Array.from({ length: groups }, (_, index) => index))("rows of group %i", (index) => {
    const recorded = readFileSync(file, "utf8").split("\n");
    const from = index * rowsInOne;
    const rows = commandCases.slice(from, from + rowsInOne);
    expect(rows.map(judged)).toEqual(recorded.slice(from, from + rows.length));
  });

  it("and no other is recorded", () => {
    expect(readFileSync(file, "utf8").split("\n")).toHaveLength(commandCases.length + 1);
  });
});
