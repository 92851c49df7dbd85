// @module-tag processes
import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createGitFixture, type GitFixture, put } from "../../support/tools/git-fixture.ts";
import type { ToolsFixtureOptions } from "../../support/tools-fixture.ts";

let base = "";
let fixture: GitFixture;

function open(options: ToolsFixtureOptions & { empty?: boolean } = {}): void {
  const home = join(base, "home");
  fixture = createGitFixture({ base, home, ...options });
  fixture.answer("allow_once");
}

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-git-write-")));
  vi.stubEnv("HOME", join(base, "home"));
  vi.stubEnv("XDG_CONFIG_HOME", undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  fixture.close();
  rmSync(base, { recursive: true, force: true });
});

const receiptOf = (id: string | null) => fixture.ledger.get(id ?? "");
const settle = () => fixture.tools.verifications.settle("q1", { timeoutMs: 20_000 });
const failures = () => fixture.tools.verifications.takeFailures("q1");

describe("git_commit", () => {
  it("commits what the task changed and leaves alone what the owner has staged", async () => {
    open();
    fixture.write("mine.txt", "staged by the owner\n");
    fixture.write("dir/b.txt", "staged by the owner too\n");
    fixture.git("add", "mine.txt", "dir/b.txt");
    await fixture.run("write_file", { path: "a.txt", content: "two\n" });
    await fixture.run("write_file", { path: "new/c.txt", content: "c\n" });
    const outcome = await fixture.run("git_commit", { message: "Second\n\nWith a body.  " });
    expect(outcome).toMatchObject({ isError: false, card: { tier: "T1", title: "Git commit: Second" } });
    expect(outcome.text).toMatch(/^Committed 2 files to main as [0-9a-f]{9}: a\.txt, new\/c\.txt\.$/);
    expect(fixture.git("show", "--name-only", "--format=%an <%ae>|%cn <%ce>|%B", "HEAD").trim()).toBe(
      "The Owner <owner@example.invalid>|The Owner <owner@example.invalid>|Second\n\nWith a body.\n\n\na.txt\nnew/c.txt",
    );
    expect(fixture.git("status", "--porcelain")).toBe("M  dir/b.txt\nA  mine.txt\n");
    const receipt = receiptOf(outcome.receiptId);
    expect(receipt).toMatchObject({
      actionName: "git_commit",
      riskTier: "T1",
      status: "success",
      outputs: { branch: "main", files: ["a.txt", "new/c.txt"], refAfter: fixture.git("rev-parse", "HEAD").trim() },
    });
    expect(await settle()).toBe(true);
    expect(failures()).toBe("");
    const verified = fixture.ledger.search({ limit: 50 }).items.find(({ actionName }) => actionName === "git_commit.verify");
    expect(verified).toMatchObject({ status: "success", parentId: outcome.receiptId, outputs: { provider: "verified" } });
  });

  it("commits the named paths: folders, deletions, links and names that look like options", async () => {
    open();
    fixture.write("dir/-rf", "x\n");
    fixture.write("dir/:(top)x", "y\n");
    fixture.write("elsewhere.txt", "not this\n");
    symlinkSync("../a.txt", fixture.path("dir/link"));
    rmSync(fixture.path("dir/b.txt"));
    const outcome = await fixture.run("git_commit", { message: "-m --amend", paths: "dir" });
    expect(outcome.text).toContain("Committed 4 files");
    expect(fixture.git("show", "--name-status", "--format=%s", "HEAD").trim()).toBe(
      "-m --amend\n\nA\tdir/-rf\nA\tdir/:(top)x\nD\tdir/b.txt\nA\tdir/link",
    );
    expect(fixture.git("status", "--porcelain")).toBe("?? elsewhere.txt\n");
  });

  it("makes the first commit of a repository", async () => {
    open({ empty: true });
    fixture.git("init", "-q", "-b", "main");
    fixture.write("a.txt", "one\n");
    const outcome = await fixture.run("git_commit", { message: "First", paths: ["."] });
    expect(outcome.isError).toBe(false);
    expect(fixture.git("log", "--format=%s %D")).toBe("First HEAD -> main\n");
    expect(fixture.git("status", "--porcelain")).toBe("");
    const undone = await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(undone.conflicts).toEqual([]);
    expect(fixture.git("status", "--porcelain")).toBe("?? a.txt\n");
    expect(() => fixture.git("rev-parse", "--verify", "-q", "HEAD")).toThrow();
  });

  it("does not commit secrets, ignored files and nested repositories, and reports them", async () => {
    open();
    fixture.write(".gitignore", "*.log\n");
    fixture.write(".env", "KEY=hunter2hunter2\n");
    fixture.write("x.log", "log\n");
    fixture.write("ok.txt", "ok\n");
    fixture.gitIn(fixture.workspace, "init", "-q", "inner");
    put(fixture.path("inner/f"), "f\n");
    fixture.gitIn(fixture.path("inner"), "add", ".");
    fixture.gitIn(fixture.path("inner"), "commit", "-qm", "Inner");
    const outcome = await fixture.run("git_commit", { message: "Some", paths: ["."] });
    expect(outcome.text).toContain("secrets: .env");
    expect(outcome.text).toContain("repository: inner/");
    expect(fixture.git("show", "--name-only", "--format=", "HEAD").trim()).toBe(".gitignore\nok.txt");
    expect(await fixture.run("git_commit", { message: "No", paths: [".env"] })).toMatchObject({
      isError: true,
      card: { status: "denied" },
    });
    expect(await fixture.run("git_commit", { message: "No", paths: ["x.log"] })).toMatchObject({
      isError: true,
      text: expect.stringContaining("nothing to commit"),
    });
  });

  it("reports that it runs no hooks and does not sign", async () => {
    open();
    put(fixture.path(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n", 0o755);
    fixture.git("config", "commit.gpgSign", "true");
    fixture.git("config", "gpg.program", "false");
    fixture.write("a.txt", "two\n");
    const { text, isError } = await fixture.run("git_commit", { message: "Unsigned", paths: ["a.txt"] });
    expect(isError).toBe(false);
    expect(text).toContain("(pre-commit)");
    expect(text).toContain("not signed");
  });

  it("applies the user's line ending settings", async () => {
    open();
    put(join(base, "home/.gitconfig"), "[user]\n\tname = O\n\temail = o@example.invalid\n[core]\n\tautocrlf = input\n");
    fixture.write("crlf.txt", "one\r\ntwo\r\n");
    await fixture.run("git_commit", { message: "Ends", paths: ["crlf.txt"] });
    expect(fixture.git("cat-file", "blob", "HEAD:crlf.txt")).toBe("one\ntwo\n");
  });

  it.each<[string, () => void, RegExp]>([
    ["nothing differs", () => undefined, /nothing to commit/],
    ["HEAD is detached", () => fixture.git("checkout", "-q", "--detach"), /HEAD is detached/],
    ["a merge is under way", () => put(fixture.path(".git/MERGE_HEAD"), fixture.git("rev-parse", "HEAD")), /A merge /],
    ["a rebase is under way", () => put(fixture.path(".git/rebase-merge/head-name"), "x"), /A rebase /],
    [
      "nobody is named",
      () => {
        writeFileSync(join(base, "home/.gitconfig"), "");
        fixture.write("a.txt", "two\n");
      },
      /git config --global user\.name/,
    ],
    [
      "a filter would run",
      () => {
        fixture.write(".gitattributes", "*.txt filter=lfs\n");
        fixture.git("config", "filter.lfs.clean", "git-lfs clean");
        fixture.write("a.txt", "two\n");
      },
      /a\.txt .*Git LFS/,
    ],
    [
      "another git is at work",
      () => {
        fixture.write("a.txt", "two\n");
        put(fixture.path(".git/refs/heads/main.lock"), "");
      },
      /Another git process/,
    ],
    [
      "the index is locked",
      () => {
        fixture.write("a.txt", "two\n");
        put(fixture.path(".git/index.lock"), "");
      },
      /Another git process/,
    ],
  ])("changes nothing when %s", async (_what, prepare, expectedText) => {
    open();
    prepare();
    const before = [fixture.git("rev-parse", "main"), readFileSync(fixture.path(".git/index")).toString("hex")];
    const outcome = await fixture.run("git_commit", { message: "No", paths: ["a.txt"] });
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toMatch(expectedText);
    rmSync(fixture.path(".git/refs/heads/main.lock"), { force: true });
    expect([fixture.git("rev-parse", "main"), readFileSync(fixture.path(".git/index")).toString("hex")]).toEqual(before);
  });

  it("reports a missing repository", async () => {
    open({ empty: true });
    for (const [tool, args] of Object.entries({
      git_commit: { message: "x", paths: ["."] },
      git_branch: {},
      git_checkout: { ref: "x" },
      git_push: {},
      git_show: {},
    })) {
      expect(await fixture.run(tool, args)).toMatchObject({ isError: true, text: expect.stringContaining("not a git repository") });
    }
  });

  it("finds nothing to commit for a quest without changes, or with pending changes", async () => {
    open({ posture: "supervised" });
    await fixture.run("write_file", { path: "a.txt", content: "two\n" });
    expect(await fixture.run("git_commit", { message: "No" })).toMatchObject({
      isError: true,
      error: { code: "not_found" },
    });
  });

  it("works in a linked work tree without changing the other one", async () => {
    open();
    fixture.git("worktree", "add", "-q", "-b", "side", join(base, "side"));
    const side = createGitFixture({ base: join(base, "two"), home: join(base, "home"), workspace: join(base, "side"), empty: true });
    side.write("a.txt", "side\n");
    expect((await side.run("git_commit", { message: "Side", paths: ["a.txt"] })).text).toContain("to side as");
    expect(side.git("log", "-1", "--format=%s side")).toBe("Side side\n");
    expect(fixture.git("status", "--porcelain")).toBe("");
    side.close();
  });

  it("commits only the workspace's folder of a larger repository", async () => {
    open();
    const inner = createGitFixture({ base: join(base, "two"), home: join(base, "home"), workspace: fixture.path("dir"), empty: true });
    inner.write("b.txt", "changed\n");
    fixture.write("a.txt", "changed above\n");
    expect((await inner.run("git_commit", { message: "Inner", paths: ["."] })).text).toContain("1 file to main");
    expect(fixture.git("show", "--name-only", "--format=", "HEAD").trim()).toBe("dir/b.txt");
    inner.answer("deny");
    expect(await inner.run("git_commit", { message: "Out", paths: ["../a.txt"] })).toMatchObject({ isError: true });
    expect((await inner.run("git_branch", { name: "other" })).isError).toBe(false);
    expect((await inner.run("git_checkout", { ref: "other" })).text).toContain("above the workspace");
    inner.close();
  });
});

describe("git_branch", () => {
  it("creates a branch at HEAD or at a base, and lists branches", async () => {
    open();
    const first = fixture.git("rev-parse", "HEAD").trim();
    fixture.write("a.txt", "two\n");
    fixture.git("commit", "-qam", "Second");
    const made = await fixture.run("git_branch", { name: "topic/one" });
    expect(made).toMatchObject({ isError: false, card: { tier: "T1", title: "Git branch topic/one" } });
    await fixture.run("git_branch", { name: "old", base: "HEAD~1" });
    expect(fixture.git("rev-parse", "old").trim()).toBe(first);
    expect(fixture.git("symbolic-ref", "HEAD").trim()).toBe("refs/heads/main");
    const listed = await fixture.run("git_branch", {});
    expect(listed.text.split("\n").map((line) => line.replace(/ [0-9a-f]{7,} /, " | "))).toEqual(
      expect.arrayContaining(["* main | Second", "  topic/one | Second", "  old | First"]),
    );
    expect(await settle()).toBe(true);
    expect(failures()).toBe("");
  });

  it.each(["main", "-d", "--output=x", "a..b", "a b", "HEAD", "x.lock", "@{-1}", "refs/heads/x", "+x", "a\u0001b", "main/sub"])(
    "makes none of the name %j",
    async (name) => {
      open();
      const before = fixture.git("for-each-ref");
      expect((await fixture.run("git_branch", { name })).isError).toBe(true);
      expect(fixture.git("for-each-ref")).toBe(before);
    },
  );

  it("reports missing arguments and refs", async () => {
    open();
    expect((await fixture.run("git_branch", { name: "x", base: "nowhere" })).text).toContain("There is no nowhere");
    const bare = createGitFixture({ base: join(base, "two"), home: join(base, "home"), empty: true });
    bare.gitIn(bare.workspace, "init", "-q");
    expect((await bare.run("git_branch", { name: "x" })).text).toContain("no commits yet");
    expect((await bare.run("git_branch", {})).text).toContain("no commits yet");
    bare.close();
  });
});

describe("git_checkout", () => {
  function withSide(): void {
    open();
    fixture.git("checkout", "-q", "-b", "side");
    fixture.write("a.txt", "side\n");
    fixture.write("extra.txt", "only there\n");
    fixture.git("add", ".");
    fixture.git("commit", "-qm", "Side");
    fixture.git("checkout", "-q", "main");
  }

  it("switches to a branch and back", async () => {
    withSide();
    const there = await fixture.run("git_checkout", { ref: "side" });
    expect(there.text).toContain("Checked out side; 2 files changed.");
    expect([fixture.read("a.txt"), fixture.read("extra.txt"), fixture.git("status", "--porcelain")]).toEqual([
      "side\n",
      "only there\n",
      "",
    ]);
    expect((await fixture.run("git_checkout", { ref: "side" })).text).toContain("side");
    await fixture.run("git_checkout", { ref: "main" });
    expect([fixture.read("a.txt"), fixture.git("symbolic-ref", "--short", "HEAD").trim()]).toEqual(["one\n", "main"]);
    expect(await settle()).toBe(true);
    expect(failures()).toBe("");
  });

  it("checks out a detached commit and explains it", async () => {
    withSide();
    expect((await fixture.run("git_checkout", { ref: "side~1" })).text).toMatch(/HEAD .*detached/);
    expect(() => fixture.git("symbolic-ref", "-q", "HEAD")).toThrow();
  });

  it("keeps uncommitted work that does not conflict", async () => {
    withSide();
    fixture.write("dir/b.txt", "mine\n");
    fixture.write("new.txt", "mine too\n");
    expect((await fixture.run("git_checkout", { ref: "side" })).isError).toBe(false);
    expect([fixture.read("dir/b.txt"), fixture.read("new.txt")]).toEqual(["mine\n", "mine too\n"]);
  });

  it.each<[string, () => void, RegExp]>([
    ["changed", () => fixture.write("a.txt", "mine\n"), /^a\.txt has uncommitted/],
    [
      "staged",
      () => {
        fixture.write("a.txt", "mine\n");
        fixture.git("add", "a.txt");
      },
      /^a\.txt has uncommitted/,
    ],
    ["not under version control", () => fixture.write("extra.txt", "mine\n"), /^extra\.txt is untracked/],
    [
      "ignored",
      () => {
        fixture.write(".git/info/exclude", "extra.txt\n");
        fixture.write("extra.txt", "mine\n");
      },
      /^extra\.txt is untracked/,
    ],
    ["a folder in the place of a file", () => fixture.write("extra.txt/deep", "mine\n"), /^extra\.txt is untracked/],
    ["in a merge", () => put(fixture.path(".git/MERGE_HEAD"), fixture.git("rev-parse", "HEAD")), /merge is in progress/],
  ])("is refused where something %s would be lost", async (_what, prepare, expectedText) => {
    withSide();
    prepare();
    const before = [fixture.git("status", "--porcelain", "--ignored"), fixture.git("rev-parse", "HEAD")];
    const outcome = await fixture.run("git_checkout", { ref: "side" });
    expect([outcome.isError, outcome.text]).toEqual([true, expect.stringMatching(expectedText)]);
    expect([fixture.git("status", "--porcelain", "--ignored"), fixture.git("rev-parse", "HEAD")]).toEqual(before);
    expect(fixture.git("symbolic-ref", "--short", "HEAD").trim()).toBe("main");
  });

  it("is refused when the editor has unsaved text", async () => {
    const askEditor = async (name: string, { path }: { path?: string } = {}) =>
      name === "unsavedText" ? { text: path === "a.txt" ? "typing" : null } : { applied: false, saved: false };
    open({ askEditor: askEditor as never });
    fixture.git("checkout", "-q", "-b", "side");
    fixture.write("a.txt", "side\n");
    fixture.git("commit", "-qam", "Side");
    fixture.git("checkout", "-q", "main");
    expect((await fixture.run("git_checkout", { ref: "side" })).text).toContain("unsaved edits");
  });

  it("asks separately for files that are executed automatically", async () => {
    withSide();
    fixture.git("checkout", "-q", "side");
    fixture.write(".vscode/settings.json", "{}\n");
    fixture.git("add", ".");
    fixture.git("commit", "-qm", "Settings");
    fixture.git("checkout", "-q", "main");
    fixture.answer("deny");
    expect(await fixture.run("git_checkout", { ref: "side" })).toMatchObject({ isError: true, card: { status: "denied", tier: "T3" } });
    expect(fixture.git("symbolic-ref", "--short", "HEAD").trim()).toBe("main");
    fixture.answer("allow_once");
    // The denial is remembered in its own task.
    expect((await fixture.run("git_checkout", { ref: "side" })).isError).toBe(true);
    expect((await fixture.run("git_checkout", { ref: "side" }, { quest: "q2" })).isError).toBe(false);
  });

  it("does not write files that require a filter", async () => {
    withSide();
    fixture.git("checkout", "-q", "side");
    fixture.write(".gitattributes", "*.bin filter=lfs\n");
    fixture.write("x.bin", "pointer\n");
    fixture.git("add", ".");
    fixture.git("commit", "-qm", "Filter");
    fixture.git("checkout", "-q", "main");
    fixture.git("config", "filter.lfs.smudge", "git-lfs smudge");
    expect((await fixture.run("git_checkout", { ref: "side" })).text).toMatch(/x\.bin .*Git LFS/);
  });

  it("suggests a branch that only the remote has", async () => {
    withSide();
    fixture.git("update-ref", "refs/remotes/origin/theirs", "HEAD");
    expect((await fixture.run("git_checkout", { ref: "theirs" })).text).toContain("git_branch (name theirs, base origin/theirs)");
    expect((await fixture.run("git_checkout", { ref: "nowhere" })).error?.code).toBe("not_found");
  });
});

describe("git_show", () => {
  it("shows a commit with its diff, without secrets", async () => {
    open();
    fixture.write("a.txt", "two\n");
    fixture.write(".env", "KEY=hunter2hunter2\n");
    fixture.git("add", "-f", ".");
    fixture.git("commit", "-qm", "Second\n\nWhy.");
    const { text } = await fixture.run("git_show", {});
    expect(text).toMatch(/^commit [0-9a-f]{40}\nAuthor: The Owner\nDate: /);
    expect(text).toContain("Why.");
    expect(text).toContain("-one\n+two");
    expect(text).toContain("1 changed secret files are not shown");
    expect(text).not.toContain("hunter2");
    expect((await fixture.run("git_show", { ref: "HEAD~1", path: "dir" })).text).toMatch(/\+b$/);
    expect((await fixture.run("git_show", { ref: "HEAD", path: "dir" })).text).not.toContain("diff --git");
    expect((await fixture.run("git_show", { ref: "nowhere" })).text).toContain("no commit nowhere");
    expect((await fixture.run("git_show", { ref: "--output=owned" })).isError).toBe(true);
  });
});

describe("undo of a task", () => {
  it("reverts commit, branch, checkout and files, newest first", async () => {
    open();
    const before = [fixture.git("rev-parse", "HEAD"), fixture.git("for-each-ref"), fixture.read("a.txt")];
    await fixture.run("git_branch", { name: "topic" });
    await fixture.run("git_checkout", { ref: "topic" });
    await fixture.run("write_file", { path: "a.txt", content: "two\n" });
    const committed = await fixture.run("git_commit", { message: "Two" });
    expect(committed.text).toContain("to topic as");
    expect(await fixture.tools.checkpoints.restore({ questId: "q1" })).toMatchObject({
      restored: [expect.stringContaining("the commit"), "the checkout of topic", "the branch topic", "a.txt"],
      conflicts: [],
    });
    expect([fixture.git("rev-parse", "HEAD"), fixture.git("for-each-ref"), fixture.read("a.txt")]).toEqual(before);
    expect(fixture.git("symbolic-ref", "--short", "HEAD").trim()).toBe("main");
    expect(fixture.git("status", "--porcelain")).toBe("");
    const receipts = fixture.ledger.search({ limit: 100 }).items.filter(({ actionName }) => actionName === "repository_restore");
    expect(receipts.filter(({ status }) => status === "success")).toHaveLength(3);
    expect((await fixture.tools.checkpoints.restore({ questId: "q1" })).restored).toEqual([]);
  });

  it.each<[string, () => void, string]>([
    ["went on from the commit", () => fixture.git("commit", "-q", "--allow-empty", "-m", "Mine"), "changed since"],
    ["pushed it", () => fixture.git("update-ref", "refs/remotes/origin/main", "HEAD"), "was pushed or tagged"],
    ["began a merge", () => put(fixture.path(".git/MERGE_HEAD"), fixture.git("rev-parse", "HEAD")), "merge is in progress"],
  ])("leaves a commit when the owner %s, and says so", async (_what, act, expectedText) => {
    open();
    await fixture.run("write_file", { path: "a.txt", content: "two\n" });
    await fixture.run("git_commit", { message: "Two" });
    act();
    const at = fixture.git("rev-parse", "HEAD");
    const { conflicts } = await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(conflicts.some(({ message }) => message.includes(expectedText))).toBe(true);
    expect(fixture.git("rev-parse", "HEAD")).toBe(at);
  });

  it("keeps later staged changes", async () => {
    open();
    await fixture.run("write_file", { path: "a.txt", content: "two\n" });
    await fixture.run("git_commit", { message: "Two" });
    fixture.write("mine.txt", "mine\n");
    fixture.git("add", "mine.txt");
    await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(fixture.git("status", "--porcelain")).toBe("A  mine.txt\n");
  });
});
