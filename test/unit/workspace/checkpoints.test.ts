import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createToolsFixture, type ToolsFixture } from "../../support/tools-fixture.ts";

const lines = (...marks: [number, string][]) => {
  const all = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`);
  for (const [line, text] of marks) all[line - 1] = text;
  return `${all.join("\n")}\n`;
};

describe("checkpoints", () => {
  let room: ToolsFixture;
  beforeEach(() => {
    room = createToolsFixture({ posture: "autonomous" });
    room.answer("allow_once");
  });
  afterEach(() => room.close());
  const mode = (path: string) => statSync(room.path(path)).mode & 0o777;

  it("undo a quest exactly: content, mode, deleted and created files", async () => {
    room.write("a.txt", lines());
    room.write("run.sh", "#!/bin/sh\n");
    chmodSync(room.path("run.sh"), 0o750);
    room.write("bin.dat", Buffer.from([0, 1, 2, 255]));
    await room.run("edit_file", { path: "a.txt", old_text: "line 5", new_text: "five" });
    await room.run("edit_file", { path: "a.txt", old_text: "line 7", new_text: "seven" });
    await room.run("delete_file", { path: "run.sh" });
    await room.run("delete_file", { path: "bin.dat" });
    await room.run("write_file", { path: "new/file.txt", content: "new\n" });
    expect(existsSync(room.path("bin.dat"))).toBe(false);
    const diff = await room.tools.checkpoints.diff({ questId: "q1" });
    expect(diff.map(({ path }) => path).sort()).toEqual(["a.txt", "bin.dat", "new/file.txt", "run.sh"]);
    expect(diff.find(({ path }) => path === "a.txt")?.diff).toContain("-five\n+line 5");
    const result = await room.tools.checkpoints.restore({ questId: "q1" });
    expect(result.conflicts).toEqual([]);
    expect(room.read("a.txt")).toBe(lines());
    expect([room.read("run.sh"), mode("run.sh")]).toEqual(["#!/bin/sh\n", 0o750]);
    expect(readFileSync(room.path("bin.dat"))).toEqual(Buffer.from([0, 1, 2, 255]));
    expect(existsSync(room.path("new/file.txt"))).toBe(false);
    // And the undoing can be undone.
    const again = await room.tools.checkpoints.restore({ id: result.undoCheckpointId ?? "" });
    expect(again.conflicts).toEqual([]);
    expect(room.read("a.txt")).toBe(lines([5, "five"], [7, "seven"]));
    expect([existsSync(room.path("run.sh")), existsSync(room.path("bin.dat")), room.read("new/file.txt")]).toEqual([false, false, "new\n"]);
  });

  it("keep the user's later edits, and those between two edits", async () => {
    room.write("a.txt", lines());
    await room.run("edit_file", { path: "a.txt", old_text: "line 5", new_text: "five" });
    room.write("a.txt", room.read("a.txt").replace("line 10\n", "owner 10\n"));
    await room.run("edit_file", { path: "a.txt", old_text: "line 15", new_text: "fifteen" });
    room.write("a.txt", room.read("a.txt").replace("line 20\n", "owner 20\n"));
    const result = await room.tools.checkpoints.restore({ questId: "q1" });
    expect(result).toMatchObject({ restored: ["a.txt"], conflicts: [] });
    expect(room.read("a.txt")).toBe(lines([10, "owner 10"], [20, "owner 20"]));
  });

  it("keep and report files that do not merge", async () => {
    room.write("a.txt", lines());
    room.write("b.txt", "b\n");
    await room.run("edit_file", { path: "a.txt", old_text: "line 5", new_text: "five" });
    await room.run("write_file", { path: "b.txt", content: "B\n" });
    await room.run("write_file", { path: "c.txt", content: "c\n" });
    room.write("a.txt", room.read("a.txt").replace("five", "mine"));
    room.write("c.txt", "c edited\n");
    const result = await room.tools.checkpoints.restore({ questId: "q1" });
    expect(result.restored).toEqual(["b.txt"]);
    expect(result.conflicts.map(({ path }) => path).sort()).toEqual(["a.txt", "c.txt"]);
    expect([room.read("a.txt"), room.read("b.txt"), room.read("c.txt")]).toEqual([lines([5, "mine"]), "b\n", "c edited\n"]);
    const receipt = room.ledger.search({ query: "checkpoint_restore", actionType: "file_op", limit: 1 }).items[0];
    expect(receipt).toMatchObject({ actionType: "file_op", status: "success" });
  });

  it("restore one step by its own checkpoint", async () => {
    room.write("a.txt", lines());
    await room.run("edit_file", { path: "a.txt", old_text: "line 5", new_text: "five" });
    await room.run("edit_file", { path: "a.txt", old_text: "line 15", new_text: "fifteen" });
    const [, first] = room.tools.checkpoints.list({ questId: "q1", limit: 10 });
    await room.tools.checkpoints.restore({ id: first?.id ?? "" });
    expect(room.read("a.txt")).toBe(lines([15, "fifteen"]));
  });

  it("do nothing when nothing is left to undo", async () => {
    room.write("a.txt", "a\n");
    await room.run("write_file", { path: "a.txt", content: "b\n" });
    await room.tools.checkpoints.restore({ questId: "q1" });
    expect(await room.tools.checkpoints.restore({ questId: "q1" })).toEqual({ restored: [], conflicts: [], undoCheckpointId: null });
    expect(await room.tools.checkpoints.diff({ questId: "q1" })).toEqual([]);
    await expect(room.tools.checkpoints.restore({ id: "nope" })).rejects.toMatchObject({ code: "not_found" });
  });

  it("report a damaged stored version and keep the file", async () => {
    room.write("a.txt", "a\n");
    await room.run("write_file", { path: "a.txt", content: "b\n" });
    const objects = join(room.dataDir, "objects");
    for (const name of readdirSync(objects, { recursive: true, encoding: "utf8" })) {
      const path = join(objects, name);
      if (statSync(path).isFile()) writeFileSync(path, "damaged");
    }
    const result = await room.tools.checkpoints.restore({ questId: "q1" });
    expect(result.conflicts).toEqual([{ path: "a.txt", message: expect.stringContaining("damaged") }]);
    expect(room.read("a.txt")).toBe("b\n");
  });

  it("store each content once, compressed and private", async () => {
    const text = "same line\n".repeat(10_000);
    for (const name of ["a", "b", "c"]) room.write(name, text);
    for (const name of ["a", "b", "c"]) await room.run("write_file", { path: name, content: "x\n" });
    const objects = join(room.dataDir, "objects");
    const files = readdirSync(objects, { recursive: true, encoding: "utf8" }).filter((name) => statSync(join(objects, name)).isFile());
    expect(files).toHaveLength(2);
    for (const name of files) {
      expect(statSync(join(objects, name)).size).toBeLessThan(2_000);
      expect(statSync(join(objects, name)).mode & 0o077).toBe(0);
    }
  });

  it("undo accepted changes", async () => {
    room.governance.setPosture("supervised");
    room.write("a.txt", lines());
    const { changeId } = await room.run("edit_file", { path: "a.txt", old_text: "line 5", new_text: "five" });
    await room.tools.changes.decide(changeId ?? "", "accept");
    expect(room.read("a.txt")).toBe(lines([5, "five"]));
    await room.tools.checkpoints.restore({ questId: "q1" });
    expect(room.read("a.txt")).toBe(lines());
  });

  it("remove temporary files of dead hosts", async () => {
    room.write("dir/a.txt", "a\n");
    await room.run("write_file", { path: "dir/a.txt", content: "b\n" });
    room.storage.db.exec("UPDATE checkpoints SET finished = 0, host_id = 'gone'");
    room.write("dir/.lancelot-0123456789abcdef.tmp", "half");
    room.write("dir/.lancelot-notes.tmp", "the owner's");
    const again = createToolsFixture({ base: room.workspace.replace(/\/proj$/, "") });
    expect(readdirSync(room.path("dir")).sort()).toEqual([".lancelot-notes.tmp", "a.txt"]);
    again.close();
    rmSync(room.path("dir"), { recursive: true });
  });
});
