import { chmodSync, existsSync, readFileSync, statSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createToolsRoom, type ToolsRoom } from "../../support/tools-room.ts";

describe("edits applied at once (autonomous posture)", () => {
  let room: ToolsRoom;
  beforeEach(() => {
    room = createToolsRoom({ posture: "autonomous" });
  });
  afterEach(() => room.close());

  it("edits a file, keeps a receipt with hashes, a checkpoint and an accepted change", async () => {
    room.write("a.ts", "one\ntwo\nthree\n");
    const outcome = await room.run("edit_file", { path: "a.ts", old_text: "two", new_text: "TWO" });
    expect(outcome).toMatchObject({ isError: false, card: { status: "success", tier: "T1", verdict: "allow" } });
    expect(room.read("a.ts")).toBe("one\nTWO\nthree\n");
    const receipt = room.ledger.get(outcome.receiptId ?? "");
    expect(receipt).toMatchObject({
      status: "success",
      actionName: "edit_file",
      outputs: { changedFiles: [{ path: "a.ts", via: "disk" }] },
    });
    const [checkpoint] = room.tools.checkpoints.list({ questId: "q1", limit: 10 });
    expect(checkpoint).toMatchObject({ receiptId: outcome.receiptId, files: [{ path: "a.ts", existed: true }] });
    expect(room.tools.changes.get(outcome.changeId ?? "").change).toMatchObject({ status: "accepted", path: "a.ts" });
  });

  it.each([
    ["CRLF", "a\r\nb\r\nc\r\n", "a\r\nX\r\nc\r\n"],
    ["no last newline", "a\nb", "a\nX"],
    ["UTF-8 with BOM", "\ufeffa\nb\nc\n", "\ufeffa\nX\nc\n"],
  ])("keeps %s", async (_name, before, after) => {
    room.write("f.txt", before);
    expect((await room.run("edit_file", { path: "f.txt", old_text: "b", new_text: "X" })).isError).toBe(false);
    expect(room.read("f.txt")).toBe(after);
  });

  it.each(["utf16le", "latin1"] as const)("keeps %s", async (encoding) => {
    const bom = encoding === "utf16le" ? "\ufeff" : "";
    room.write("f.txt", Buffer.from(`${bom}café\nb\n`, encoding));
    expect((await room.run("edit_file", { path: "f.txt", old_text: "b", new_text: "crème" })).isError).toBe(false);
    expect(readFileSync(room.path("f.txt")).equals(Buffer.from(`${bom}café\ncrème\n`, encoding))).toBe(true);
  });

  it("keeps the mode", async () => {
    room.write("run.sh", "#!/bin/sh\nexit 1\n");
    chmodSync(room.path("run.sh"), 0o755);
    await room.run("edit_file", { path: "run.sh", old_text: "exit 1", new_text: "exit 0" });
    expect(statSync(room.path("run.sh")).mode & 0o777).toBe(0o755);
  });

  it("creates with folders, and undoes by quest", async () => {
    room.write("a.ts", "one\n");
    await room.run("write_file", { path: "x/y/new.ts", content: "new\n" });
    await room.run("write_file", { path: "a.ts", content: "two\n" });
    expect(room.read("x/y/new.ts")).toBe("new\n");
    const result = await room.tools.checkpoints.restore({ questId: "q1" });
    expect(result.conflicts).toEqual([]);
    expect([...result.restored].sort()).toEqual(["a.ts", "x/y/new.ts"]);
    expect(room.read("a.ts")).toBe("one\n");
    expect(existsSync(room.path("x/y/new.ts"))).toBe(false);
    await room.tools.checkpoints.restore({ id: result.undoCheckpointId ?? "" });
    expect(room.read("a.ts")).toBe("two\n");
    expect(room.read("x/y/new.ts")).toBe("new\n");
  });

  it("applies a patch of several files, or none of it", async () => {
    room.write("a.txt", "1\n2\n3\n");
    room.write("b.txt", "x\ny\n");
    const good = "--- a/a.txt\n+++ b/a.txt\n@@ -2,1 +2,1 @@\n-2\n+two\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+hello\n";
    expect(await room.run("apply_patch", { patch: good })).toMatchObject({ isError: false });
    expect([room.read("a.txt"), room.read("new.txt")]).toEqual(["1\ntwo\n3\n", "hello\n"]);
    const bad = "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-1\n+one\n--- a/b.txt\n+++ b/b.txt\n@@ -1,1 +1,1 @@\n-z\n+Z\n";
    const outcome = await room.run("apply_patch", { patch: bad });
    expect(outcome).toMatchObject({ isError: true });
    expect(outcome.text).toContain("b.txt: Hunk 1");
    expect([room.read("a.txt"), room.read("b.txt")]).toEqual(["1\ntwo\n3\n", "x\ny\n"]);
  });

  it("asks before deleting, and says what the owner said", async () => {
    room.write("a.txt", "1\n");
    room.answer("deny", "I need it");
    const refused = await room.run("delete_file", { path: "a.txt" });
    expect(refused).toMatchObject({ isError: true, card: { status: "denied" } });
    expect(refused.text).toContain("I need it");
    expect(existsSync(room.path("a.txt"))).toBe(true);
    room.answer("allow_once");
    expect(await room.run("delete_file", { path: "a.txt" })).toMatchObject({ isError: false, card: { tier: "T3", verdict: "ask" } });
    expect(existsSync(room.path("a.txt"))).toBe(false);
    await room.tools.checkpoints.restore({ questId: "q1" });
    expect(room.read("a.txt")).toBe("1\n");
  });
});
