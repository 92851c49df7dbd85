// @module-tag processes
import { mkdirSync, symlinkSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createToolsFixture, type ToolsFixture } from "../../support/tools-fixture.ts";

const many = Array.from({ length: 1000 }, (_, index) => `line ${index + 1}\n`).join("");
const png = Buffer.from("89504e470d0a1a0a0000000d4948445200000140000000f00806000000", "hex");

describe("reading", () => {
  let fixture: ToolsFixture;
  beforeEach(() => {
    fixture = createToolsFixture();
  });
  afterEach(() => fixture.close());
  const text = async (tool: string, args: unknown) => (await fixture.run(tool, args)).text;

  it("numbers lines and says how to continue", async () => {
    fixture.write("m.txt", many);
    const first = await text("read_file", { path: "m.txt" });
    expect(first.split("\n")[0]).toBe("1\tline 1");
    expect(first).toContain("400\tline 400\n[lines 1–400 of 1000. Read on with offset 401.]");
    expect(await text("read_file", { path: "m.txt", offset: 999 })).toBe("999\tline 999\n1000\tline 1000\n[lines 999–1000 of 1000.]");
    expect(await text("read_file", { path: "m.txt", offset: 3, limit: 1 })).toBe("3\tline 3\n[lines 3–3 of 1000. Read on with offset 4.]");
    expect(await fixture.run("read_file", { path: "m.txt", offset: 2000 })).toMatchObject({
      isError: true,
      text: "m.txt has 1000 lines; offset is past its end.",
    });
  });

  it.each<[string, string | Buffer, string | RegExp]>([
    ["a small file", "a\nb\n", "1\ta\n2\tb"],
    ["no last newline", "a\nb", "1\ta\n2\tb"],
    ["an empty file", "", "(f is empty)"],
    ["CRLF", "a\r\nb\r\n", "1\ta\n2\tb\n[CRLF line endings]"],
    ["UTF-8 with BOM", "\ufeffä\n", "1\tä\n[UTF-8 with BOM]"],
    ["UTF-16", Buffer.from("\ufeffä\n", "utf16le"), "1\tä\n[UTF-16 LE with BOM]"],
    ["Latin-1", Buffer.from("ä\n", "latin1"), "1\tä\n[Windows-1252]"],
    ["an image", png, /f is a PNG image, 320×240 pixels \(\d+ bytes\), not text/],
    ["binary data", Buffer.from([1, 2, 0, 4]), /f is binary data/],
    ["a very long line", `${"x".repeat(5000)}\ny\n`, /^1\tx{1000}… \[line cut, 5000 characters\]\n2\ty$/],
  ])("shows %s", async (_name, content, expected) => {
    fixture.write("f", content);
    const shown = await text("read_file", { path: "f" });
    if (typeof expected === "string") expect(shown).toBe(expected);
    else expect(shown).toMatch(expected);
  });

  it("is bounded in bytes, in whole lines", async () => {
    fixture.write("wide.txt", `${"w".repeat(900)}\n`.repeat(300));
    const shown = await text("read_file", { path: "wide.txt" });
    expect(Buffer.byteLength(shown)).toBeLessThan(25_000);
    expect(shown).toMatch(/\[lines 1–\d+ of 300\. Read on with offset \d+\.\]$/);
  });

  it("reports folders and missing files, and follows links", async () => {
    fixture.write("src/server.ts", "x\n");
    symlinkSync("src/server.ts", fixture.path("link.ts"));
    expect(await text("read_file", { path: "src" })).toContain('Use list_files with path "src"');
    expect(await text("read_file", { path: "src/server.tsx" })).toMatch(/^src\/server\.tsx .*: server\.ts\.$/);
    expect(await text("read_file", { path: "link.ts" })).toBe("1\tx");
  });

  it("lists files that are not ignored, sorted, by folder, glob and depth", async () => {
    for (const path of [
      "b.ts",
      "a.ts",
      ".hidden/x.yml",
      "src/deep/c.ts",
      "src/d.js",
      "out/e.ts",
      "node_modules/p/index.js",
      ".git/config",
    ]) {
      fixture.write(path, "x\n");
    }
    fixture.write(".gitignore", "out/\nnode_modules\n");
    expect(await text("list_files", {})).toBe([".gitignore", ".hidden/x.yml", "a.ts", "b.ts", "src/d.js", "src/deep/c.ts"].join("\n"));
    expect(await text("list_files", { depth: 1 })).toBe([".gitignore", ".hidden/", "a.ts", "b.ts", "src/"].join("\n"));
    expect(await text("list_files", { path: "src" })).toBe("src/d.js\nsrc/deep/c.ts");
    expect(await text("list_files", { path: "src", depth: "1" })).toBe("src/d.js\nsrc/deep/");
    expect(await text("list_files", { glob: "*.ts" })).toBe("a.ts\nb.ts\nsrc/deep/c.ts");
    expect(await text("list_files", { glob: "src/**" })).toBe("src/d.js\nsrc/deep/c.ts");
    expect(await text("list_files", { path: "src", glob: "deep/*" })).toBe("src/deep/c.ts");
    expect(await text("list_files", { glob: "*.md" })).toContain("*.md");
    expect(await text("list_files", { path: "a.ts" })).toContain("is a file");
    expect(await text("list_files", { path: "nowhere" })).toContain("does not exist");
  });

  it("lists at most 400", async () => {
    for (let index = 0; index < 450; index++) fixture.write(`f/${String(index).padStart(4, "0")}`, "");
    const lines = (await text("list_files", {})).split("\n");
    expect(lines).toHaveLength(401);
    expect(lines.at(-1)).toBe("[more than 400 files: narrow with path, glob or depth]");
  });

  it("searches text and patterns, without ignored, secret, binary and linked files", async () => {
    fixture.write("a.ts", "const Alpha = 1;\nalpha();\n");
    fixture.write("src/b.ts", "  alpha\r\n");
    fixture.write(".hidden.ts", "alpha hidden\n");
    fixture.write(".env", "alpha=secret\n");
    fixture.write("out/c.ts", "alpha ignored\n");
    fixture.write("bin", Buffer.from("alpha\0alpha\n"));
    fixture.write(".git/x", "alpha\n");
    fixture.write(".gitignore", "out\n");
    mkdirSync(fixture.path("../elsewhere"), { recursive: true });
    fixture.write("../elsewhere/d.ts", "alpha outside\n");
    symlinkSync("../elsewhere", fixture.path("linked"));
    const search = (args: object) => text("search_workspace", args);
    expect(await search({ query: "alpha" })).toBe(
      [".hidden.ts:1: alpha hidden", "a.ts:1: const Alpha = 1;", "a.ts:2: alpha();", "src/b.ts:1:   alpha"].join("\n"),
    );
    expect(await search({ query: "Alpha" })).toBe("a.ts:1: const Alpha = 1;");
    expect(await search({ query: "alpha();" })).toBe("a.ts:2: alpha();");
    expect(await search({ query: "^alpha\\(", regex: true })).toBe("a.ts:2: alpha();");
    expect(await search({ query: "alpha", glob: "src/**" })).toBe("src/b.ts:1:   alpha");
    expect(await search({ query: "alpha", limit: "1" })).toMatch(/^\.hidden\.ts:1: alpha hidden\n\[stopped at 1 matches/);
    expect(await search({ query: "1;\nalpha" })).toBe("a.ts:1: const Alpha = 1;\na.ts:2: alpha();");
    expect(await search({ query: "nothing like it" })).not.toMatch(/:\d+:/);
    expect(await search({ query: "-e" })).not.toMatch(/:\d+:/);
    expect(await fixture.run("search_workspace", { query: "a(", regex: true })).toMatchObject({
      isError: true,
      text: expect.stringContaining("unclosed group"),
    });
  });

  it("cuts long lines of matches", async () => {
    fixture.write("min.js", `needle${"x".repeat(3_000_000)}\n`);
    const found = await text("search_workspace", { query: "needle" });
    expect(found.length).toBeLessThan(700);
    expect(found).toContain("min.js:1: needlexxx");
  });

  it("ignores the configuration of the user's ripgrep", async () => {
    fixture.write("a.ts", "alpha\n");
    fixture.write("rc", "--invert-match\n");
    process.env["RIPGREP_CONFIG_PATH"] = fixture.path("rc");
    try {
      expect(await text("search_workspace", { query: "alpha" })).toBe("a.ts:1: alpha");
    } finally {
      delete process.env["RIPGREP_CONFIG_PATH"];
    }
  });

  it("names the proposed edits that it did not search", async () => {
    fixture.write("a.ts", "alpha\n");
    await fixture.run("write_file", { path: "a.ts", content: "beta\n" });
    expect(await text("search_workspace", { query: "beta" })).toContain(
      "[not searched: your proposed edits of a.ts; use read_file for those]",
    );
  });

  it("finds files by name, best first", async () => {
    for (const path of ["server.ts", "src/server.ts", "src/my-server.ts", "server/index.ts", "test/x.ts"]) fixture.write(path, "x");
    const files = (query: string) => fixture.tools.files(query, 10, new AbortController().signal);
    expect(await files("Server")).toEqual(["server.ts", "src/server.ts", "src/my-server.ts", "server/index.ts"]);
    expect(await files("")).toHaveLength(5);
  });

  it("lists the editor's problems, worst first, and fails without an editor", async () => {
    expect(fixture.tools.schemas(["diagnostics"])).toEqual([]);
    expect(await fixture.run("diagnostics", {})).toMatchObject({ isError: true, error: { code: "unavailable" } });
    const item = { path: "a.ts", line: 3, column: 5, source: "ts", message: "Wrong\ntype" };
    const edited = createToolsFixture({
      askEditor: (async () => ({
        items: [
          { ...item, severity: "warning" },
          { ...item, severity: "error" },
          { ...item, path: ".env", severity: "error" },
        ],
      })) as never,
    });
    expect((await edited.run("diagnostics", {})).text).toBe("a.ts:3:5 error: Wrong type (ts)\na.ts:3:5 warning: Wrong type (ts)");
    edited.close();
  });
});
