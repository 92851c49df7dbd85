// @module-tag sandbox
import { randomBytes } from "node:crypto";
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
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

describe("an import that meets work of the owner", () => {
  const ownerCommits = (): void => {
    view.write("owner.txt", "owner\n");
    view.git("add", "owner.txt");
    view.git("commit", "-qm", "Owner");
  };

  it("imports nothing when the branch moved before or after the commits were read", async () => {
    await open();
    commitInView("a.txt", "two\n", "Second");
    const read = await view.readWork();
    ownerCommits();
    const before = repositoryState(view);
    await expect(view.importWork(read)).rejects.toMatchObject({ code: "conflict", data: { ref: "refs/heads/main" } });
    expect(await view.readWork()).toMatchObject({ refs: [], refused: [{ ref: "refs/heads/main", problem: "changed outside" }] });
    expect(repositoryState(view)).toEqual(before);
  });

  it("imports nothing, and has nothing to undo, when the branch or the index changes at the last moment", async () => {
    await open();
    view.inView("branch", "before");
    commitInView("a.txt", "two\n", "Second");
    const work = await view.readWork();
    const lock = view.path(".git/index.lock");
    const before = repositoryState(view);
    const onRecord = () => writeFileSync(lock, "");
    await expect(view.importWork(work, { onRecord })).rejects.toMatchObject({ code: "conflict" });
    rmSync(lock);
    expect(repositoryState(view)).toEqual(before);
    let recorded = 0;
    const moveIt = () => {
      recorded += 1;
      if (recorded === 1) ownerCommits();
    };
    await expect(view.importWork(work, { onRecord: moveIt })).rejects.toMatchObject({ code: "conflict" });
    expect(recorded).toBeGreaterThan(0);
    expect(subjects()).toEqual(["Owner", "First"]);
    expect(view.git("branch", "--list", "before")).toBe("");
    const owners = repositoryState(view);
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(owners);
  });

  it("goes back to the owner's branch when a new one cannot be completed", async () => {
    await open();
    view.inView("checkout", "-q", "-b", "feature");
    commitInView("f.txt", "f\n", "Feature");
    const work = await view.readWork();
    view.accept(work);
    const before = repositoryState(view);
    let recorded = 0;
    const onRecord = () => {
      recorded += 1;
      if (recorded === 3) view.git("update-ref", "refs/heads/feature", view.git("commit-tree", "-m", "x", "HEAD^{tree}").trim());
    };
    await expect(view.importWork(work, { onRecord })).rejects.toMatchObject({ code: "conflict" });
    expect(view.git("symbolic-ref", "HEAD").trim()).toBe("refs/heads/main");
    view.git("update-ref", "-d", "refs/heads/feature");
    expect(repositoryState(view)).toEqual(before);
  });

  it("imports a commit that continues the owner's own", async () => {
    await open();
    ownerCommits();
    const commit = commitInView("a.txt", "two\n", "Second");
    const work = await view.readWork();
    expect(work.refs).toMatchObject([{ kind: "moved", after: commit }]);
    expect(subjects()).toEqual(["Owner", "First"]);
  });

  it("reports neither the owner's commits nor branches as the task's", async () => {
    await open();
    view.inView("pack-refs", "--all");
    ownerCommits();
    view.git("branch", "owners");
    view.git("tag", "owned");
    const work = await view.readWork();
    expect(work).toMatchObject({ refs: [], refused: [], commits: [] });
  });

  it("keeps other staged content of a file, and imports when the same is staged", async () => {
    await open();
    commitInView("a.txt", "two\n", "Second");
    const work = await view.readWork();
    view.write("a.txt", "of the owner\n");
    view.git("add", "a.txt");
    const before = repositoryState(view);
    await expect(view.importWork(work)).rejects.toMatchObject({ code: "conflict" });
    expect(repositoryState(view)).toEqual(before);
    view.write("a.txt", "two\n");
    view.git("add", "a.txt");
    const staged = repositoryState(view);
    await view.importWork(work);
    expect(view.git("status", "--porcelain")).toBe("");
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(staged);
  });

  it("imports nothing while a merge is in progress, and undoes nothing that the owner built on", async () => {
    await open();
    commitInView("a.txt", "two\n", "Second");
    const work = await view.readWork();
    writeFileSync(view.path(".git/MERGE_HEAD"), `${head()}\n`);
    await expect(view.importWork(work)).rejects.toMatchObject({ code: "conflict" });
    rmSync(view.path(".git/MERGE_HEAD"));
    view.accept(work);
    await view.importWork(work);
    ownerCommits();
    const before = repositoryState(view);
    expect(await view.undo()).toHaveLength(1);
    expect(repositoryState(view)).toEqual(before);
  });
});

describe("what else a task writes in .git", () => {
  it("is named and not taken over", async () => {
    await open();
    const before = repositoryState(view);
    view.inView("config", "core.fsmonitor", "touch /tmp/pwned");
    view.writeInView(".git/hooks/post-checkout", "#!/bin/sh\ntouch /tmp/pwned\n");
    appendFileSync(view.viewPath(".git/info/exclude"), "*.txt\n");
    view.writeInView(".git/info/attributes", "* filter=x\n");
    view.writeInView("a.txt", "stashed\n");
    view.inView("stash", "-q");
    view.writeInView("b.txt", "staged\n");
    view.inView("add", "-f", "b.txt");
    view.inView("update-ref", "refs/remotes/origin/main", "HEAD");
    view.inView("update-ref", "refs/replace/0123456789012345678901234567890123456789", "HEAD");
    view.inView("branch", "-q", "more");
    view.inView("branch", "-qD", "more");
    view.writeInView(".git/commondir", "../../other\n");
    const work = await view.readWork();
    expect(work.refs).toEqual([]);
    expect(Object.fromEntries(work.dropped.map(({ what, names }) => [what, names]))).toEqual({
      settings: ["config"],
      hooks: ["hooks/post-checkout"],
      "info files": ["info/attributes", "info/exclude"],
      stash: ["refs/stash"],
      "remote branches": ["refs/remotes/origin/main"],
      "other refs": ["refs/replace/0123456789012345678901234567890123456789"],
      redirection: ["commondir"],
      "staged files": ["b.txt"],
    });
    expect(repositoryState(view)).toEqual(before);
  });

  it("names deleted branches, moved tags, commits without a branch, and a repository that is gone", async () => {
    await open({
      prepare: ({ git }) => {
        git("branch", "kept");
        git("tag", "v1");
      },
    });
    view.inView("branch", "-qD", "kept");
    view.inView("checkout", "-q", "--detach");
    commitInView("a.txt", "two\n", "Detached");
    view.inView("tag", "-f", "v1");
    const work = await view.readWork();
    expect(work.refs).toEqual([]);
    expect(work.refused.toSorted((a, b) => (a.ref < b.ref ? -1 : 1))).toEqual([
      { ref: "HEAD", problem: "no branch" },
      { ref: "refs/heads/kept", problem: "deleted" },
      { ref: "refs/tags/v1", problem: "tag moved" },
    ]);
    rmSync(view.viewPath(".git"), { recursive: true });
    expect(await view.readWork()).toMatchObject({ refs: [], dropped: [{ what: "repository" }] });
  });

  it("does not name what a command only read", async () => {
    await open();
    view.inView("status");
    view.inView("log");
    view.inView("gc", "-q");
    expect(await view.readWork()).toMatchObject({ refs: [], refused: [], dropped: [] });
  });

  it("does not copy a pack that git only touched", async () => {
    await open({
      prepare: ({ git, write }) => {
        write("large.bin", randomBytes(3_000_000));
        git("add", ".");
        git("commit", "-qm", "Large");
        git("gc", "-q");
      },
    });
    view.inView("update-index", "--add", "--cacheinfo", `100644,${view.inView("rev-parse", "HEAD:a.txt").trim()},copy.txt`);
    view.writeInView("copy.bin", "");
    writeFileSync(view.viewPath("copy.bin"), readFileSync(view.path("large.bin")));
    view.inView("add", "copy.bin");
    view.inView("commit", "-qm", "Copies");
    expect(readdirSync(join(view.upper, "objects/pack")).some((name) => name.endsWith(".pack"))).toBe(true);
    const limits = { files: 100, fileBytes: 10_000, objects: 100, contentBytes: 1_000_000 };
    const work = await view.readWork(limits);
    expect(work.commits).toMatchObject([{ subject: "Copies", paths: ["copy.bin", "copy.txt"] }]);
  });

  it("imports into a shallow clone", async () => {
    await open({
      prepare: ({ git, gitIn, workspace, path }) => {
        git("commit", "-q", "--allow-empty", "-m", "Second");
        gitIn(base, "clone", "-q", "--depth=1", `file://${workspace}`, join(base, "clone"));
        rmSync(path(".git"), { recursive: true });
        renameSync(join(base, "clone/.git"), path(".git"));
        git("remote", "remove", "origin");
      },
    });
    const before = repositoryState(view);
    commitInView("a.txt", "two\n", "Third");
    const work = await view.readWork();
    view.accept(work);
    await view.importWork(work);
    expect(subjects()).toEqual(["Third", "Second"]);
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
  });

  it("imports after the task packed all its objects and refs", async () => {
    await open();
    const commit = commitInView("a.txt", "two\n", "Second");
    view.inView("gc", "-q", "--prune=now");
    view.inView("pack-refs", "--all");
    const before = repositoryState(view);
    const work = await view.readWork();
    view.accept(work);
    await view.importWork(work);
    expect(head()).toBe(commit);
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
  });
});
