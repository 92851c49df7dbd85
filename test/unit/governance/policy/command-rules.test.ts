import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseCommandTable, readCommandTable } from "../../../../agent-server/governance/policy/commands/command-table.ts";
import { commandTableFaults, createCommandPolicy } from "../../../../agent-server/governance/policy/commands/commands.ts";
import { createPathPolicy } from "../../../../agent-server/governance/policy/path-policy.ts";

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

  it("reports which rule an example contradicts", () => {
    const faults = commandTableFaults(read(row("")));
    expect(faults).toEqual(['frob matches "frob --all a", which it must not']);
    expect(commandTableFaults(read(row("none: [--all]")))).toEqual([]);
    expect(commandTableFaults(read(row("any: [--never]")))).toEqual(['frob does not match its example "frob a"']);
  });
});

describe("a rule", () => {
  const ruleOf = (more: string) => read(row(more)).programs.get("frob")?.rules[0];
  const asks = (more: string) => ruleOf(more)?.finding;

  it.each([
    ["allow", "", "T2", "low"],
    ["ask", "", "T2", "medium"],
    ["ask", "tier: T3", "T3", "high"],
    ["deny", "", "T3", "critical"],
    ["deny", "tier: T2", "T2", "critical"],
    ["ask", "risk: critical", "T2", "critical"],
    ["allow", "risk: high", "T2", "high"],
  ])("of verdict %s with %j is of tier %s and risk %s", (verdict, more, tier, risk) => {
    const table = read(row(more).replace("verdict: allow", `verdict: ${verdict}`));
    expect(table.programs.get("frob")?.rules[0]?.finding).toEqual({
      id: "frob",
      verdict,
      tier,
      risk,
      message: "Frobs.",
      instead: [],
      tags: [],
    });
  });

  it("keeps what it says, and what it does not say is open", () => {
    expect(asks('instead: ["Stop."]\n        tags: [read, write]')).toMatchObject({ instead: ["Stop."], tags: ["read", "write"] });
    expect(ruleOf("")).toMatchObject({
      sub: [],
      any: null,
      none: null,
      only: null,
      operand: null,
      operandsOnly: null,
      bare: null,
      raises: false,
      operands: null,
      values: new Map(),
      match: ["frob a"],
      notMatch: ["frob --all a"],
    });
    const full = ruleOf(
      'any: [-a]\n        none: [-b]\n        only: [-c]\n        bare: true\n        raises: true\n        operands: [text, read]\n        values: { "-v": write }',
    );
    expect(full).toMatchObject({ any: ["-a"], none: ["-b"], only: ["-c"], bare: true, raises: true, operands: ["text", "read"] });
    expect(full?.values).toEqual(new Map([["-v", "write"]]));
    expect(ruleOf("operands: output")?.operands).toEqual(["output"]);
  });

  it("takes a star for any text, a question mark for one character, and all else for itself", () => {
    const rule = ruleOf('sub: ["a* b?"]\n        operand: ["x.y"]\n        operands_only: ["(z)/*"]');
    expect(rule?.sub.map((expectedText) => expectedText.map(String))).toEqual([["/^a.*$/s", "/^b.$/s"]]);
    expect(rule?.operand?.map(String)).toEqual(["/^x\\.y$/s"]);
    expect(rule?.operandsOnly?.map(String)).toEqual(["/^\\(z\\)\\/.*$/s"]);
  });

  it("stands in a program with what the program says", () => {
    const program = (more: string) => read(row("").replace("    rules:", `    ${more}\n    rules:`)).programs.get("frob");
    expect(program("stop: false")).toMatchObject({
      style: "gnu",
      subcommands: false,
      stop: false,
      tool: false,
      shared: false,
      special: null,
      runs: null,
      operands: ["maybe"],
      values: new Map(),
    });
    expect(program("special: git")?.special).toBe("git");
    expect(program("runs: { after: 1, as: words }")?.runs).toEqual({ after: 1, as: "words" });
    expect(program("operands: [read, write]")?.operands).toEqual(["read", "write"]);
    expect(read(row("").replace("[frob]", "[frob, grob]")).programs.get("grob")?.shared).toBe(true);
  });
});

describe("a problem of a table is one sentence", () => {
  const ends = "Restore the file, or reinstall Lancelot.";

  it.each([
    ["torn", "version: 1", `The command rules in config/commands/x.yaml are malformed. ${ends}`],
    ["allowing at T3", row("tier: T3"), `The command rule frob in config/commands allows at T3. ${ends}`],
    [
      "an example of another program",
      row("").replace('["frob a"]', '["grob a"]'),
      `The command rule frob in config/commands has an example without its program: "grob a". ${ends}`,
    ],
    [
      "a rule twice",
      `${row("")}${row("").slice(row("").indexOf("      - id"))}`,
      `The command rule frob in config/commands stands twice in the table. ${ends}`,
    ],
    [
      "a program twice",
      `${row("")}${row("").slice(row("").indexOf("  - program")).replace("id: frob", "id: frob2")}`,
      `The command rule frob in config/commands is described twice. ${ends}`,
    ],
  ])("%s", (_what, text, message) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code: "internal", message }));
  });

  it("with what it comes from", () => {
    expect(() => read("version: 1")).toThrow(expect.objectContaining({ cause: expect.objectContaining({ name: "ZodError" }) }));
    const nowhere = join(base, "nowhere");
    expect(() => readCommandTable(nowhere)).toThrow(
      expect.objectContaining({
        code: "internal",
        message: "The command rules (config/commands) cannot be read. Reinstall Lancelot.",
        cause: expect.objectContaining({ code: "ENOENT" }),
      }),
    );
    mkdirSync(join(nowhere, "commands"), { recursive: true });
    expect(() => readCommandTable(nowhere)).toThrow(
      expect.objectContaining({ code: "internal", message: "There are no command rules (config/commands). Reinstall Lancelot." }),
    );
    for (const name of ["b.yaml", "a.yaml", "c.txt"]) writeFileSync(join(nowhere, "commands", name), name);
    expect(readCommandTable(nowhere)).toEqual(["a.yaml", "b.yaml"].map((name) => ({ name, text: name })));
  });

  it("and the version is over names and texts", () => {
    expect(read(row("")).version).toBe(
      createHash("sha256")
        .update(`x.yaml\0${row("")}\0`)
        .digest("hex"),
    );
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
