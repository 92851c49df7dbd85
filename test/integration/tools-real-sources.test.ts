import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { x as extract } from "tar";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createToolsFixture, type ToolsFixture } from "../support/tools-fixture.ts";

/** A package that publishes its sources: about a thousand TypeScript and JavaScript files. */
const packageName = "rxjs@7.8.2";

describe("published sources of a real package", () => {
  let base = "";
  let fixture: ToolsFixture | null = null;
  let missing = "";

  beforeAll(async () => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-sources-")));
    try {
      execFileSync("npm", ["pack", packageName, "--silent", "--pack-destination", base], {
        cwd: base,
        stdio: "pipe",
        shell: process.platform === "win32",
      });
    } catch (error) {
      if (process.env["CI"] === "true") throw error;
      missing = `${packageName} could not be fetched from the npm registry`;
      console.warn(`Not run: ${missing}.`);
      return;
    }
    const [tarball = ""] = readdirSync(base);
    const seed = createToolsFixture({ base });
    await extract({ file: join(base, tarball), cwd: seed.workspace, strip: 1 });
    fixture = seed;
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.invalid", ...args], { cwd: seed.workspace, stdio: "pipe" });
    git("init", "-q");
    git("add", ".");
    git("commit", "-q", "-m", "As published");
  });
  afterAll(() => {
    fixture?.close();
    rmSync(base, { recursive: true, force: true });
  });

  it("is searched, read, edited in several files, partly reviewed and restored", async ({ skip }) => {
    if (fixture === null) return skip(missing);
    const { run, tools } = fixture;
    const found = await run("search_workspace", { query: "export function isPromise", glob: "src/**" });
    expect(found.text).toMatch(/^src\/internal\/util\/isPromise\.ts:\d+: export function isPromise/);
    const uses = await tools.search(
      { query: "\\bisPromise\\b", regex: true, glob: "src/**/*.ts", limit: 1000 },
      new AbortController().signal,
    );
    const files = [...new Set(uses.items.map(({ path }) => path))];
    expect(files.length).toBeGreaterThan(1);
    expect((await run("list_files", { path: "src/internal/util", glob: "is*.ts" })).text.split("\n")).toContain(
      "src/internal/util/isPromise.ts",
    );
    expect(await tools.files("ispromise.ts", 1, new AbortController().signal)).toEqual(["src/internal/util/isPromise.ts"]);

    const before = new Map(files.map((path) => [path, fixture?.read(path)]));
    for (const path of files) {
      expect((await run("read_file", { path })).text).toContain("isPromise");
      const outcome = await run("edit_file", { path, old_text: "isPromise", new_text: "isThenable", replace_all: true });
      expect(outcome, outcome.text).toMatchObject({ isError: false, card: { tier: "T1" } });
    }
    expect((await run("git_status", {})).text).toMatch(/^## .*\n[^\n]*$/);
    const open = tools.changes.list({ questId: "q1", open: true, limit: 100 });
    expect(open.map(({ path }) => path).sort()).toEqual([...files].sort());

    const [kept, ...rest] = open;
    await tools.changes.decide(kept?.id ?? "", "reject");
    for (const { id } of rest) await tools.changes.decide(id, "accept");
    const status = (await run("git_status", {})).text
      .split("\n")
      .slice(1)
      .map((line) => line.slice(3));
    expect(status.sort()).toEqual(rest.map(({ path }) => path).sort());
    expect((await run("git_diff", {})).text).toContain("+");
    expect(tools.changes.takeReview("q1")).toMatchObject({ open: 0, text: expect.stringContaining(`${kept?.path}: all rejected.`) });

    const undone = await tools.checkpoints.restore({ questId: "q1" });
    expect(undone.conflicts).toEqual([]);
    for (const path of files) expect(fixture.read(path)).toBe(before.get(path));
    expect((await run("git_status", {})).text).toMatch(/^## .*\n[^\n]*$/);
  });

  it("takes a patch over several of its files, or none of it", async ({ skip }) => {
    if (fixture === null) return skip(missing);
    const firstLine = (path: string) => fixture?.read(path).split("\n")[0] ?? "";
    const paths = ["src/index.ts", "src/operators/index.ts", "src/ajax/index.ts"];
    const part = (path: string, old: string) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1,2 @@\n+// patched\n ${old}\n`;
    const good = paths.map((path) => part(path, firstLine(path))).join("");
    const bad = good + part("src/testing/index.ts", "not its first line");
    expect(await fixture.run("apply_patch", { patch: bad }, { quest: "q2" })).toMatchObject({
      isError: true,
      text: expect.stringContaining("src/testing/index.ts: Hunk 1"),
    });
    expect(fixture.tools.changes.list({ questId: "q2", limit: 10 })).toEqual([]);
    expect(await fixture.run("apply_patch", { patch: good }, { quest: "q2" })).toMatchObject({ isError: false });
    expect(
      fixture.tools.changes
        .list({ questId: "q2", open: true, limit: 10 })
        .map(({ path }) => path)
        .sort(),
    ).toEqual([...paths].sort());
  });
});
