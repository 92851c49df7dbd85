import { execFileSync, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RefProblem, RepositoryWork } from "../../agent-server/workspace/workspace.ts";
import { put } from "../support/tools/git-fixture.ts";
import { commitObject, deltaPack, looseObject, type RawEntry, treeObject } from "../support/tools/raw-objects.ts";
import { createCopiedView, repositoryState, type ViewFixture } from "../support/tools/view-fixture.ts";

/** Only Linux has views of tasks. */
const describeOnLinux = describe.runIf(process.platform === "linux");

let base = "";
let view: ViewFixture;
let gitDir = "";
let first = "";
let victim = "";
/** A file of another repository of this machine: its hash is known to the task, and its content must not be. */
let secret = "";
let before: Record<string, string>;

beforeEach(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-hostile-import-")));
  view = await createCopiedView({ base });
  gitDir = view.merged;
  first = view.git("rev-parse", "HEAD").trim();
  victim = join(base, "victim");
  mkdirSync(victim);
  view.gitIn(victim, "init", "-q", "-b", "main");
  writeFileSync(join(victim, "private.txt"), "private words\n");
  view.gitIn(victim, "add", ".");
  view.gitIn(victim, "commit", "-qm", "Private");
  secret = view.gitIn(victim, "rev-parse", "HEAD:private.txt").trim();
  before = repositoryState(view);
});
afterEach(() => {
  expect(repositoryState(view)).toEqual(before);
  expect(existsSync(join(base, "canary"))).toBe(false);
  expect(() => view.git("cat-file", "-e", secret)).toThrow();
  view.close();
  rmSync(base, { recursive: true, force: true });
});

/** Settings, hooks and grafts that would run a program or change what git sees, were git run on the view. */
function plantTraps(): void {
  const trap = join(base, "trap");
  put(trap, `#!/bin/sh\ntouch '${join(base, "canary")}'\n`, 0o755);
  for (const hook of ["post-checkout", "reference-transaction", "post-index-change", "pre-push", "update", "pre-receive"])
    put(join(gitDir, "hooks", hook), `#!/bin/sh\n'${trap}'\n`, 0o755);
  writeFileSync(
    join(gitDir, "config"),
    `[core]\n\tfsmonitor = ${trap}\n\thooksPath = hooks\n\tsshCommand = ${trap}\n[uploadpack]\n\tpackObjectsHook = ${trap}\n`,
    {
      flag: "a",
    },
  );
}

const point = (ref: string, hash: string): void => put(join(gitDir, ref), `${hash}\n`);
const blob = (): string => looseObject(gitDir, "blob", "new\n");
const file = (name: string, hash = blob(), mode = "100644"): RawEntry => ({ mode, name, hash });
/** Moves main to a commit with these entries. */
const commit = (...entries: RawEntry[]): string => {
  const hash = commitObject(gitDir, { tree: treeObject(gitDir, entries), parents: [first] });
  point("refs/heads/main", hash);
  return hash;
};
/** What the task made, as if it had been read without a complaint. */
const forged = (after: string): RepositoryWork => {
  const head = { ref: "refs/heads/main", commit: first };
  const state = { head, refs: { "refs/heads/main": first } };
  return {
    refs: [{ ref: "refs/heads/main", before: first, after, kind: "moved" }],
    ...{ refused: [], commits: [], paths: [], dropped: [], head: { before: head, after: head }, base: state },
  };
};

/** Neither reading nor importing may succeed. */
async function expectRefused(after: string, code: "denied" | "too_large" = "denied"): Promise<void> {
  plantTraps();
  await expect(view.readWork()).rejects.toMatchObject({ code });
  await expect(view.importWork(forged(after))).rejects.toMatchObject({ code });
}

async function expectProblem(problem: RefProblem, ref = "refs/heads/main"): Promise<void> {
  plantTraps();
  const work = await view.readWork();
  expect(work.refs).toEqual([]);
  expect(work.refused).toEqual([{ ref, problem }]);
  expect(await view.importWork(work)).toMatchObject({ refs: [] });
}

describeOnLinux("objects of a hostile task", () => {
  it("come from no other repository: alternates", async () => {
    put(join(gitDir, "objects/info/alternates"), `${join(victim, ".git/objects")}\n`);
    put(join(gitDir, "objects/info/http-alternates"), `${join(victim, ".git/objects")}\n`);
    await expectRefused(commit(file("stolen.txt", secret)));
  });

  it("come from no other repository: links in place of files and folders", async () => {
    const own = join(victim, ".git/objects", secret.slice(0, 2));
    mkdirSync(join(gitDir, "objects", secret.slice(0, 2)), { recursive: true });
    symlinkSync(join(own, secret.slice(2)), join(gitDir, "objects", secret.slice(0, 2), secret.slice(2)));
    const after = commit(file("stolen.txt", secret));
    await expectRefused(after);
    rmSync(join(gitDir, "objects", secret.slice(0, 2)), { recursive: true });
    symlinkSync(own, join(gitDir, "objects", secret.slice(0, 2)));
    await expectRefused(after);
    view.gitIn(victim, "gc", "-q");
    rmSync(join(gitDir, "objects/pack"), { recursive: true, force: true });
    symlinkSync(join(victim, ".git/objects/pack"), join(gitDir, "objects/pack"));
    await expectRefused(after);
    rmSync(join(gitDir, "objects"), { recursive: true });
    symlinkSync(join(victim, ".git/objects"), join(gitDir, "objects"));
    await expectRefused(after);
  });

  it("come from no other repository while folders are exchanged for links", async () => {
    const after = commit(file("stolen.txt", secret));
    const [inView, own] = [join(gitDir, "objects", secret.slice(0, 2)), join(victim, ".git/objects", secret.slice(0, 2))];
    mkdirSync(inView, { recursive: true });
    const swap = `while :; do mv -T '${inView}' '${inView}x' 2>/dev/null; ln -sn '${own}' '${inView}' 2>/dev/null; rm -f '${inView}'; mv -T '${inView}x' '${inView}'; done`;
    const swapper = spawn("sh", ["-c", swap], { stdio: "ignore" });
    try {
      for (let round = 0; round < 10; round += 1) await expect(view.importWork(forged(after))).rejects.toMatchObject({ code: "denied" });
    } finally {
      swapper.kill("SIGKILL");
    }
  });

  it("are complete: a missing file, tree, parent", async () => {
    await expectRefused(commit(file("a.txt", "1".repeat(40))));
    await expectRefused(commit({ mode: "40000", name: "dir", hash: "2".repeat(40) }));
    const orphaned = commitObject(gitDir, { tree: treeObject(gitDir, [file("a.txt")]), parents: ["3".repeat(40)] });
    point("refs/heads/main", orphaned);
    // A history that is said to end there.
    writeFileSync(join(gitDir, "shallow"), `${orphaned}\n`);
    put(join(gitDir, "info/grafts"), `${orphaned} ${first}\n`);
    put(join(gitDir, "refs/replace", "3".repeat(40)), `${first}\n`);
    await expectRefused(orphaned);
    point("refs/heads/main", "4".repeat(40));
    await expectRefused("4".repeat(40));
  });

  it("have the content that their names say", async () => {
    const good = blob();
    looseObject(gitDir, "blob", "other\n", good);
    await expectRefused(commit(file("a.txt", good)));
    const tree = treeObject(gitDir, [file("a.txt", looseObject(gitDir, "blob", "x\n"))]);
    const made = commitObject(gitDir, { tree, parents: [first] });
    looseObject(gitDir, "commit", readFileSync(join(base, "proj/a.txt")), made);
    point("refs/heads/main", made);
    await expectRefused(made);
  });

  it("do not replace an object of the real repository", async () => {
    const real = view.git("rev-parse", "HEAD:a.txt").trim();
    rmSync(join(gitDir, "objects", real.slice(0, 2), real.slice(2)), { force: true });
    looseObject(gitDir, "blob", "of the task\n", real);
    const after = commit(file("a.txt", real), file("b.txt", looseObject(gitDir, "blob", "b of the task\n")));
    // The name leads to the owner's content, whatever the task put there.
    const work = await view.readWork();
    expect(work.refs).toMatchObject([{ after }]);
    expect(work.paths).toEqual(["b.txt", "dir/b.txt"]);
    expect(view.git("cat-file", "blob", real)).toBe("one\n");
  });

  it("are no files in place of folders, or folders in place of commits", async () => {
    await expectRefused(commit({ mode: "40000", name: "dir", hash: blob() }));
    await expectRefused(commit(file("a.txt", treeObject(gitDir, [file("b.txt")]))));
    const parent = commitObject(gitDir, { tree: treeObject(gitDir, [file("a.txt")]), parents: [blob()] });
    point("refs/heads/main", parent);
    await expectRefused(parent);
  });

  it.each([".git", ".GIT", ".git ", "git~1", ".g\u200cit", "..", ".", "", "a/b", ".git\\config", "x\\.git\\hooks"])(
    "have no file named %j",
    async (name) => {
      const after = commit(file(name));
      plantTraps();
      const outcome = await view.readWork().then(
        (work) => work.refused,
        (error: unknown) => (error as { code: string }).code,
      );
      if (outcome === "denied") await expectRefused(after);
      else expect(outcome).toEqual([{ ref: "refs/heads/main", problem: "file name" }]);
    },
  );

  it("have no unsafe file name in a commit that a later one hides", async () => {
    const bad = commit({ mode: "40000", name: ".git", hash: treeObject(gitDir, [file("config")]) });
    const good = commitObject(gitDir, { tree: treeObject(gitDir, [file("a.txt")]), parents: [bad] });
    point("refs/heads/main", good);
    await expectRefused(good);
  });

  it("have no path that is longer than any system has", async () => {
    let tree = treeObject(gitDir, [file("f")]);
    for (let depth = 0; depth < 2_500; depth += 1) tree = treeObject(gitDir, [{ mode: "40000", name: "d", hash: tree }]);
    const deep = commitObject(gitDir, { tree, parents: [first] });
    point("refs/heads/main", commitObject(gitDir, { tree: treeObject(gitDir, [file("a.txt")]), parents: [deep] }));
    await expectProblem("file name");
  });

  it("have entries in order, once each, and no text after their end", async () => {
    await expectRefused(commit(file("b.txt"), file("a.txt")));
    await expectRefused(commit(file("a.txt"), file("a.txt")));
    const tree = treeObject(gitDir, [file("a.txt")]);
    const hidden = commitObject(gitDir, { tree, parents: [first], message: "seen\0hidden" });
    point("refs/heads/main", hidden);
    await expectRefused(hidden);
  });

  it("name no program in .gitmodules, and move no submodule", async () => {
    const modules = looseObject(gitDir, "blob", '[submodule "x"]\n\tpath = x\n\turl = -u./payload\n');
    await expectRefused(commit(file(".gitmodules", modules)));
    const link = looseObject(gitDir, "blob", "../../.git/config");
    await expectRefused(commit(file(".gitmodules", link, "120000")));
    commit({ mode: "160000", name: "sub", hash: "5".repeat(40) });
    await expectProblem("submodule");
  });
});

describeOnLinux("objects of a hostile task that are too large", () => {
  it("a tree of 250 MB in 250 KB, and a file that is larger than it says", async () => {
    const tree = looseObject(gitDir, "tree", Buffer.alloc(250 * 1024 * 1024));
    const after = commitObject(gitDir, { tree, parents: [first] });
    point("refs/heads/main", after);
    await expectRefused(after);
    const lying = looseObject(gitDir, "blob", Buffer.alloc(50 * 1024 * 1024), undefined, 10);
    await expectRefused(commit(file("a.txt", lying)));
    const short = looseObject(gitDir, "blob", "short", undefined, 100_000);
    await expectRefused(commit(file("a.txt", short)));
  });

  it("files of more than a gigabyte, announced without being read", async () => {
    const entries = Array.from({ length: 5 }, (_, index) =>
      file(`a${index}`, looseObject(gitDir, "blob", `x${index}`, undefined, 300 * 1024 * 1024)),
    );
    await expectRefused(commit(...entries), "too_large");
  });

  it("a tree in which each folder has ten names for the next one", async () => {
    let tree = treeObject(gitDir, [file("f")]);
    for (let depth = 0; depth < 12; depth += 1)
      tree = treeObject(
        gitDir,
        Array.from({ length: 10 }, (_, index) => ({ mode: "40000", name: `d${index}`, hash: tree })),
      );
    const after = commitObject(gitDir, { tree, parents: [first] });
    point("refs/heads/main", after);
    await expect(view.readWork()).rejects.toMatchObject({ code: "too_large" });
  });

  it("packs: a difference to nothing, one that grows to a terabyte, one that is no pack", async () => {
    const after = commit(file("a.txt"));
    const pack = join(gitDir, "objects/pack/pack-x.pack");
    deltaPack(pack, "6".repeat(40), 10, 10);
    await expectRefused(after);
    const real = view.git("rev-parse", "HEAD:a.txt").trim();
    deltaPack(pack, real, 4, 2 ** 40);
    await expectRefused(after);
    writeFileSync(pack, "PACK and so on");
    await expectRefused(after);
    rmSync(pack);
    execFileSync("mkfifo", [pack]);
    const work = await view.readWork();
    expect(work.refs).toMatchObject([{ after }]);
  });

  it("more files, bytes or objects than the limits", async () => {
    const limits = { files: 1_000, fileBytes: 1_000_000, objects: 1_000, contentBytes: 1_000_000 };
    const after = commit(file("a.txt", looseObject(gitDir, "blob", "x".repeat(10_000))), file("b.txt"));
    for (const [limit, value] of Object.entries({ files: 1, fileBytes: 200, objects: 3, contentBytes: 10_000 }))
      await expect(view.readWork({ ...limits, [limit]: value })).rejects.toMatchObject({ code: "too_large" });
    expect((await view.readWork(limits)).refs).toMatchObject([{ after }]);
  });

  it("more refs than any repository has", async () => {
    const lines = Array.from({ length: 1_000_000 }, (_, index) => `${first} refs/heads/b${index}\n`);
    writeFileSync(join(gitDir, "packed-refs"), lines.join(""));
    plantTraps();
    await expect(view.readWork()).rejects.toMatchObject({ code: "too_large" });
    writeFileSync(join(gitDir, "packed-refs"), lines.slice(0, 500).join(""));
    await expect(view.readWork()).rejects.toMatchObject({ code: "too_large" });
  });
});

describeOnLinux("refs of a hostile task", () => {
  it.each([
    "refs/heads/../../config",
    "refs/heads/a..b",
    "refs/heads/-x",
    "refs/heads/HEAD",
    "refs/heads/a.lock",
    "refs/heads/a@{1}",
    "refs/heads/.a",
    "refs/heads/a\u202eb",
    "refs/heads/a\tb",
    "refs/heads/",
    "refs/tags/../heads/main",
  ])("have no name like %j", async (name) => {
    const hash = commitObject(gitDir, { tree: treeObject(gitDir, [file("a.txt")]), parents: [first] });
    writeFileSync(join(gitDir, "packed-refs"), `${hash} ${name}\n`);
    plantTraps();
    const work = await view.readWork();
    expect(work.refs).toEqual([]);
    expect(["name", undefined]).toContain(work.refused[0]?.problem);
  });

  it("name commits: no file, no folder, no tag of a file, no text", async () => {
    point("refs/heads/main", blob());
    await expectProblem("not a commit");
    point("refs/heads/main", treeObject(gitDir, [file("a.txt")]));
    await expectProblem("not a commit");
    point("refs/heads/main", "../../config");
    await expectProblem("not a commit");
    point("refs/heads/main", first);
    const tag = `object ${blob()}\ntype blob\ntag v1\ntagger T <t@example.invalid> 1700000000 +0000\n\nx\n`;
    point("refs/tags/v1", looseObject(gitDir, "tag", tag));
    await expectProblem("not a commit", "refs/tags/v1");
  });

  it("are no symbolic refs, links or pipes", async () => {
    point("refs/heads/other", "ref: refs/heads/main");
    await expectProblem("not a commit", "refs/heads/other");
    rmSync(join(gitDir, "refs/heads/other"));
    symlinkSync(join(victim, ".git/refs/heads/main"), join(gitDir, "refs/heads/stolen"));
    execFileSync("mkfifo", [join(gitDir, "refs/heads/pipe")]);
    symlinkSync(join(victim, ".git/refs/heads"), join(gitDir, "refs/heads/folder"));
    const work = await view.readWork();
    expect(work).toMatchObject({ refs: [], refused: [] });
  });

  it("do not make HEAD leave the branches", async () => {
    commit(file("a.txt"));
    for (const head of ["ref: ../../victim/.git/HEAD", "ref: refs/tags/x", "ref: config", "", "x".repeat(4_000)]) {
      writeFileSync(join(gitDir, "HEAD"), head);
      expect((await view.readWork()).head.after).toEqual({ ref: null, commit: null });
    }
    rmSync(join(gitDir, "HEAD"));
    execFileSync("mkfifo", [join(gitDir, "HEAD")]);
    expect((await view.readWork()).head.after).toEqual({ ref: null, commit: null });
  });
});

describeOnLinux("a repository that a hostile task replaced", () => {
  it("is left when it is a link or a file", async () => {
    renameSync(gitDir, join(base, "moved"));
    symlinkSync(join(victim, ".git"), gitDir);
    expect(await view.readWork()).toMatchObject({ refs: [], commits: [], dropped: [{ what: "repository" }] });
    rmSync(gitDir);
    writeFileSync(gitDir, `gitdir: ${join(victim, ".git")}\n`);
    expect(await view.readWork()).toMatchObject({ refs: [], commits: [], dropped: [{ what: "repository" }] });
  });

  it("is not read through commondir, another ref format, or an index that git would follow", async () => {
    const after = commit(file("a.txt"));
    writeFileSync(join(gitDir, "commondir"), `${join(victim, ".git")}\n`);
    put(join(gitDir, "reftable/tables.list"), "x\n");
    writeFileSync(
      join(gitDir, "config"),
      `[extensions]\n\trefStorage = reftable\n\tpartialClone = origin\n[remote "origin"]\n\tpromisor = true\n`,
    );
    writeFileSync(join(gitDir, "index"), Buffer.concat([Buffer.from("DIRC\0\0\0\x02\xff\xff\xff\xff", "latin1"), Buffer.alloc(100)]));
    const work = await view.readWork();
    expect(work.refs).toMatchObject([{ after }]);
    expect(work.dropped.map(({ what }) => what).sort()).toEqual(["index", "redirection", "ref table", "settings"]);
  });

  it("is not the real one when its whole history is another", async () => {
    rmSync(gitDir, { recursive: true });
    cpSync(join(victim, ".git"), gitDir, { recursive: true });
    const work = await view.readWork();
    expect(work.refs).toMatchObject([{ kind: "rewritten" }]);
    expect(await view.importWork(work)).toMatchObject({ refs: [] });
  });
});
