// @module-tag sandbox
import { mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createViewFixture, repositoryState, type ViewFixture } from "../support/tools/view-fixture.ts";

let base = "";
let view: ViewFixture;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-import-")));
});
afterEach(async () => {
  await view.closeView();
  view.close();
  rmSync(base, { recursive: true, force: true });
});

const open = async (options: Omit<Parameters<typeof createViewFixture>[0], "base"> = {}): Promise<void> => {
  view = await createViewFixture({ base, ...options });
};
const head = () => view.git("rev-parse", "HEAD").trim();
const subjects = (ref = "HEAD") => view.git("log", "--format=%s", ref).trim().split("\n");
const commitInView = (path: string, content: string, message: string): string => {
  view.writeInView(path, content);
  view.inView("add", path);
  view.inView("commit", "-qm", message);
  return view.inView("rev-parse", "HEAD").trim();
};

describe("commits of a task", () => {
  it("imports a commit, sets the index of its files, and undoes it exactly", async () => {
    await open();
    view.write("staged.txt", "of the owner\n");
    view.git("add", "staged.txt");
    const before = repositoryState(view);
    const first = head();
    view.writeInView("a.txt", "two\n");
    view.inView("commit", "-qm", "Second\n\nBody", "a.txt");
    const commit = view.inView("rev-parse", "HEAD").trim();
    const work = await view.readWork();
    expect(work).toMatchObject({
      refs: [{ ref: "refs/heads/main", before: first, after: commit, kind: "moved" }],
      refused: [],
      commits: [
        { hash: commit, subject: "Second", message: "Second\n\nBody", author: "The Owner <owner@example.invalid>", paths: ["a.txt"] },
      ],
      paths: ["a.txt"],
      dropped: [],
    });
    expect(repositoryState(view)).toEqual(before);
    view.accept(work);
    expect(await view.importWork(work)).toMatchObject({ head: "same", refs: [{ after: commit }] });
    expect(head()).toBe(commit);
    expect(view.git("status", "--porcelain")).toBe("A  staged.txt\n");
    view.git("fsck", "--strict", "--no-dangling");
    expect((await view.readWork()).refs).toEqual([]);
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
    expect(view.git("status", "--porcelain")).toBe(" M a.txt\nA  staged.txt\n");
  });

  it("imports several commits with added, removed, renamed, executable and linked files", async () => {
    await open();
    const before = repositoryState(view);
    commitInView("new/deep/c.txt", "c\n", "Add");
    view.inView("mv", "a.txt", "dir/moved.txt");
    view.inView("rm", "-q", "dir/b.txt");
    view.inView("commit", "-qm", "Move");
    view.inView("update-index", "--chmod=+x", "new/deep/c.txt");
    const last = (view.inView("commit", "-qm", "Mode"), view.inView("rev-parse", "HEAD").trim());
    view.inView("checkout", "-q", "--", ".");
    const work = await view.readWork();
    expect(work.commits.map(({ subject }) => subject)).toEqual(["Mode", "Move", "Add"]);
    expect(work.paths).toEqual(["a.txt", "dir/b.txt", "dir/moved.txt", "new/deep/c.txt"]);
    view.accept(work);
    await view.importWork(work);
    expect(head()).toBe(last);
    expect(view.git("status", "--porcelain")).toBe("");
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
  });

  it("imports an amended commit only when that is allowed, and undoes it", async () => {
    await open();
    const before = repositoryState(view);
    view.writeInView("a.txt", "amended\n");
    view.inView("commit", "-qa", "--amend", "-m", "Amended");
    const work = await view.readWork();
    expect(work.refs).toMatchObject([{ kind: "rewritten" }]);
    expect(await view.importWork(work)).toMatchObject({ refs: [] });
    expect(repositoryState(view)).toEqual(before);
    view.accept(work);
    await view.importWork(work, { allowRewrite: true });
    expect(subjects()).toEqual(["Amended"]);
    expect(view.git("status", "--porcelain")).toBe("");
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
  });

  it("imports a rebase, whose old commits stay in the reflog", async () => {
    await open({
      prepare: ({ git, write }) => {
        git("checkout", "-q", "-b", "side");
        write("side.txt", "side\n");
        git("add", ".");
        git("commit", "-qm", "Side");
        git("checkout", "-q", "main");
        write("a.txt", "main\n");
        git("commit", "-qam", "Main");
        git("checkout", "-q", "side");
      },
    });
    const before = repositoryState(view);
    const old = head();
    view.inView("rebase", "-q", "main");
    const work = await view.readWork();
    expect(work.refs).toMatchObject([{ ref: "refs/heads/side", kind: "rewritten", before: old }]);
    expect(work.commits.map(({ subject }) => subject)).toEqual(["Side"]);
    // The rebase also brought the file of main, which no new commit changes.
    expect(work.paths).toEqual(["a.txt", "side.txt"]);
    view.accept(work);
    await view.importWork(work, { allowRewrite: true });
    expect(subjects()).toEqual(["Side", "Main", "First"]);
    expect(view.git("status", "--porcelain")).toBe("");
    expect(view.git("reflog", "show", "--format=%H", "side")).toContain(old);
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
  });

  it("imports a branch that moved over commits which exist, forward or back, with the files that differ", async () => {
    await open({
      prepare: ({ git, write }) => {
        write("a.txt", "two\n");
        git("commit", "-qam", "Second");
        git("branch", "ahead");
        write("b.txt", "b\n");
        git("add", ".");
        git("commit", "-qm", "Third");
        git("branch", "later");
        git("update-ref", "refs/remotes/origin/main", "later");
        git("reset", "-q", "--hard", "ahead");
      },
    });
    const before = repositoryState(view);
    view.inView("merge", "-q", "--ff-only", "later");
    const forward = await view.readWork();
    expect(forward).toMatchObject({ refs: [{ kind: "moved" }], commits: [], paths: ["b.txt"] });
    view.accept(forward);
    await view.importWork(forward);
    expect(view.git("status", "--porcelain")).toBe("");
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
    view.inView("reset", "-q", "--hard", "HEAD~2");
    const back = await view.readWork();
    expect(back).toMatchObject({ refs: [{ kind: "rewritten" }], commits: [], paths: ["a.txt"] });
    await view.importWork(back, { allowRewrite: true });
    expect(subjects()).toEqual(["First"]);
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
  });

  it("imports a merge of a branch that the task made, a new tag and the branch", async () => {
    await open();
    const before = repositoryState(view);
    view.inView("checkout", "-q", "-b", "topic/one");
    const topic = commitInView("topic.txt", "t\n", "Topic");
    view.inView("checkout", "-q", "main");
    commitInView("a.txt", "main\n", "Main");
    view.inView("merge", "-q", "--no-ff", "-m", "Merge", "topic/one");
    view.inView("tag", "-a", "-m", "annotated", "v1");
    view.inView("tag", "light", "topic/one");
    const work = await view.readWork();
    expect(Object.fromEntries(work.refs.map(({ ref, kind }) => [ref, kind]))).toEqual({
      "refs/heads/main": "moved",
      "refs/heads/topic/one": "new",
      "refs/tags/light": "new",
      "refs/tags/v1": "new",
    });
    view.accept(work);
    expect(await view.importWork(work)).toMatchObject({ head: "same" });
    expect(subjects().sort()).toEqual(["First", "Main", "Merge", "Topic"]);
    expect(view.git("rev-parse", "topic/one").trim()).toBe(topic);
    expect(view.git("cat-file", "-t", "v1").trim()).toBe("tag");
    expect(view.git("status", "--porcelain")).toBe("");
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
  });

  it("follows a branch that the task created once its files are in place, and goes back by undo", async () => {
    await open();
    const before = repositoryState(view);
    view.inView("checkout", "-q", "-b", "feature");
    const commit = commitInView("f.txt", "f\n", "Feature");
    const work = await view.readWork();
    expect(work.head).toMatchObject({ before: { ref: "refs/heads/main" }, after: { ref: "refs/heads/feature", commit } });
    view.accept(work);
    expect(await view.importWork(work)).toMatchObject({ head: "switched" });
    expect(view.git("symbolic-ref", "HEAD").trim()).toBe("refs/heads/feature");
    expect(head()).toBe(commit);
    expect(view.git("status", "--porcelain")).toBe("");
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
    expect(view.git("status", "--porcelain")).toBe("?? f.txt\n");
  });

  it("imports the branch alone when the files differ, or when HEAD moved meanwhile", async () => {
    await open();
    view.inView("checkout", "-q", "-b", "feature");
    const commit = commitInView("f.txt", "f\n", "Feature");
    const work = await view.readWork();
    view.write("f.txt", "other\n");
    expect(await view.importWork(work)).toMatchObject({ head: "elsewhere" });
    expect(view.git("symbolic-ref", "HEAD").trim()).toBe("refs/heads/main");
    expect(view.git("rev-parse", "feature").trim()).toBe(commit);
    expect(view.git("status", "--porcelain")).toBe("?? f.txt\n");
  });

  it("switches to a new branch without commits", async () => {
    await open();
    const before = repositoryState(view);
    view.inView("checkout", "-q", "-b", "empty");
    const work = await view.readWork();
    expect(work).toMatchObject({ refs: [{ ref: "refs/heads/empty", kind: "new" }], commits: [] });
    expect(await view.importWork(work)).toMatchObject({ head: "switched" });
    expect(view.git("symbolic-ref", "HEAD").trim()).toBe("refs/heads/empty");
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
  });

  it("imports the first commit of a repository", async () => {
    await open({ empty: true });
    const before = repositoryState(view);
    const commit = commitInView("a.txt", "one\n", "First");
    const work = await view.readWork();
    expect(work.refs).toMatchObject([{ ref: "refs/heads/main", before: null, after: commit, kind: "new" }]);
    view.accept(work);
    expect(await view.importWork(work)).toMatchObject({ head: "same" });
    expect(view.git("status", "--porcelain")).toBe("");
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
    expect(view.git("status", "--porcelain")).toBe("?? a.txt\n");
  });

  it("imports into a repository with SHA-256", async () => {
    await open({
      empty: true,
      prepare: ({ git, path }) => {
        rmSync(path(".git"), { recursive: true });
        git("init", "-q", "-b", "main", "--object-format=sha256");
        git("commit", "-q", "--allow-empty", "-m", "Empty");
      },
    });
    const before = repositoryState(view);
    const commit = commitInView("a.txt", "one\n", "First");
    expect(commit).toHaveLength(64);
    const work = await view.readWork();
    expect(work).toMatchObject({ refs: [{ kind: "moved", after: commit }], dropped: [] });
    view.accept(work);
    await view.importWork(work);
    expect(view.git("status", "--porcelain")).toBe("");
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
  });

  it("imports thousands of files as one pack", async () => {
    await open();
    for (let index = 0; index < 2_100; index += 1) view.writeInView(`many/${index % 50}/${index}.txt`, `${index}\n`);
    view.inView("add", ".");
    view.inView("commit", "-qm", "Many");
    const work = await view.readWork();
    expect(work.paths).toHaveLength(2_100);
    expect(await view.importWork(work)).toMatchObject({ head: "same" });
    expect(readdirSync(view.path(".git/objects/pack")).filter((name) => name.endsWith(".pack"))).toHaveLength(1);
    view.git("fsck", "--strict", "--no-dangling");
    expect(view.git("diff", "--cached", "HEAD", "--name-only")).toBe("");
    expect(await view.undo()).toEqual([]);
    expect(view.git("status", "--porcelain")).toBe("");
  });

  it("imports into a linked work tree, and moves no branch of another one", async () => {
    await open({ linked: true });
    const common = join(base, "proj/.git");
    const before = repositoryState(view, common);
    const commit = commitInView("a.txt", "linked\n", "Linked");
    view.inView("update-ref", "refs/heads/other", commit);
    const work = await view.readWork();
    expect(work.dropped).toEqual([]);
    view.accept(work);
    expect(await view.importWork(work)).toMatchObject({ head: "same" });
    expect(view.git("rev-parse", "linked").trim()).toBe(commit);
    expect(view.git("status", "--porcelain")).toBe("");
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view, common)).toEqual(before);
    view.inView("update-ref", "refs/heads/main", commit);
    const more = await view.readWork();
    await expect(view.importWork(more)).rejects.toMatchObject({ code: "conflict", data: { ref: "refs/heads/main" } });
    expect(repositoryState(view, common)).toEqual(before);
  });
});
