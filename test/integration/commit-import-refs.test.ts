import { execFileSync } from "node:child_process";
import { cpSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { put } from "../support/tools/git-fixture.ts";
import {
  base,
  blob,
  commit,
  describeOnLinux,
  expectProblem,
  file,
  first,
  gitDir,
  plantTraps,
  point,
  useHostileView,
  victim,
  view,
} from "../support/tools/hostile-view.ts";
import { commitObject, looseObject, treeObject } from "../support/tools/raw-objects.ts";

useHostileView();

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
