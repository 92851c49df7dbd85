// @module-tag processes
import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bytePictureOf } from "../../support/tools/byte-tree.ts";
import { runs } from "../../support/soak.ts";
import { createEffectsFixture, type EffectsFixture } from "../../support/tools/effects-fixture.ts";

describe("entries of every kind", () => {
  let fixture: EffectsFixture;
  beforeEach(() => {
    fixture = createEffectsFixture();
    fixture.write("a.txt", "a\n");
    fixture.write("sub/b.txt", "b\n");
    fixture.write("sub/run.sh", "#!/bin/sh\n");
    mkdirSync(fixture.path("empty"));
  });
  afterEach(() => fixture.close());

  const socket = `python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")'`;
  const depth = runs(150, 400);
  const deep = `python3 -c '
import os
for _ in range(${depth}):
    os.mkdir("d"); os.chdir("d")
open("leaf", "w").write("x")
'`;

  it.each<[what: string, script: string, paths: string[]]>([
    ["a file that became a pipe", "rm a.txt; mkfifo a.txt", ["a.txt"]],
    ["a file that became a socket", `${socket}; mv s a.txt`, ["a.txt"]],
    ["a folder that became a pipe", "rm -r sub; mkfifo sub", ["sub", "sub/b.txt", "sub/run.sh"]],
    ["new pipes and sockets", `mkfifo p; ${socket}; mkdir n; mkfifo n/p`, ["n/p", "p", "s"]],
    ["modes of files and folders", "chmod -R 700 .", ["./", "a.txt", "empty/", "sub/", "sub/b.txt", "sub/run.sh"]],
    ["no permissions at all", "chmod -R 000 .", ["./", "a.txt", "empty/", "sub/", "sub/b.txt", "sub/run.sh"]],
    ["many nested folders", deep, [`${"d/".repeat(depth)}leaf`]],
  ])("%s: named, and undone exactly", async (_what, script, paths) => {
    const before = bytePictureOf(fixture.workspace);
    const { touched } = await fixture.sh(script);
    expect(touched.files.map(({ path }) => path).toSorted()).toEqual(paths);
    expect(touched.files.filter(({ undoable }) => !undoable)).toEqual([]);
    expect((await fixture.restore.diff({ questId: "q1" })).length).toBeGreaterThan(0);
    const { conflicts } = await fixture.restore.restore({ questId: "q1" });
    expect(conflicts).toEqual([]);
    expect(bytePictureOf(fixture.workspace)).toEqual(before);
  });

  it("folders nested deeper than a path can be are named, and the undo says that they stay", async () => {
    const { touched } = await fixture.sh(deep.replaceAll(/range\(\d+\)/g, "range(400)").replaceAll('"d"', '"a-folder-with-a-long-name"'));
    const kept = touched.files.filter(({ undoable }) => !undoable).map(({ path }) => path);
    expect(kept).toEqual([expect.stringMatching(/^(?:a-folder-with-a-long-name\/){100,}$/)]);
    const { conflicts } = await fixture.restore.restore({ questId: "q1" });
    expect(conflicts.map(({ path }) => path)).toEqual(kept);
    execFileSync("rm", ["-rf", fixture.path("a-folder-with-a-long-name")]);
  });

  it("a pipe that existed is kept, and one that a command removed is named as lost", async () => {
    execFileSync("mkfifo", [fixture.path("kept"), fixture.path("gone")]);
    const { touched } = await fixture.sh("rm gone; echo b > gone; chmod 600 kept; echo c > a.txt");
    expect(touched.files).toEqual([
      { path: "a.txt", kind: "modified", undoable: true },
      { path: "gone", kind: "modified", undoable: false },
      { path: "kept", kind: "modified", undoable: true },
    ]);
    const { conflicts } = await fixture.restore.restore({ questId: "q1" });
    expect(conflicts.map(({ path }) => path)).toEqual(["gone"]);
    expect(lstatSync(fixture.path("kept")).mode & 0o777).toBe(0o644);
    expect([fixture.read("a.txt"), fixture.read("gone")]).toEqual(["a\n", "b\n"]);
  });

  it("data that passes through a pipe is no change", async () => {
    execFileSync("mkfifo", [fixture.path("pipe")]);
    const { touched } = await fixture.sh("cat pipe > /dev/null & echo x > pipe; wait");
    expect(touched.total).toBe(0);
  });

  it("an undone pipe is not created by the undo of the undo, which says so", async () => {
    await fixture.sh("rm a.txt; mkfifo a.txt");
    const undone = await fixture.restore.restore({ questId: "q1" });
    const again = await fixture.restore.restore({ id: undone.undoCheckpointId ?? "" });
    expect(again.conflicts.map(({ path }) => path)).toEqual(["a.txt"]);
    expect(fixture.read("a.txt")).toBe("a\n");
  });

  it.each([".vscode/settings.json", ".git/config"])("a pipe in place of %s is reverted at once", async (path) => {
    await fixture.sh("git init -q .; mkdir -p .vscode; echo '{}' > .vscode/settings.json", { questId: null, approved: [path] });
    const content = readFileSync(fixture.path(path), "utf8");
    const { touched } = await fixture.sh(`rm ${path}; mkfifo ${path}`);
    expect(touched.files).toContainEqual({ path, kind: "modified", undoable: true, putBack: true });
    expect(fixture.read(path)).toBe(content);
  });

  it("a new repository below .git/modules is named, and removed completely", async () => {
    await fixture.sh("git init -q . && git add a.txt && git commit -qm one", { questId: null });
    const before = bytePictureOf(fixture.workspace);
    const { touched } = await fixture.sh(
      "mkdir -p .git/modules/evil/objects/pack .git/modules/evil/refs .git/modules/group/inner/objects; echo x > .git/modules/evil/objects/pack/x.pack; echo 'ref: refs/heads/x' > .git/modules/evil/HEAD; echo y > .git/modules/group/inner/objects/y",
    );
    expect(touched.files.map(({ path, kind, undoable }) => [path, kind, undoable])).toEqual([
      [".git", "modified", true],
      [".git/modules/evil", "created", true],
      [".git/modules/group", "created", true],
    ]);
    const { conflicts } = await fixture.restore.restore({ questId: "q1" });
    expect(conflicts).toEqual([]);
    expect(bytePictureOf(fixture.workspace)).toEqual(before);
    await fixture.sh("mkdir -p .git/modules/old", { questId: null });
    const next = await fixture.sh("mkdir -p .git/modules/new/objects; echo x > .git/modules/new/objects/x; echo y > a.txt", {
      questId: "q2",
    });
    expect(next.touched.files.map(({ path, kind }) => [path, kind])).toEqual([
      ["a.txt", "modified"],
      [".git/modules/new", "created"],
    ]);
  });
});
