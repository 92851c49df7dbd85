// @module-tag sandbox
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openOsShell } from "../support/sandbox/os-shell.ts";
import { createGitFixture, type GitFixture, ownerEnv, put } from "../support/tools/git-fixture.ts";
import { execFileSync } from "node:child_process";

const configDir = join(import.meta.dirname, "../../config");
const questId = "q1";

describe("commands of a task in a linked work tree", () => {
  let base: string;
  let main: string;
  let at: GitFixture;
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-linked-")));
    main = join(base, "main");
    const [workspace, dataDir, home] = [join(base, "tree"), join(base, "data"), join(base, "home")];
    for (const folder of [main, dataDir, home]) mkdirSync(folder);
    put(join(main, "a.txt"), "one\n");
    put(join(home, ".gitconfig"), "[user]\n\tname = The Owner\n\temail = owner@example.invalid\n");
    for (const args of [
      ["init", "-q", "-b", "main"],
      ["add", "."],
      ["commit", "-qm", "First"],
      ["branch", "idle"],
      ["worktree", "add", "-q", "-b", "side", workspace],
    ])
      execFileSync("git", args, { cwd: main, env: ownerEnv(home), stdio: "pipe" });
    at = createGitFixture({
      ...{ base, workspace, dataDir, posture: "supervised", configDir, empty: true, home },
      given: { configDir, shells: [openOsShell({ workspace, dataDir, protectedPaths: [] }, { env: { ...process.env, HOME: home } })] },
    });
  });
  afterEach(async () => {
    await at.tools.close();
    at.close();
    rmSync(base, { recursive: true, force: true });
  });

  const command = (text: string, more: Record<string, unknown> = {}) =>
    at.run("run_command", { command: text, ...more }, { quest: questId });
  const pending = () => at.tools.changes.list({ questId, open: true, limit: 100 });
  const decide = (path: string, decision: "accept" | "reject" = "accept") =>
    at.tools.changes.decide(pending().find((one) => one.path === path)?.id ?? "", decision);
  const settle = () =>
    at.tools.execution.settlement?.settle({
      ...{ quest: questId, parent: null, actor: "agent", mode: "normal" },
      signal: new AbortController().signal,
    });
  const subjects = (ref: string) => at.git("log", "--format=%s", ref).trim().split("\n");
  const refs = () => at.git("for-each-ref", "--format=%(refname) %(objectname)");
  const commits = () => at.tools.execution.settlement?.left(questId).commits;
  const layer = () => {
    const [hash = ""] = readdirSync(join(base, "data/tasks")).filter((name) => !name.startsWith("."));
    return join(base, "data/tasks", hash, questId, "repository/upper");
  };

  it("commit to its branch, which gets the commit after the review, and undo takes it back", async () => {
    const before = refs();
    const { text, isError } = await command(
      "git status --short; echo two > a.txt; git add a.txt; git commit -qm Second; git log --format=%s; git status --short",
    );
    expect(isError).toBe(false);
    expect(text).toContain("Second\nFirst\n");
    expect([refs(), commits()?.map(({ subject }) => subject)]).toEqual([before, ["Second"]]);
    await decide("a.txt");
    await settle();
    expect(subjects("side")).toEqual(["Second", "First"]);
    expect([subjects("main"), at.git("status", "--short"), commits()]).toEqual([["First"], "", []]);
    // The next command begins with the repository as it is.
    expect((await command("git log --format=%s; git status --short | wc -l")).text).toContain("Second\nFirst\n0");
    expect(existsSync(join(layer(), "objects"))).toBe(false);
    at.git("fsck", "--strict", "--no-dangling");
    await at.tools.checkpoints.restore({ questId });
    expect([subjects("side"), at.read("a.txt")]).toEqual([["First"], "one\n"]);
  });

  it("see what the user commits, in any work tree, and keep nothing of it", async () => {
    await command("git status; git log");
    writeFileSync(join(main, "m.txt"), "m\n");
    at.gitIn(main, "add", "m.txt");
    at.gitIn(main, "commit", "-qm", "Mine");
    at.write("a.txt", "mine\n");
    at.git("commit", "-qam", "Also mine");
    const { text } = await command("git log --format=%s main; git log --format=%s; git status --short | wc -l");
    expect(text).toContain("Mine\nFirst\nAlso mine\nFirst\n0");
    expect([commits(), pending()]).toEqual([[], []]);
  });

  it("drop the commits of which something was rejected", async () => {
    const before = refs();
    await command("echo two > a.txt; git commit -qam Second");
    await decide("a.txt", "reject");
    await settle();
    expect([refs(), commits()]).toEqual([before, []]);
    expect((await command("git log --format=%s; cat a.txt")).text).toContain("First\none");
  });

  it("create a branch, which the work tree then has", async () => {
    await command("git switch -qc topic; echo two > a.txt; git commit -qam Second");
    await decide("a.txt");
    await settle();
    expect([at.git("branch", "--show-current").trim(), subjects("topic"), subjects("side")]).toEqual([
      "topic",
      ["Second", "First"],
      ["First"],
    ]);
  });

  it.each([
    ["other branches and tags", "git update-ref refs/heads/main HEAD; git branch -qD idle; git branch other; git tag v1; git stash -q"],
    ["another work tree, whose branch it takes", "git symbolic-ref HEAD refs/heads/main; git reset -q --soft side"],
    [
      "settings, hooks and other work trees",
      `git config core.pager 'touch x'; git config extensions.worktreeConfig true; git config --worktree core.editor 'touch x'
       git worktree add -q /tmp/other; cd "$(git rev-parse --git-common-dir)"; printf '#!/bin/sh\ntouch x\n' > hooks/pre-commit; chmod 755 hooks/pre-commit
       echo 'ref: refs/heads/idle' > HEAD; echo x > index; echo /tmp > objects/info/alternates; echo '* filter=x' > info/attributes; echo /tmp > commondir`,
    ],
    ["everything that is closed", 'chmod -R 000 "$(git rev-parse --git-common-dir)"'],
    ["everything that is gone", 'rm -rf "$(git rev-parse --git-common-dir)"/*'],
  ])("take over no change of %s", async (_what, text) => {
    const state = () =>
      JSON.stringify([
        ...[
          refs(),
          at.git("status", "--short"),
          at.gitIn(main, "status", "--short", "--branch"),
          at.git("config", "--list", "--show-origin"),
        ],
        ...[readdirSync(join(main, ".git")), readdirSync(join(main, ".git/hooks")), readdirSync(join(main, ".git/worktrees"))],
      ]);
    const before = state();
    await command(`echo n > n.txt; git add n.txt; git commit -qm Evil; ${text}`);
    const now = at.git("rev-parse", "side").trim();
    for (const { path } of pending()) await decide(path);
    await settle();
    // Apart from what the commit itself brings to the branch of the work tree.
    const moved = at.git("rev-parse", "side").trim();
    at.git("reset", "-q", "--hard", now);
    rmSync(at.path("n.txt"), { force: true });
    expect(state().replaceAll(/"ORIG_HEAD",/g, "")).toBe(before);
    expect((await command("git log --format=%s")).text).toContain("First");
    if (moved !== now) expect(subjects(moved)).toEqual(["Evil", "First"]);
    at.git("fsck", "--strict", "--no-dangling");
  });

  it("work beside a background command, and their commits follow it", async () => {
    const started = await command("git status; sleep 600", { background: true, wait_ms: 300 });
    const id = /bg-[0-9a-f]{8}/.exec(started.text)?.[0] ?? "";
    await command("git status");
    at.write("a.txt", "mine\n");
    at.git("commit", "-qam", "Mine");
    expect((await command("git log --format=%s; git status --short | wc -l")).text).toContain("Mine\nFirst\n0");
    expect(commits()).toEqual([]);
    await command("echo two > b.txt; git add b.txt; git commit -qm Second");
    await decide("b.txt");
    await settle();
    expect(subjects("side")).toEqual(["Mine", "First"]);
    await at.tools.background.stop(id, "user");
    for (let wait = 0; wait < 200 && subjects("side").length < 3; wait += 1) await settle();
    expect(subjects("side")).toEqual(["Second", "Mine", "First"]);
  });
});
