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
  let fixture: ToolsFixture;
  beforeEach(() => {
    fixture = createToolsFixture({ posture: "autonomous" });
    fixture.answer("allow_once");
  });
  afterEach(() => fixture.close());
  const mode = (path: string) => statSync(fixture.path(path)).mode & 0o777;

  it("undo a quest exactly: content, mode, deleted and created files", async () => {
    fixture.write("a.txt", lines());
    fixture.write("run.sh", "#!/bin/sh\n");
    chmodSync(fixture.path("run.sh"), 0o750);
    fixture.write("bin.dat", Buffer.from([0, 1, 2, 255]));
    await fixture.run("edit_file", { path: "a.txt", old_text: "line 5", new_text: "five" });
    await fixture.run("edit_file", { path: "a.txt", old_text: "line 7", new_text: "seven" });
    await fixture.run("delete_file", { path: "run.sh" });
    await fixture.run("delete_file", { path: "bin.dat" });
    await fixture.run("write_file", { path: "new/file.txt", content: "new\n" });
    expect(existsSync(fixture.path("bin.dat"))).toBe(false);
    const diff = await fixture.tools.checkpoints.diff({ questId: "q1" });
    expect(diff.map(({ path }) => path).sort()).toEqual(["a.txt", "bin.dat", "new", "new/file.txt", "run.sh"]);
    expect(diff.find(({ path }) => path === "a.txt")?.diff).toContain("-five\n+line 5");
    const result = await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(result.conflicts).toEqual([]);
    expect(fixture.read("a.txt")).toBe(lines());
    expect([fixture.read("run.sh"), mode("run.sh")]).toEqual(["#!/bin/sh\n", 0o750]);
    expect(readFileSync(fixture.path("bin.dat"))).toEqual(Buffer.from([0, 1, 2, 255]));
    expect(existsSync(fixture.path("new/file.txt"))).toBe(false);
    // And the undoing can be undone.
    const again = await fixture.tools.checkpoints.restore({ id: result.undoCheckpointId ?? "" });
    expect(again.conflicts).toEqual([]);
    expect(fixture.read("a.txt")).toBe(lines([5, "five"], [7, "seven"]));
    expect([existsSync(fixture.path("run.sh")), existsSync(fixture.path("bin.dat")), fixture.read("new/file.txt")]).toEqual([
      false,
      false,
      "new\n",
    ]);
  });

  it("keep the user's later edits, and those between two edits", async () => {
    fixture.write("a.txt", lines());
    await fixture.run("edit_file", { path: "a.txt", old_text: "line 5", new_text: "five" });
    fixture.write("a.txt", fixture.read("a.txt").replace("line 10\n", "owner 10\n"));
    await fixture.run("edit_file", { path: "a.txt", old_text: "line 15", new_text: "fifteen" });
    fixture.write("a.txt", fixture.read("a.txt").replace("line 20\n", "owner 20\n"));
    const result = await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(result).toMatchObject({ restored: ["a.txt"], conflicts: [] });
    expect(fixture.read("a.txt")).toBe(lines([10, "owner 10"], [20, "owner 20"]));
  });

  it("keep and report files that do not merge", async () => {
    fixture.write("a.txt", lines());
    fixture.write("b.txt", "b\n");
    await fixture.run("edit_file", { path: "a.txt", old_text: "line 5", new_text: "five" });
    await fixture.run("write_file", { path: "b.txt", content: "B\n" });
    await fixture.run("write_file", { path: "c.txt", content: "c\n" });
    fixture.write("a.txt", fixture.read("a.txt").replace("five", "mine"));
    fixture.write("c.txt", "c edited\n");
    const result = await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(result.restored).toEqual(["b.txt"]);
    expect(result.conflicts.map(({ path }) => path).sort()).toEqual(["a.txt", "c.txt"]);
    expect([fixture.read("a.txt"), fixture.read("b.txt"), fixture.read("c.txt")]).toEqual([lines([5, "mine"]), "b\n", "c edited\n"]);
    const receipt = fixture.ledger.search({ query: "checkpoint_restore", actionType: "file_op", limit: 1 }).items[0];
    expect(receipt).toMatchObject({ actionType: "file_op", status: "success" });
  });

  it("restore one step by its own checkpoint", async () => {
    fixture.write("a.txt", lines());
    await fixture.run("edit_file", { path: "a.txt", old_text: "line 5", new_text: "five" });
    await fixture.run("edit_file", { path: "a.txt", old_text: "line 15", new_text: "fifteen" });
    const [, first] = fixture.tools.checkpoints.list({ questId: "q1", limit: 10 });
    await fixture.tools.checkpoints.restore({ id: first?.id ?? "" });
    expect(fixture.read("a.txt")).toBe(lines([15, "fifteen"]));
  });

  it("do nothing when nothing is left to undo", async () => {
    fixture.write("a.txt", "a\n");
    await fixture.run("write_file", { path: "a.txt", content: "b\n" });
    await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(await fixture.tools.checkpoints.restore({ questId: "q1" })).toEqual({ restored: [], conflicts: [], undoCheckpointId: null });
    expect(await fixture.tools.checkpoints.diff({ questId: "q1" })).toEqual([]);
    await expect(fixture.tools.checkpoints.restore({ id: "nope" })).rejects.toMatchObject({ code: "not_found" });
  });

  it("report a damaged stored version and keep the file", async () => {
    fixture.write("a.txt", "a\n");
    await fixture.run("write_file", { path: "a.txt", content: "b\n" });
    const objects = join(fixture.dataDir, "objects");
    for (const name of readdirSync(objects, { recursive: true, encoding: "utf8" })) {
      const path = join(objects, name);
      if (statSync(path).isFile()) writeFileSync(path, "damaged");
    }
    const result = await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(result.conflicts).toEqual([{ path: "a.txt", message: expect.stringContaining("damaged") }]);
    expect(fixture.read("a.txt")).toBe("b\n");
  });

  it("store each content once, compressed and private", async () => {
    const text = "same line\n".repeat(10_000);
    for (const name of ["a", "b", "c"]) fixture.write(name, text);
    for (const name of ["a", "b", "c"]) await fixture.run("write_file", { path: name, content: "x\n" });
    const objects = join(fixture.dataDir, "objects");
    const files = readdirSync(objects, { recursive: true, encoding: "utf8" }).filter((name) => statSync(join(objects, name)).isFile());
    expect(files).toHaveLength(2);
    for (const name of files) {
      expect(statSync(join(objects, name)).size).toBeLessThan(2_000);
      expect(statSync(join(objects, name)).mode & 0o077).toBe(0);
    }
  });

  it("undo accepted changes", async () => {
    fixture.governance.setPosture("supervised");
    fixture.write("a.txt", lines());
    const { changeId } = await fixture.run("edit_file", { path: "a.txt", old_text: "line 5", new_text: "five" });
    await fixture.tools.changes.decide(changeId ?? "", "accept");
    expect(fixture.read("a.txt")).toBe(lines([5, "five"]));
    await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(fixture.read("a.txt")).toBe(lines());
  });

  it("remove temporary files of dead hosts", async () => {
    fixture.write("dir/a.txt", "a\n");
    await fixture.run("write_file", { path: "dir/a.txt", content: "b\n" });
    fixture.storage.db.exec("UPDATE checkpoints SET finished = 0, host_id = 'gone'");
    fixture.write("dir/.lancelot-0123456789abcdef.tmp", "half");
    fixture.write("dir/.lancelot-notes.tmp", "the owner's");
    const again = createToolsFixture({ base: fixture.workspace.replace(/\/proj$/, "") });
    expect(readdirSync(fixture.path("dir")).sort()).toEqual([".lancelot-notes.tmp", "a.txt"]);
    again.close();
    rmSync(fixture.path("dir"), { recursive: true });
  });
});
