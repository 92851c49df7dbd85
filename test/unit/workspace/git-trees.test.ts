// @module-tag processes
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createGitFixture, type GitFixture, put } from "../../support/tools/git-fixture.ts";
import { snapshotTree } from "../../support/tools-fixture.ts";

let base = "";
let home = "";
let fixture: GitFixture;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-git-trees-")));
  home = join(base, "home");
  vi.stubEnv("HOME", home);
  vi.stubEnv("XDG_CONFIG_HOME", undefined);
  fixture = createGitFixture({ base, home });
  fixture.answer("allow_once");
});
afterEach(() => {
  vi.unstubAllEnvs();
  fixture.close();
  rmSync(base, { recursive: true, force: true });
});

const settled = async (of: GitFixture) => {
  expect(await of.tools.verifications.settle("q1", { timeoutMs: 20_000 })).toBe(true);
  expect(of.tools.verifications.takeFailures("q1")).toBe("");
};

describe("submodules", () => {
  let first = "";
  let second = "";
  beforeEach(() => {
    const library = join(base, "library");
    put(join(library, "lib.txt"), "one\n");
    fixture.gitIn(library, "init", "-q", "-b", "main");
    fixture.gitIn(library, "add", ".");
    fixture.gitIn(library, "commit", "-qm", "Library");
    fixture.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", library, "sub");
    fixture.git("commit", "-qm", "Submodule");
    first = fixture.gitIn(fixture.path("sub"), "rev-parse", "HEAD").trim();
    put(fixture.path("sub/lib.txt"), "two\n");
    fixture.gitIn(fixture.path("sub"), "commit", "-qam", "Newer");
    second = fixture.gitIn(fixture.path("sub"), "rev-parse", "HEAD").trim();
  });

  it("at another commit are shown, and committed as a pointer", async () => {
    expect((await fixture.run("git_status", {})).text).toContain(" M sub");
    expect((await fixture.run("git_diff", {})).text).toMatch(new RegExp(`-Subproject commit ${first}\n\\+Subproject commit ${second}`));
    fixture.write("a.txt", "two\n");
    const outcome = await fixture.run("git_commit", { message: "Newer library", paths: ["."] });
    expect([outcome.isError, outcome.text]).toEqual([false, expect.stringContaining("Committed 2 files")]);
    expect(fixture.git("ls-tree", "HEAD", "sub")).toBe(`160000 commit ${second}\tsub\n`);
    expect(fixture.git("status", "--porcelain")).toBe("");
    await settled(fixture);
    expect((await fixture.tools.checkpoints.restore({ questId: "q1" })).conflicts).toEqual([]);
    expect(fixture.git("ls-tree", "HEAD", "sub")).toBe(`160000 commit ${first}\tsub\n`);
    expect(fixture.git("status", "--porcelain")).toBe(" M a.txt\n M sub\n");
  });

  it("are committed by their own path, not by a path inside them", async () => {
    expect((await fixture.run("git_commit", { message: "Pointer", paths: ["sub"] })).isError).toBe(false);
    put(fixture.path("sub/lib.txt"), "three\n");
    expect((await fixture.run("git_status", {})).text).toMatch(/^## .*\n[^\n]*$/);
    expect((await fixture.run("git_commit", { message: "No", paths: ["sub"] })).text).toContain("nothing to commit");
    expect(fixture.gitIn(fixture.path("sub"), "status", "--porcelain")).toBe(" M lib.txt\n");
    expect(fixture.gitIn(fixture.path("sub"), "rev-parse", "HEAD").trim()).toBe(second);
  });

  it("keep a staged pointer when other files are committed", async () => {
    fixture.git("add", "sub");
    fixture.write("a.txt", "two\n");
    expect((await fixture.run("git_commit", { message: "File", paths: ["a.txt"] })).isError).toBe(false);
    expect(fixture.git("status", "--porcelain")).toBe("M  sub\n");
    expect((await fixture.run("git_commit", { message: "Pointer", paths: ["sub"] })).isError).toBe(false);
    expect(fixture.git("ls-tree", "HEAD", "sub")).toContain(second);
  });

  it("that were removed are committed as removed", async () => {
    fixture.git("rm", "-qf", "sub");
    const outcome = await fixture.run("git_commit", { message: "Without", paths: ["."] });
    expect([outcome.isError, outcome.text]).toEqual([false, expect.any(String)]);
    expect(fixture.git("ls-tree", "HEAD", "sub")).toBe("");
  });

  it("start no program from their settings", async () => {
    const trap = join(base, "trap.sh");
    put(trap, `#!/bin/sh\ntouch ${join(base, "sprung")}\n`, 0o755);
    const config = fixture.path(".git/modules/sub/config");
    put(
      config,
      `${readFileSync(config, "utf8")}\n[core]\n\tfsmonitor = ${trap}\n[filter "evil"]\n\tclean = ${trap}\n[diff]\n\texternal = ${trap}\n`,
    );
    put(fixture.path(".git/modules/sub/info/attributes"), "* filter=evil\n");
    put(fixture.path(".git/modules/sub/hooks/post-index-change"), `#!/bin/sh\ntouch ${join(base, "sprung")}\n`, 0o755);
    for (const staged of [false, true]) {
      if (staged) fixture.git("update-index", "--cacheinfo", `160000,${second},sub`);
      for (const [tool, args] of [
        ["git_status", {}],
        ["git_status", { path: "sub" }],
        ["git_diff", {}],
        ["git_diff", { staged: true }],
      ] as const)
        expect([tool, (await fixture.run(tool, args)).isError]).toEqual([tool, false]);
    }
    expect((await fixture.run("git_commit", { message: "Pointer", paths: ["sub"] })).isError).toBe(false);
    expect((await fixture.run("git_commit", { message: "Again", paths: ["."] })).isError).toBe(true);
    expect(existsSync(join(base, "sprung"))).toBe(false);
    // Git as it comes does start it.
    fixture.gitIn(fixture.path("sub"), "status");
    expect(existsSync(join(base, "sprung"))).toBe(true);
  });

  it("with a foreign repository are not committed", async () => {
    const victim = join(base, "victim");
    put(join(victim, "f"), "f\n");
    fixture.gitIn(victim, "init", "-q");
    fixture.gitIn(victim, "add", ".");
    fixture.gitIn(victim, "commit", "-qm", "Private");
    put(fixture.path("sub/.git"), `gitdir: ${join(victim, ".git")}\n`);
    const before = snapshotTree(victim);
    const { isError, text } = await fixture.run("git_commit", { message: "Theirs", paths: ["sub"] });
    expect([isError, text]).toEqual([true, expect.stringMatching(/^Blocked: git_commit/)]);
    expect([fixture.git("ls-tree", "HEAD", "sub"), snapshotTree(victim)]).toEqual([`160000 commit ${first}\tsub\n`, before]);
  });

  it("are unchanged after a checkout of another branch", async () => {
    fixture.git("branch", "old", "HEAD~1");
    const { isError, text } = await fixture.run("git_checkout", { ref: "old" });
    expect([isError, text]).toEqual([false, expect.stringContaining("Checked out old")]);
    expect(fixture.gitIn(fixture.path("sub"), "rev-parse", "HEAD").trim()).toBe(second);
    expect(readFileSync(fixture.path("sub/lib.txt"), "utf8")).toBe("two\n");
  });
});

describe("a linked work tree", () => {
  it("shows, commits and checks out its own branch without changing the main work tree", async () => {
    fixture.git("branch", "other");
    fixture.git("worktree", "add", "-q", "-b", "side", join(base, "side"));
    fixture.write("a.txt", "work of the owner\n");
    fixture.write("staged.txt", "staged\n");
    fixture.git("add", "staged.txt");
    const side = createGitFixture({ base: join(base, "two"), home, workspace: join(base, "side"), empty: true });
    side.answer("allow_once");
    try {
      const main = () => ({
        files: snapshotTree(fixture.workspace, (path) => path === fixture.path(".git")),
        own: ["HEAD", "index", "config", "refs/heads/main", "logs/HEAD", "refs/heads/other"].map((name) =>
          readFileSync(fixture.path(`.git/${name}`), "base64"),
        ),
      });
      const before = main();
      expect((await side.run("git_status", {})).text).toBe("## side\nNo changes.");
      side.write("dir/b.txt", "side\n");
      expect((await side.run("git_status", {})).text).toContain(" M dir/b.txt");
      expect((await side.run("git_diff", {})).text).toContain("+side");
      expect((await side.run("git_commit", { message: "Side", paths: ["."] })).text).toContain("to side as");
      expect((await side.run("git_log", { limit: 1 })).text).toContain("Side");
      expect((await side.run("git_checkout", { ref: "other" })).text).toContain("Checked out other");
      expect(side.read("dir/b.txt")).toBe("b\n");
      expect((await side.run("git_checkout", { ref: "main" })).isError).toBe(true);
      expect((await side.run("git_checkout", { ref: "side" })).isError).toBe(false);
      await settled(side);
      expect(main()).toEqual(before);
      expect((await side.tools.checkpoints.restore({ questId: "q1" })).conflicts).toEqual([]);
      expect([side.git("rev-parse", "side"), main()]).toEqual([fixture.git("rev-parse", "main"), before]);
    } finally {
      side.close();
    }
  });
});
