import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createGitRoom, type GitRoom, put } from "../../support/tools/git-room.ts";
import type { ToolsRoomOptions } from "../../support/tools-room.ts";

let base = "";
let room: GitRoom;

function open(options: ToolsRoomOptions & { empty?: boolean } = {}): void {
  const home = join(base, "home");
  room = createGitRoom({ base, home, ...options });
  room.answer("allow_once");
}

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-git-write-")));
  vi.stubEnv("HOME", join(base, "home"));
  vi.stubEnv("XDG_CONFIG_HOME", undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  room.close();
  rmSync(base, { recursive: true, force: true });
});

const receiptOf = (id: string | null) => room.ledger.get(id ?? "");
const settle = () => room.tools.verifications.settle("q1", { timeoutMs: 20_000 });
const failures = () => room.tools.verifications.takeFailures("q1");

describe("git_commit", () => {
  it("commits what the task changed and leaves alone what the owner has staged", async () => {
    open();
    room.write("mine.txt", "staged by the owner\n");
    room.write("dir/b.txt", "staged by the owner too\n");
    room.git("add", "mine.txt", "dir/b.txt");
    await room.run("write_file", { path: "a.txt", content: "two\n" });
    await room.run("write_file", { path: "new/c.txt", content: "c\n" });
    const outcome = await room.run("git_commit", { message: "Second\n\nWith a body.  " });
    expect(outcome).toMatchObject({ isError: false, card: { tier: "T1", title: "Git commit: Second" } });
    expect(outcome.text).toMatch(/^Committed 2 files to main as [0-9a-f]{9}: a\.txt, new\/c\.txt\.$/);
    expect(room.git("show", "--name-only", "--format=%an <%ae>|%cn <%ce>|%B", "HEAD").trim()).toBe(
      "The Owner <owner@example.invalid>|The Owner <owner@example.invalid>|Second\n\nWith a body.\n\n\na.txt\nnew/c.txt",
    );
    expect(room.git("status", "--porcelain")).toBe("M  dir/b.txt\nA  mine.txt\n");
    const receipt = receiptOf(outcome.receiptId);
    expect(receipt).toMatchObject({
      actionName: "git_commit",
      riskTier: "T1",
      status: "success",
      outputs: { branch: "main", files: ["a.txt", "new/c.txt"], refAfter: room.git("rev-parse", "HEAD").trim() },
    });
    expect(await settle()).toBe(true);
    expect(failures()).toBe("");
    const verified = room.ledger.search({ limit: 50 }).items.find(({ actionName }) => actionName === "git_commit.verify");
    expect(verified).toMatchObject({ status: "success", parentId: outcome.receiptId, outputs: { provider: "as it was to be" } });
  });

  it("commits the named paths: folders, deletions, links and names that look like options", async () => {
    open();
    room.write("dir/-rf", "x\n");
    room.write("dir/:(top)x", "y\n");
    room.write("elsewhere.txt", "not this\n");
    symlinkSync("../a.txt", room.path("dir/link"));
    rmSync(room.path("dir/b.txt"));
    const outcome = await room.run("git_commit", { message: "-m --amend", paths: "dir" });
    expect(outcome.text).toContain("Committed 4 files");
    expect(room.git("show", "--name-status", "--format=%s", "HEAD").trim()).toBe(
      "-m --amend\n\nA\tdir/-rf\nA\tdir/:(top)x\nD\tdir/b.txt\nA\tdir/link",
    );
    expect(room.git("status", "--porcelain")).toBe("?? elsewhere.txt\n");
  });

  it("makes the first commit of a repository", async () => {
    open({ empty: true });
    room.git("init", "-q", "-b", "main");
    room.write("a.txt", "one\n");
    const outcome = await room.run("git_commit", { message: "First", paths: ["."] });
    expect(outcome.isError).toBe(false);
    expect(room.git("log", "--format=%s %D")).toBe("First HEAD -> main\n");
    expect(room.git("status", "--porcelain")).toBe("");
    const undone = await room.tools.checkpoints.restore({ questId: "q1" });
    expect(undone.conflicts).toEqual([]);
    expect(room.git("status", "--porcelain")).toBe("?? a.txt\n");
    expect(() => room.git("rev-parse", "--verify", "-q", "HEAD")).toThrow();
  });

  it("does not commit secrets, ignored files and repositories of their own, and says so", async () => {
    open();
    room.write(".gitignore", "*.log\n");
    room.write(".env", "KEY=hunter2hunter2\n");
    room.write("x.log", "log\n");
    room.write("ok.txt", "ok\n");
    room.gitIn(room.workspace, "init", "-q", "inner");
    put(room.path("inner/f"), "f\n");
    room.gitIn(room.path("inner"), "add", ".");
    room.gitIn(room.path("inner"), "commit", "-qm", "Inner");
    const outcome = await room.run("git_commit", { message: "Some", paths: ["."] });
    expect(outcome.text).toContain("may hold secrets: .env");
    expect(outcome.text).toContain("a repository of its own: inner/");
    expect(room.git("show", "--name-only", "--format=", "HEAD").trim()).toBe(".gitignore\nok.txt");
    expect(await room.run("git_commit", { message: "No", paths: [".env"] })).toMatchObject({ isError: true, card: { status: "denied" } });
    expect(await room.run("git_commit", { message: "No", paths: ["x.log"] })).toMatchObject({
      isError: true,
      text: expect.stringContaining("nothing to commit"),
    });
  });

  it("says that hooks are not run and that it does not sign", async () => {
    open();
    put(room.path(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n", 0o755);
    room.git("config", "commit.gpgSign", "true");
    room.git("config", "gpg.program", "false");
    room.write("a.txt", "two\n");
    const { text, isError } = await room.run("git_commit", { message: "Unsigned", paths: ["a.txt"] });
    expect(isError).toBe(false);
    expect(text).toContain("Hooks were not run (pre-commit)");
    expect(text).toContain("not signed");
  });

  it("keeps the line ends the owner's git keeps", async () => {
    open();
    put(join(base, "home/.gitconfig"), "[user]\n\tname = O\n\temail = o@example.invalid\n[core]\n\tautocrlf = input\n");
    room.write("crlf.txt", "one\r\ntwo\r\n");
    await room.run("git_commit", { message: "Ends", paths: ["crlf.txt"] });
    expect(room.git("cat-file", "blob", "HEAD:crlf.txt")).toBe("one\ntwo\n");
  });

  it.each<[string, () => void, RegExp]>([
    ["nothing differs", () => undefined, /nothing to commit/],
    ["HEAD is detached", () => room.git("checkout", "-q", "--detach"), /HEAD is detached/],
    ["a merge is under way", () => put(room.path(".git/MERGE_HEAD"), room.git("rev-parse", "HEAD")), /A merge is under way/],
    ["a rebase is under way", () => put(room.path(".git/rebase-merge/head-name"), "x"), /A rebase is under way/],
    [
      "nobody is named",
      () => {
        writeFileSync(join(base, "home/.gitconfig"), "");
        room.write("a.txt", "two\n");
      },
      /git config --global user\.name/,
    ],
    [
      "a filter would run",
      () => {
        room.write(".gitattributes", "*.txt filter=lfs\n");
        room.git("config", "filter.lfs.clean", "git-lfs clean");
        room.write("a.txt", "two\n");
      },
      /a\.txt goes through a filter program \(such as Git LFS\)/,
    ],
    [
      "another git is at work",
      () => {
        room.write("a.txt", "two\n");
        put(room.path(".git/refs/heads/main.lock"), "");
      },
      /Another git is at work/,
    ],
    [
      "the index is locked",
      () => {
        room.write("a.txt", "two\n");
        put(room.path(".git/index.lock"), "");
      },
      /Another git is at work/,
    ],
  ])("changes nothing when %s", async (_what, prepare, words) => {
    open();
    prepare();
    const before = [room.git("rev-parse", "main"), readFileSync(room.path(".git/index")).toString("hex")];
    const outcome = await room.run("git_commit", { message: "No", paths: ["a.txt"] });
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toMatch(words);
    rmSync(room.path(".git/refs/heads/main.lock"), { force: true });
    expect([room.git("rev-parse", "main"), readFileSync(room.path(".git/index")).toString("hex")]).toEqual(before);
  });

  it("says where there is no repository", async () => {
    open({ empty: true });
    for (const [tool, args] of Object.entries({
      git_commit: { message: "x", paths: ["."] },
      git_branch: {},
      git_checkout: { ref: "x" },
      git_push: {},
      git_show: {},
    })) {
      expect(await room.run(tool, args)).toMatchObject({ isError: true, text: expect.stringContaining("not a git repository") });
    }
  });

  it("knows nothing to commit of a task that changed nothing, or whose changes wait for review", async () => {
    open({ posture: "supervised" });
    await room.run("write_file", { path: "a.txt", content: "two\n" });
    expect(await room.run("git_commit", { message: "No" })).toMatchObject({
      isError: true,
      text: expect.stringContaining("wait for review"),
    });
  });

  it("works in a linked work tree and leaves the other one alone", async () => {
    open();
    room.git("worktree", "add", "-q", "-b", "side", join(base, "side"));
    const side = createGitRoom({ base: join(base, "two"), home: join(base, "home"), workspace: join(base, "side"), empty: true });
    side.write("a.txt", "side\n");
    expect((await side.run("git_commit", { message: "Side", paths: ["a.txt"] })).text).toContain("to side as");
    expect(side.git("log", "-1", "--format=%s side")).toBe("Side side\n");
    expect(room.git("status", "--porcelain")).toBe("");
    side.close();
  });

  it("commits from a folder inside a bigger repository, and only of that folder", async () => {
    open();
    const inner = createGitRoom({ base: join(base, "two"), home: join(base, "home"), workspace: room.path("dir"), empty: true });
    inner.write("b.txt", "changed\n");
    room.write("a.txt", "changed above\n");
    expect((await inner.run("git_commit", { message: "Inner", paths: ["."] })).text).toContain("1 file to main");
    expect(room.git("show", "--name-only", "--format=", "HEAD").trim()).toBe("dir/b.txt");
    inner.answer("deny");
    expect(await inner.run("git_commit", { message: "Out", paths: ["../a.txt"] })).toMatchObject({ isError: true });
    expect((await inner.run("git_branch", { name: "other" })).isError).toBe(false);
    expect((await inner.run("git_checkout", { ref: "other" })).text).toContain("begins above the workspace");
    inner.close();
  });
});
