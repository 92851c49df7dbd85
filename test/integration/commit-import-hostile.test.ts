import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { put } from "../support/tools/git-fixture.ts";
import {
  base,
  blob,
  commit,
  describeOnLinux,
  expectProblem,
  expectRefused,
  file,
  first,
  forged,
  gitDir,
  plantTraps,
  point,
  secret,
  useHostileView,
  victim,
  view,
} from "../support/tools/hostile-view.ts";
import { commitObject, deltaPack, looseObject, looseZeros, treeObject } from "../support/tools/raw-objects.ts";

useHostileView();

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
    const tree = await looseZeros(gitDir, "tree", 250 * 1024 * 1024);
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
