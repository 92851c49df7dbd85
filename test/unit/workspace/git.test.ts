// @module-tag processes
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createToolsFixture, type ToolsFixture } from "../../support/tools-fixture.ts";

describe("git tools", () => {
  let fixture: ToolsFixture;
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.invalid", "-c", "core.hooksPath=/dev/null", ...args], {
      cwd: fixture.workspace,
      encoding: "utf8",
      stdio: "pipe",
    });
  beforeEach(() => {
    fixture = createToolsFixture();
    git("init", "-q", "-b", "main");
    fixture.write("a.txt", "one\n");
    fixture.write("dir/b.txt", "b\n");
    git("add", ".");
    git("commit", "-q", "-m", "First");
  });
  afterEach(() => fixture.close());

  it("show status, diff and log", async () => {
    expect((await fixture.run("git_status", {})).text).toBe("## main\nNo changes.");
    fixture.write("a.txt", "two\n");
    fixture.write("dir/b.txt", "c\n");
    fixture.write("new.txt", "n\n");
    git("add", "dir");
    expect((await fixture.run("git_status", {})).text.split("\n").sort()).toEqual(
      ["## main", " M a.txt", "?? new.txt", "M  dir/b.txt"].sort(),
    );
    expect((await fixture.run("git_status", { path: "dir" })).text).toBe("## main\nM  dir/b.txt");
    const diff = (await fixture.run("git_diff", {})).text;
    expect(diff).toContain("-one\n+two");
    expect(diff).not.toContain("b.txt");
    expect((await fixture.run("git_diff", { staged: true })).text).toContain("-b\n+c");
    expect((await fixture.run("git_diff", { path: "dir" })).text).toBe("No unstaged changes in dir.");
    expect((await fixture.run("git_diff", { limit: 2 })).text).toContain("more lines");
    expect((await fixture.run("git_log", { limit: "5" })).text).toMatch(/^[0-9a-f]{7,} \d{4}-\d\d-\d\d T: First$/);
    expect((await fixture.run("git_log", { path: "new.txt" })).text).toBe("No commits touched new.txt.");
  });

  it("do not show the content of secret files", async () => {
    fixture.write(".env", "A=hunter2hunter2\n");
    git("add", "-f", ".env");
    git("commit", "-q", "-m", "Env");
    fixture.write(".env", "A=swordfish9swordfish9\n");
    const text = (await fixture.run("git_diff", {})).text;
    expect(text).toContain("1 changed secret files are not shown");
    expect(text).not.toMatch(/hunter2|swordfish/);
    expect(await fixture.run("git_diff", { path: ".env" })).toMatchObject({ isError: true });
  });

  it("show nothing above the workspace", async () => {
    const inner = createToolsFixture({ workspace: fixture.path("dir"), dataDir: join(fixture.dataDir, "inner") });
    fixture.write("a.txt", "changed above\n");
    fixture.write("dir/b.txt", "changed\n");
    expect((await inner.run("git_status", {})).text).not.toContain("a.txt");
    const diff = (await inner.run("git_diff", {})).text;
    expect(diff).toContain("+changed");
    expect(diff).not.toContain("above");
    inner.close();
  });

  it("report a missing repository, and one without commits", async () => {
    const empty = createToolsFixture();
    expect(await empty.run("git_status", {})).toMatchObject({ isError: true, text: expect.stringContaining("not a git repository") });
    execFileSync("git", ["init", "-q"], { cwd: empty.workspace });
    expect((await empty.run("git_log", {})).text).toBe("This repository has no commits yet.");
    empty.close();
  });

  it.each(["--output=owned", "-c", "--upload-pack=x", ":(top)a.txt", "--"])("treat %s as a file name", async (path) => {
    for (const tool of ["git_status", "git_diff", "git_log"]) await fixture.run(tool, { path });
    expect(existsSync(fixture.path("owned"))).toBe(false);
  });

  it("run no program of a hostile repository", async () => {
    const canary = join(fixture.workspace, "..", "sprung");
    const trap = join(fixture.workspace, "..", "trap.sh");
    mkdirSync(dirname(trap), { recursive: true });
    writeFileSync(trap, `#!/bin/sh\necho "$0 $*" >> ${canary}\ncat\n`);
    chmodSync(trap, 0o755);
    for (const hook of ["post-index-change", "fsmonitor-watchman", "pre-commit", "post-checkout", "reference-transaction"]) {
      fixture.write(`.git/hooks/${hook}`, `#!/bin/sh\necho ${hook} >> ${canary}\n`);
      chmodSync(fixture.path(`.git/hooks/${hook}`), 0o755);
    }
    fixture.write(".gitattributes", "*.txt filter=evil diff=evil\n*.bin filter=evil=x diff=evil\n");
    fixture.write("c.bin", "bin\n");
    git("add", ".");
    git("commit", "-q", "-m", "Traps");
    const settings = {
      "core.fsmonitor": trap,
      "core.hooksPath": dirname(fixture.path(".git/hooks/x")),
      "core.pager": trap,
      "core.editor": trap,
      "core.sshCommand": trap,
      "core.askPass": trap,
      "core.gitProxy": trap,
      "core.alternateRefsCommand": trap,
      "pager.diff": trap,
      "pager.log": trap,
      "pager.status": trap,
      "diff.external": trap,
      "diff.evil.command": trap,
      "diff.evil.textconv": trap,
      "filter.evil.clean": trap,
      "filter.evil.smudge": trap,
      "filter.evil.process": trap,
      "filter.evil.required": "true",
      "gpg.program": trap,
      "log.showSignature": "true",
      "credential.helper": `!${trap}`,
      "interactive.diffFilter": trap,
      "alias.status": `!${trap}`,
      "alias.diff": `!${trap}`,
      "extensions.partialClone": "origin",
      "remote.origin.url": `ext::${trap}`,
      "remote.origin.promisor": "true",
      "remote.origin.uploadpack": trap,
      "core.worktree": "/",
    };
    for (const [key, value] of Object.entries(settings)) {
      execFileSync("git", ["config", "--file", fixture.path(".git/config"), key, value]);
    }
    // A filter whose name holds an equals sign cannot be reached by `-c`.
    writeFileSync(fixture.path(".git/config"), `[filter "evil=x"]\n\tclean = ${trap}\n\tprocess = ${trap}\n\trequired = true\n`, {
      flag: "a",
    });
    fixture.write("a.txt", "changed\n");
    fixture.write("c.bin", "changed\n");
    const status = await fixture.run("git_status", {});
    const diff = await fixture.run("git_diff", {});
    const staged = await fixture.run("git_diff", { staged: true });
    const log = await fixture.run("git_log", {});
    const ofFile = await fixture.run("git_log", { path: "a.txt" });
    expect(status.text).toContain(" M a.txt");
    expect(diff.text).toContain("+changed");
    expect(diff.text).toContain("c.bin");
    expect([staged, log, ofFile].map(({ isError }) => isError)).toEqual([false, false, false]);
    expect(existsSync(canary)).toBe(false);
    // The traps do spring when git is run as it comes.
    try {
      execFileSync("git", ["diff"], { cwd: fixture.workspace, stdio: "pipe", timeout: 120_000 });
    } catch {
      // What it answers is of no interest.
    }
    expect(existsSync(canary)).toBe(true);
  });
});
