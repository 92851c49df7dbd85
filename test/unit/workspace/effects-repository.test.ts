// @module-tag processes
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { snapshotTree } from "../../support/tools-fixture.ts";
import { createEffectsFixture, type EffectsFixture } from "../../support/tools/effects-fixture.ts";

describe("a repository that a command changed", () => {
  let fixture: EffectsFixture;
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=O", "-c", "user.email=o@example.org", ...args], {
      cwd: fixture.workspace,
      encoding: "utf8",
    }).trim();
  const state = () => ({
    head: git("symbolic-ref", "HEAD"),
    refs: git("for-each-ref", "--format=%(refname) %(objectname)"),
    index: git("ls-files", "--stage"),
    status: git("status", "--porcelain"),
    stash: git("stash", "list"),
  });
  const expectWhole = () => expect(git("fsck", "--connectivity-only", "--no-dangling")).not.toMatch(/missing|broken|error/);

  beforeEach(async () => {
    fixture = createEffectsFixture();
    fixture.write("a.txt", "a\n");
    fixture.write("b.txt", "b\n");
    await fixture.sh(
      "git init -q -b main . && git add . && git commit -qm one && echo two >> a.txt && git commit -qam two && echo three >> a.txt",
      {
        questId: null,
      },
    );
  });
  afterEach(() => fixture.close());

  it.each([
    ["adding", "git add a.txt"],
    ["committing", "git commit -qam three"],
    ["a branch and a checkout", "git checkout -q -b other && echo o > o.txt && git add o.txt && git commit -qm o"],
    ["a reset that throws away work", "git reset -q --hard HEAD~1"],
    ["a stash", "git stash -q"],
    [
      "a merge that stops half-way",
      "git commit -qam three; git checkout -q -b x HEAD~1; echo x >> a.txt; git commit -qam x; git merge main || true",
    ],
    ["a deleted branch and a tag", "git branch old HEAD~1; git tag t; git branch -D old; git tag u HEAD~1"],
    ["packed refs", "git branch p; git pack-refs --all"],
    ["expired logs and a collection", "git reset -q --hard HEAD~1; git reflog expire --expire=now --all; git gc -q --prune=now"],
    ["the loss of the whole repository", "rm -rf .git"],
    ["the loss of objects", "rm -rf .git/objects/*"],
    ["a rebase", "git commit -qam three; git rebase -q --onto HEAD~2 HEAD~1 || true"],
  ])("is restored completely after %s", async (_what, script) => {
    const before = state();
    const { touched } = await fixture.sh(script);
    expect(touched.files.find(({ path }) => path === ".git")).toMatchObject({ undoable: true });
    const { conflicts } = await fixture.restore.restore({ questId: "q1" });
    expect(conflicts).toEqual([]);
    expect(state()).toEqual(before);
    expect([fixture.read("a.txt"), fixture.read("b.txt")]).toEqual(["a\ntwo\nthree\n", "b\n"]);
    expectWhole();
  });

  it("keeps undone commits reachable by the reflog", async () => {
    await fixture.sh("git commit -qam three");
    const commit = git("rev-parse", "HEAD");
    await fixture.restore.restore({ questId: "q1" });
    expect(git("cat-file", "-t", commit)).toBe("commit");
    expect(git("log", "-g", "--format=%H").split("\n")).toContain(commit);
  });

  it("is not changed when the user continued to work in it", async () => {
    await fixture.sh("echo c > c.txt; git add c.txt; git commit -qm command");
    writeFileSync(fixture.path("owner.txt"), "o\n");
    git("add", "owner.txt");
    git("commit", "-qm", "owner");
    const owner = state();
    const { conflicts } = await fixture.restore.restore({ questId: "q1" });
    expect(conflicts).toEqual([{ path: ".git", message: expect.any(String) }]);
    expect({ ...state(), status: "" }).toEqual({ ...owner, status: "" });
    expectWhole();
  });

  it("is restored although git refreshed its index", async () => {
    const before = state();
    await fixture.sh("git add a.txt");
    fixture.write("b.txt", "b\n");
    git("status");
    const { conflicts } = await fixture.restore.restore({ questId: "q1" });
    expect(conflicts).toEqual([]);
    expect(state()).toEqual(before);
  });

  it("is not changed while another git process runs", async () => {
    await fixture.sh("git add a.txt");
    writeFileSync(fixture.path(".git/index.lock"), "");
    const { conflicts } = await fixture.restore.restore({ questId: "q1" });
    expect(conflicts).toEqual([{ path: ".git", message: expect.any(String) }]);
  });

  it("undoes several commands, newest first, and redoes them", async () => {
    const before = state();
    await fixture.sh("git commit -qam three");
    await fixture.sh("git checkout -q -b x; echo 4 >> a.txt; git commit -qam four");
    await fixture.sh("git branch -D main; rm b.txt; git add -A");
    const after = state();
    const undone = await fixture.restore.restore({ questId: "q1" });
    expect(undone.conflicts).toEqual([]);
    expect(state()).toEqual(before);
    const again = await fixture.restore.restore({ id: undone.undoCheckpointId ?? "" });
    expect(again.conflicts).toEqual([]);
    expect(state()).toEqual(after);
    expectWhole();
  });

  it("removes a new repository completely", async () => {
    const before = snapshotTree(fixture.workspace, (path) => path.includes("/.git/"));
    await fixture.sh("git init -q lib && cd lib && echo x > x.txt && git add . && git commit -qm x");
    expect(existsSync(fixture.path("lib/.git/HEAD"))).toBe(true);
    await fixture.restore.restore({ questId: "q1" });
    expect(snapshotTree(fixture.workspace, (path) => path.includes("/.git/"))).toEqual(before);
  });
});
