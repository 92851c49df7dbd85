import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Construct, constructs } from "../../../support/command-constructs.ts";
import { judgedBlock } from "../../../support/command-judged.ts";
import { projectFiles } from "../../../support/command-projects.ts";
import { type CommandWorkspace, createCommandWorkspace } from "../../../support/command-workspace.ts";

/**
 * What each construct of a command line is judged, in full: verdict, tier, risk, scope and tags, each rule with its sentence, each
 * alternative, each simple command with where it stands. Regenerate with
 * `UPDATE_COMMANDS=1 npx vitest run --project unit test/unit/governance/policy/command-constructs.test.ts`, and reviewed as such.
 */
const file = join(import.meta.dirname, "../../../fixtures/command-judgements-constructs.txt");
const updates = process.env["UPDATE_COMMANDS"] !== undefined;

let tree: CommandWorkspace;
let recorded: ReadonlyMap<string, string>;
beforeAll(async () => {
  tree = await createCommandWorkspace(projectFiles);
  if (updates)
    writeFileSync(file, [...constructs].map(([group, rows]) => `${[`# ${group}`, ...rows.map(judged)].join("\n")}\n`).join("\n"));
  const blocks = readFileSync(file, "utf8").split(/^# /m).slice(1);
  recorded = new Map(blocks.map((block) => [block.slice(0, block.indexOf("\n")), block.trimEnd()]));
});
afterAll(() => tree.dispose());

const judged = ({ command, cwd }: Construct): string =>
  `${JSON.stringify(command)}${cwd === undefined ? "" : ` in ${cwd}`}\n${judgedBlock(tree.judge(command, cwd), tree.base)}`;

describe("each construct is judged as it was reviewed", () => {
  it.each([...constructs].map(([group, rows]) => [group, rows] as const))("%s", (group, rows) => {
    expect([group, ...rows.map(judged)].join("\n")).toBe(recorded.get(group));
  });

  it("and no other is recorded", () => {
    expect([...recorded.keys()]).toEqual([...constructs.keys()]);
  });
});
