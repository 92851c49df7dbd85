// @module-tag processes
import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createToolsFixture, snapshotTree, type ToolsFixture } from "../../../support/tools-fixture.ts";

let fixture: ToolsFixture;

beforeEach(() => {
  fixture = createToolsFixture();
  fixture.write("src/a.ts", "export const a = 1;\nexport const total = a + 1;\n");
  fixture.write("src/b.ts", "import { a } from './a.ts';\n");
  fixture.write("docs/read me.md", "# Title\nTotal is a word.\n");
  fixture.write(".hidden", "h\n");
  fixture.write(".env", "API_KEY=abc123def456ghi789\n");
  fixture.write("bin.dat", Buffer.from([0, 1, 2, 255, 0]));
  fixture.write("empty.txt", "");
});
afterEach(() => fixture.close());

const signal = () => new AbortController().signal;
const run = (command: string, questId: string | null = null) => fixture.tools.repl(command, { quest: questId, signal: signal() });
const textOf = async (command: string): Promise<string> => {
  const outcome = await run(command);
  expect([command, outcome.isError, outcome.error?.message]).toEqual([command, false, undefined]);
  return outcome.text;
};
const refusal = async (command: string): Promise<{ code: string | undefined; text: string }> => {
  const outcome = await run(command);
  expect([command, outcome.isError]).toEqual([command, true]);
  return { code: outcome.error?.code, text: outcome.text };
};
const last = () => fixture.ledger.search({ limit: 1 }).items[0];

describe("ls", () => {
  it("lists a folder by name, hidden files on request", async () => {
    expect(await textOf("ls")).toBe("bin.dat\ndocs\nempty.txt\nsrc");
    expect(await textOf("ls -A")).toContain(".hidden");
    expect(await textOf("ls src docs")).toBe("src:\na.ts\nb.ts\n\ndocs:\nread me.md");
    expect(await textOf("ls -F")).toContain("src/");
    expect(await textOf("ls -R")).toContain("./src/a.ts");
    expect(await textOf("ls -l src/a.ts")).toMatch(/^-rw.{7} +48 \d{4}-\d\d-\d\d \d\d:\d\d src\/a\.ts$/);
    expect(await textOf("ls -ld src")).toMatch(/^d.* src$/);
    expect(await textOf("ls -r src")).toBe("b.ts\na.ts");
  });

  it("shows a name with a line feed on one line", async () => {
    fixture.write("src/odd\nname", "");
    expect(await textOf("ls src")).toBe("a.ts\nb.ts\nodd?name");
  });

  it("leaves a receipt like any tool", async () => {
    const outcome = await run("ls -la src");
    expect(fixture.ledger.get(outcome.receiptId ?? "")).toMatchObject({
      actionName: "repl.ls",
      status: "success",
      riskTier: "T0",
      inputs: { argv: ["-la", "src"] },
      metadata: { decision: [{ verdict: "allow" }] },
    });
  });
});

describe("cat", () => {
  it("shows complete files in order, with numbers on request", async () => {
    expect(await textOf("cat 'docs/read me.md' src/b.ts")).toBe("# Title\nTotal is a word.\nimport { a } from './a.ts';\n");
    expect(await textOf("cat -n src/a.ts")).toBe("     1\texport const a = 1;\n     2\texport const total = a + 1;");
    expect(await textOf("cat empty.txt")).toBe("");
  });

  it("truncates long files with a note", async () => {
    fixture.write("long.txt", `${"x".repeat(80)}\n`.repeat(5_000));
    const text = await textOf("cat long.txt");
    expect(Buffer.byteLength(text)).toBeLessThan(27_000);
    expect(text).toMatch(/\[cut: \d+ more lines/);
  });

  it("redacts secrets", async () => {
    fixture.write("notes.txt", "token ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8 end\n");
    const text = await textOf("cat notes.txt");
    expect(text).toContain("[redacted:");
    expect(text).not.toContain("ghp_A1b2");
  });

  it.each([
    ["cat missing.txt", "not_found", /does not exist/],
    ["cat src", "invalid_params", /is a folder/],
    ["cat bin.dat", "invalid_params", /not a text file/],
    ["cat", "invalid_params", /Name a file/],
    ["cat -z a", "invalid_params", /-z/],
    ["cat .env", "denied", /^Blocked: /],
    ["cat src/../.env", "denied", /^Blocked: /],
    ["cat ./src/.././/.env", "denied", /^Blocked: /],
  ])("%s", async (command, code, expectedText) => {
    const { code: got, text } = await refusal(command);
    expect(got).toBe(code);
    expect(text).toMatch(expectedText);
    expect(last()?.status).toBe("failure");
  });

  it.runIf(process.platform !== "win32")(
    "does not get at a secret through a link, and not out of the workspace without a word from the owner",
    async () => {
      symlinkSync(join(fixture.workspace, ".env"), fixture.path("innocent.txt"));
      expect((await refusal("cat innocent.txt")).code).toBe("denied");
      const outside = join(fixture.workspace, "../outside.txt");
      writeFileSync(outside, "beyond\n");
      symlinkSync(outside, fixture.path("out.txt"));
      fixture.answer("deny", "No.");
      for (const command of ["cat out.txt", "cat ../outside.txt", `cat ${outside}`]) {
        const { text } = await refusal(command);
        expect(text).not.toContain("beyond");
      }
      fixture.answer("allow_once");
      expect(await textOf("cat out.txt")).toBe("beyond\n");
    },
  );
});

describe("grep", () => {
  it.each([
    ["grep total src/a.ts", "export const total = a + 1;"],
    ["grep -n total src/a.ts", "2:export const total = a + 1;"],
    ["grep -in TOTAL 'docs/read me.md'", "2:Total is a word."],
    ["grep -c export src/a.ts", "2"],
    ["grep -v total src/a.ts", "export const a = 1;"],
    ["grep -rl total src", "src/a.ts"],
    ["grep -rn total src", "src/a.ts:2:export const total = a + 1;"],
    ["grep -F 'a + 1' src/a.ts", "export const total = a + 1;"],
    ["grep -o 'a [+] 1' src/a.ts", "a + 1"],
    ["grep -E '^import|^export const t' src/a.ts src/b.ts", "src/a.ts:export const total = a + 1;\nsrc/b.ts:import { a } from './a.ts';"],
    ["grep -e total -e import -h src/a.ts src/b.ts", "export const total = a + 1;\nimport { a } from './a.ts';"],
    ["grep -m1 export src/a.ts", "export const a = 1;"],
    ["grep -w nothing src/a.ts", "Nothing matches."],
    ["grep -- -x src/a.ts", "Nothing matches."],
  ])("%s", async (command, text) => expect(await textOf(command)).toBe(text));

  it("never shows a line of a secret file, by name or in a folder", async () => {
    expect((await refusal("grep KEY .env")).code).toBe("denied");
    expect(await textOf("grep -rn API_KEY .")).toBe("Nothing matches.");
    expect(await textOf("grep -rl API_KEY")).toBe("Nothing matches.");
  });

  it.each([
    ["grep '(' src/a.ts", /regex/],
    ["grep x", /Name a file/],
    ["grep", /^grep: /],
    ["grep x src", /Search it with -r/],
    ["grep -f patterns src/a.ts", /-e/],
    ["grep --pre=sh x src/a.ts", /--pre/],
    ["grep -A many x src/a.ts", /takes a number/],
  ])("%s", async (command, expectedText) => expect((await refusal(command)).text).toMatch(expectedText));

  it("treats a pattern that looks like an option of ripgrep as a pattern", async () => {
    expect(await textOf("grep -e --pre=sh src/a.ts")).toBe("Nothing matches.");
  });
});

describe("find", () => {
  it.each([
    ["find . -name '*.ts'", "./src/a.ts\n./src/b.ts"],
    ["find src -type f", "src/a.ts\nsrc/b.ts"],
    ["find . -type d", ".\n./docs\n./src"],
    ["find . -iname 'READ*'", "./docs/read me.md"],
    ["find . -maxdepth 1 -type f -empty", "./empty.txt"],
    ["find . -type f -not -name '*.ts' -size +20c", "./.env\n./docs/read me.md"],
    ["find src ! -name 'a*' -type f", "src/b.ts"],
    ["find . -path './src/*' -name 'b*'", "./src/b.ts"],
    ["find . -name 'nothing*'", "Nothing matches."],
  ])("%s", async (command, text) => expect(await textOf(command)).toBe(text));

  it.each(["-exec rm {} +", "-execdir sh", "-ok rm", "-delete", "-fprint x", "-fprintf x y", "-fls x", "-files0-from x"])(
    "refuses expressions with effects: %s",
    async (expression) => {
      const before = snapshotTree(fixture.workspace);
      const { code, text } = await refusal(`find . -name '*.ts' ${expression}`);
      expect([code, text]).toEqual(["invalid_params", expect.stringContaining(expression.split(" ")[0] ?? "")]);
      expect(snapshotTree(fixture.workspace)).toEqual(before);
    },
  );

  it.runIf(process.platform !== "win32")("does not follow links", async () => {
    const outside = join(fixture.workspace, "../elsewhere");
    mkdirSync(outside);
    writeFileSync(join(outside, "deep.ts"), "");
    symlinkSync(outside, fixture.path("link"));
    symlinkSync(fixture.workspace, fixture.path("loop"));
    expect(await textOf("find . -name '*.ts'")).toBe("./src/a.ts\n./src/b.ts");
    expect(await textOf("find . -type l")).toBe("./link\n./loop");
  });
});

describe("cp", () => {
  it("copies a file with its mode, after a checkpoint that can restore the target", async () => {
    chmodSync(fixture.path("src/a.ts"), 0o755);
    fixture.write("dist/a.ts", "old\n");
    const outcome = await run("cp src/a.ts dist/a.ts", "q1");
    expect([outcome.isError, outcome.text]).toEqual([false, "src/a.ts → dist/a.ts"]);
    expect(fixture.read("dist/a.ts")).toBe(fixture.read("src/a.ts"));
    if (process.platform !== "win32") expect(statSync(fixture.path("dist/a.ts")).mode & 0o777).toBe(0o755);
    const receipt = fixture.ledger.get(outcome.receiptId ?? "");
    expect(receipt).toMatchObject({
      actionName: "repl.cp",
      status: "success",
      riskTier: "T1",
      outputs: { checkpointId: expect.any(String) as string },
    });
    await fixture.tools.checkpoints.restore({ id: String(receipt?.outputs["checkpointId"]) });
    expect(fixture.read("dist/a.ts")).toBe("old\n");
  });

  it.each([
    ["cp src/a.ts docs", ["docs/a.ts"]],
    ["cp src/a.ts src/b.ts docs", ["docs/a.ts", "docs/b.ts"]],
    ["cp -r src copy", ["copy/a.ts", "copy/b.ts"]],
    ["cp -r src docs", ["docs/src/a.ts", "docs/src/b.ts"]],
    ["cp bin.dat other.dat", ["other.dat"]],
    ["cp 'docs/read me.md' \"new name.md\"", ["new name.md"]],
  ])("%s", async (command, made) => {
    await textOf(command);
    for (const path of made) expect(existsSync(fixture.path(path))).toBe(true);
  });

  it("keeps existing files with -n", async () => {
    expect(await textOf("cp -n src/a.ts src/b.ts")).not.toContain("→");
    expect(fixture.read("src/b.ts")).toContain("import");
  });

  it.each([
    ["cp src/a.ts", /^cp: /],
    ["cp missing x", /does not exist/],
    ["cp src copy", /Copy it with -r/],
    ["cp src/a.ts src/a.ts", /same file/],
    ["cp src/a.ts ./src/../src/a.ts", /same file/],
    ["cp src/a.ts src/b.ts x", /is not a folder/],
    ["cp -r src src/inner", /into itself/],
    ["cp src/a.ts nowhere/", /does not exist/],
    ["cp -s src/a.ts link", /^cp: /],
    ["cp .env env.txt", /^Blocked: /],
    ["cp -r . copy", /into itself/],
  ])("%s", async (command, expectedText) => {
    const before = snapshotTree(fixture.workspace);
    expect((await refusal(command)).text).toMatch(expectedText);
    expect(snapshotTree(fixture.workspace)).toEqual(before);
  });

  it("does not copy a secret in a folder", async () => {
    fixture.write("conf/.env", "PASSWORD=hunter2hunter2\n");
    fixture.write("conf/plain.txt", "x\n");
    const { code } = await refusal("cp -r conf copy");
    expect(code).toBe("denied");
    expect(existsSync(fixture.path("copy"))).toBe(false);
  });

  it.each(["cp src/a.ts .vscode/settings.json", "cp src/a.ts .git/hooks/pre-commit", "cp src/a.ts ../beyond.ts"])(
    "%s requires approval, and a denial changes nothing",
    async (command) => {
      fixture.answer("deny", "No.");
      const before = snapshotTree(join(fixture.workspace, ".."), (path) => path.includes("/data"));
      expect((await refusal(command)).code).toBe("denied");
      expect(snapshotTree(join(fixture.workspace, ".."), (path) => path.includes("/data"))).toEqual(before);
    },
  );

  it("writes nothing in a restricted workspace", async () => {
    fixture.close();
    fixture = createToolsFixture({ trusted: false });
    fixture.write("a.txt", "x");
    expect((await refusal("cp a.txt b.txt")).code).toBe("denied");
    expect(existsSync(fixture.path("b.txt"))).toBe(false);
  });
});

describe("mv", () => {
  it("is a write and a deletion, which require approval", async () => {
    fixture.answer("allow_once");
    const outcome = await run("mv src/b.ts src/c.ts");
    expect([outcome.isError, outcome.text]).toEqual([false, "src/b.ts → src/c.ts"]);
    expect([existsSync(fixture.path("src/b.ts")), fixture.read("src/c.ts")]).toEqual([false, "import { a } from './a.ts';\n"]);
    const receipt = fixture.ledger.get(outcome.receiptId ?? "");
    expect(receipt?.riskTier).toBe("T3");
    await fixture.tools.checkpoints.restore({ id: String(receipt?.outputs["checkpointId"]) });
    expect([existsSync(fixture.path("src/c.ts")), existsSync(fixture.path("src/b.ts"))]).toEqual([false, true]);
  });

  it("changes nothing when the user denies it", async () => {
    fixture.answer("deny", "Keep it.");
    const before = snapshotTree(fixture.workspace);
    expect((await refusal("mv src/b.ts src/c.ts")).text).toContain("Keep it.");
    expect(snapshotTree(fixture.workspace)).toEqual(before);
  });

  it("does not move folders", async () => {
    const before = snapshotTree(fixture.workspace);
    expect((await refusal("mv src lib")).text).toMatch(/^mv: src /);
    expect(snapshotTree(fixture.workspace)).toEqual(before);
  });
});
