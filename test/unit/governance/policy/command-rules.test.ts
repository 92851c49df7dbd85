import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseCommandTable } from "../../../../agent-server/governance/policy/command-rules.ts";
import { commandTableFaults, createCommandPolicy } from "../../../../agent-server/governance/policy/commands.ts";
import { createPathPolicy } from "../../../../agent-server/governance/policy/paths.ts";

const shipped = join(import.meta.dirname, "../../../../config");

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "lancelot-rules-"));
  cpSync(shipped, join(base, "config"), { recursive: true });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const policyOf = () => {
  const configDir = join(base, "config");
  const { resolve } = createPathPolicy({ workspace: base, dataDir: join(base, "data"), configDir });
  return createCommandPolicy({ configDir, workspace: base, resolvePath: resolve });
};

const row = (more: string) => `version: 1
programs:
  - program: [frob]
    rules:
      - id: frob
        verdict: allow
        message: Frobs.
        match: ["frob a"]
        not_match: ["frob --all a"]
        ${more}
`;
const read = (text: string) => parseCommandTable([{ name: "x.yaml", text }]);

describe("the table", () => {
  it("that is shipped agrees with every example in it", () => {
    const folder = join(shipped, "commands");
    const table = parseCommandTable(readdirSync(folder).map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") })));
    expect(commandTableFaults(table)).toEqual([]);
    const rules = new Set([...table.programs.values()].flatMap((program) => program.rules));
    expect(rules.size).toBeGreaterThan(250);
    for (const { match, notMatch } of rules) {
      expect(match.length).toBeGreaterThan(0);
      expect(notMatch.length).toBeGreaterThan(0);
    }
  });

  it("has a version that changes with any byte of it", () => {
    const before = policyOf();
    expect(before.problem).toBeNull();
    expect(before.version).toMatch(/^[\da-f]{64}$/);
    const file = join(base, "config/commands/git.yaml");
    writeFileSync(file, `${readFileSync(file, "utf8")}# note\n`);
    const after = policyOf();
    expect(after.problem).toBeNull();
    expect(after.version).not.toBe(before.version);
  });

  it.each([
    ["an unknown field", row("colour: red")],
    ["an unknown verdict", row("any: [-x]").replace("verdict: allow", "verdict: maybe")],
    ["an allow at T3", row("tier: T3")],
    ["a message that is no sentence", row("").replace("Frobs.", "frobs")],
    ["an unknown tag", row("tags: [frobbing]")],
    ["an unknown use of operands", row("operands: frob")],
    ["a flag without a dash", row("any: [force]")],
    ["no examples", row("").replace(/ {8}match:.*\n/, "")],
    ["an example of another program", row("").replace('["frob a"]', '["grob a"]')],
    ["another version", row("").replace("version: 1", "version: 2")],
    ["the same rule twice", `${row("")}${row("").slice(row("").indexOf("      - id")).replaceAll("frob a", "frob b")}`],
    ["the same program twice", `${row("")}${row("").slice(row("").indexOf("  - program")).replace("id: frob", "id: frob2")}`],
    ["an alias of YAML", row("instead: &a [Stop.]\n        tags: *a")],
    ["what is no YAML", "version: 1\nprograms: ["],
    ["a list", "- 1"],
    ["nothing", ""],
  ])("with %s is not used", (_what, text) => {
    expect(() => read(text)).toThrow(/config\/commands/);
  });

  it("tells which rule an example contradicts", () => {
    const faults = commandTableFaults(read(row("")));
    expect(faults).toEqual(['frob matches "frob --all a", which it must not']);
    expect(commandTableFaults(read(row("none: [--all]")))).toEqual([]);
    expect(commandTableFaults(read(row("any: [--never]")))).toEqual(['frob does not match its example "frob a"']);
  });
});

describe("a table that cannot be used denies every command", () => {
  it.each([
    ["is missing", (folder: string) => rmSync(folder, { recursive: true })],
    ["is empty", (folder: string) => readdirSync(folder).forEach((name) => rmSync(join(folder, name)))],
    ["is malformed", (folder: string) => writeFileSync(join(folder, "git.yaml"), "version: 1\n")],
    [
      "contradicts its own examples",
      (folder: string) => {
        const file = join(folder, "git.yaml");
        writeFileSync(
          file,
          readFileSync(file, "utf8").replace('[read]\n        match: ["git status"', '[read]\n        match: ["git push --force"'),
        );
      },
    ],
  ])("when it %s", (_what, spoil) => {
    spoil(join(base, "config/commands"));
    const policy = policyOf();
    expect(policy.problem).toMatch(/config\/commands.*(?:Reinstall|reinstall)/s);
    expect(policy.version).toBe("");
    for (const command of ["ls", "git status", "", "rm -rf /"]) {
      const judged = policy.judge(command, undefined);
      expect(judged.verdict).toBe("deny");
      expect(judged.rules.map((rule) => rule.id)).toEqual(["command.table-failed"]);
      expect(judged.tier).toBe("T3");
    }
  });
});
