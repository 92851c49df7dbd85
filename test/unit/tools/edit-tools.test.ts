import { chmodSync, existsSync, readFileSync, statSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createToolsFixture, type ToolsFixture } from "../../support/tools-fixture.ts";

describe("edits written directly (autonomous posture)", () => {
  let fixture: ToolsFixture;
  beforeEach(() => {
    fixture = createToolsFixture({ posture: "autonomous" });
  });
  afterEach(() => fixture.close());

  it("edits a file, keeps a receipt with hashes, a checkpoint and an accepted change", async () => {
    fixture.write("a.ts", "one\ntwo\nthree\n");
    const outcome = await fixture.run("edit_file", { path: "a.ts", old_text: "two", new_text: "TWO" });
    expect(outcome).toMatchObject({ isError: false, card: { status: "success", tier: "T1", verdict: "allow" } });
    expect(fixture.read("a.ts")).toBe("one\nTWO\nthree\n");
    const receipt = fixture.ledger.get(outcome.receiptId ?? "");
    expect(receipt).toMatchObject({
      status: "success",
      actionName: "edit_file",
      outputs: { changedFiles: [{ path: "a.ts", via: "disk" }] },
    });
    const [checkpoint] = fixture.tools.checkpoints.list({ questId: "q1", limit: 10 });
    expect(checkpoint).toMatchObject({ receiptId: outcome.receiptId, files: [{ path: "a.ts", existed: true }] });
    expect(fixture.tools.changes.get(outcome.changeId ?? "").change).toMatchObject({ status: "accepted", path: "a.ts" });
  });

  it.each([
    ["CRLF", "a\r\nb\r\nc\r\n", "a\r\nX\r\nc\r\n"],
    ["no last newline", "a\nb", "a\nX"],
    ["UTF-8 with BOM", "\ufeffa\nb\nc\n", "\ufeffa\nX\nc\n"],
  ])("keeps %s", async (_name, before, after) => {
    fixture.write("f.txt", before);
    expect((await fixture.run("edit_file", { path: "f.txt", old_text: "b", new_text: "X" })).isError).toBe(false);
    expect(fixture.read("f.txt")).toBe(after);
  });

  it.each(["utf16le", "latin1"] as const)("keeps %s", async (encoding) => {
    const bom = encoding === "utf16le" ? "\ufeff" : "";
    fixture.write("f.txt", Buffer.from(`${bom}café\nb\n`, encoding));
    expect((await fixture.run("edit_file", { path: "f.txt", old_text: "b", new_text: "crème" })).isError).toBe(false);
    expect(readFileSync(fixture.path("f.txt")).equals(Buffer.from(`${bom}café\ncrème\n`, encoding))).toBe(true);
  });

  it("proposes instead for an action whose soul scope is supervised", async () => {
    fixture.write("a.ts", "one\n");
    const args = { path: "a.ts", old_text: "one", new_text: "two" };
    const proposed = await fixture.run("edit_file", args, { soulScope: { name: "helper", level: "supervised" } });
    expect(fixture.read("a.ts")).toBe("one\n");
    expect(fixture.tools.changes.get(proposed.changeId ?? "").change).toMatchObject({ status: "pending", path: "a.ts" });
  });

  it("keeps the mode", async () => {
    fixture.write("run.sh", "#!/bin/sh\nexit 1\n");
    chmodSync(fixture.path("run.sh"), 0o755);
    await fixture.run("edit_file", { path: "run.sh", old_text: "exit 1", new_text: "exit 0" });
    expect(statSync(fixture.path("run.sh")).mode & 0o777).toBe(0o755);
  });

  it("creates with folders, and undoes by quest", async () => {
    fixture.write("a.ts", "one\n");
    await fixture.run("write_file", { path: "x/y/new.ts", content: "new\n" });
    await fixture.run("write_file", { path: "a.ts", content: "two\n" });
    expect(fixture.read("x/y/new.ts")).toBe("new\n");
    const result = await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(result.conflicts).toEqual([]);
    expect([...result.restored].sort()).toEqual(["a.ts", "x", "x/y", "x/y/new.ts"]);
    expect(fixture.read("a.ts")).toBe("one\n");
    expect(existsSync(fixture.path("x/y/new.ts"))).toBe(false);
    await fixture.tools.checkpoints.restore({ id: result.undoCheckpointId ?? "" });
    expect(fixture.read("a.ts")).toBe("two\n");
    expect(fixture.read("x/y/new.ts")).toBe("new\n");
  });

  it("proposes a file that other programs obey, with the reason, and writes it when it is accepted", async () => {
    await fixture.run("write_file", { path: "docs/AGENTS.md", content: "Be brief.\n" });
    const [change] = fixture.tools.changes.list({ questId: "q1", open: true, limit: 10 });
    expect(change).toMatchObject({ path: "docs/AGENTS.md", kind: "create", caution: expect.stringContaining("agents") });
    expect(existsSync(fixture.path("docs"))).toBe(false);
    await fixture.tools.changes.decide(change?.id ?? "", "accept");
    expect(fixture.read("docs/AGENTS.md")).toBe("Be brief.\n");
  });

  it("applies a patch of several files atomically", async () => {
    fixture.write("a.txt", "1\n2\n3\n");
    fixture.write("b.txt", "x\ny\n");
    const good = "--- a/a.txt\n+++ b/a.txt\n@@ -2,1 +2,1 @@\n-2\n+two\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+hello\n";
    expect(await fixture.run("apply_patch", { patch: good })).toMatchObject({ isError: false });
    expect([fixture.read("a.txt"), fixture.read("new.txt")]).toEqual(["1\ntwo\n3\n", "hello\n"]);
    const bad = "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-1\n+one\n--- a/b.txt\n+++ b/b.txt\n@@ -1,1 +1,1 @@\n-z\n+Z\n";
    const outcome = await fixture.run("apply_patch", { patch: bad });
    expect(outcome).toMatchObject({ isError: true });
    expect(outcome.text).toContain("b.txt: Hunk 1");
    expect([fixture.read("a.txt"), fixture.read("b.txt")]).toEqual(["1\ntwo\n3\n", "x\ny\n"]);
  });

  it("reverts the files of a patch when a later one cannot be written", async () => {
    fixture.write("a.txt", "1\n");
    fixture.write("b.txt", "2\n");
    chmodSync(fixture.path("b.txt"), 0o444);
    const part = (path: string, line: string) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${line}\n+changed\n`;
    const outcome = await fixture.run("apply_patch", { patch: part("a.txt", "1") + part("b.txt", "2") });
    expect(outcome).toMatchObject({ isError: true, text: expect.stringContaining("b.txt is read-only") });
    expect([fixture.read("a.txt"), fixture.read("b.txt")]).toEqual(["1\n", "2\n"]);
    expect(fixture.tools.changes.list({ limit: 10 })).toEqual([]);
    expect(fixture.ledger.get(outcome.receiptId ?? "")).toMatchObject({ status: "failure" });
  });

  it("writes directly in crusader mode too, as an accepted change", async () => {
    fixture.governance.setPosture("supervised");
    fixture.write("a.txt", "1\n");
    const outcome = await fixture.run("write_file", { path: "a.txt", content: "2\n" }, { mode: "crusader" });
    expect(fixture.read("a.txt")).toBe("2\n");
    expect(fixture.events).toEqual([expect.objectContaining({ id: outcome.changeId, status: "accepted" })]);
    expect(fixture.tools.changes.takeReview("q1")).toEqual({ open: 0, text: "" });
  });

  it("renames and deletes by a patch, under review, after approval", async () => {
    fixture.governance.setPosture("supervised");
    fixture.answer("allow_once");
    fixture.write("old.txt", "1\n2\n");
    fixture.write("gone.txt", "x\n");
    const patch =
      "diff --git a/old.txt b/new.txt\nsimilarity index 50%\nrename from old.txt\nrename to new.txt\n--- a/old.txt\n+++ b/new.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n" +
      "diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    expect(await fixture.run("apply_patch", { patch })).toMatchObject({ isError: false });
    const open = fixture.tools.changes.list({ questId: "q1", open: true, limit: 10 });
    expect(open.map(({ path, kind }) => `${kind} ${path}`).sort()).toEqual(["create new.txt", "delete gone.txt", "delete old.txt"]);
    expect(existsSync(fixture.path("old.txt"))).toBe(true);
    for (const { id } of open) await fixture.tools.changes.decide(id, "accept");
    expect([existsSync(fixture.path("old.txt")), existsSync(fixture.path("gone.txt")), fixture.read("new.txt")]).toEqual([
      false,
      false,
      "1\ntwo\n",
    ]);
    await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect([fixture.read("old.txt"), fixture.read("gone.txt"), existsSync(fixture.path("new.txt"))]).toEqual(["1\n2\n", "x\n", false]);
  });

  it("replaces a secret without reading it, with approval, and keeps it out of the database", async () => {
    fixture.governance.setPosture("supervised");
    fixture.answer("allow_once");
    fixture.write(".env", "TOKEN=old-value-nobody-sees\n");
    expect(await fixture.run("write_file", { path: ".env", content: "TOKEN=\n" })).toMatchObject({
      isError: false,
      changeId: null,
      card: { tier: "T3" },
    });
    expect(fixture.read(".env")).toBe("TOKEN=\n");
    const approvals = JSON.stringify(fixture.governance.approvals.list({ limit: 10 }));
    expect(approvals).not.toContain("nobody-sees");
    await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(fixture.read(".env")).toBe("TOKEN=old-value-nobody-sees\n");
  });

  it("asks before deleting, and reports the user's reason", async () => {
    fixture.write("a.txt", "1\n");
    fixture.answer("deny", "I need it");
    const refused = await fixture.run("delete_file", { path: "a.txt" });
    expect(refused).toMatchObject({ isError: true, card: { status: "denied" } });
    expect(refused.text).toContain("I need it");
    expect(existsSync(fixture.path("a.txt"))).toBe(true);
    fixture.answer("allow_once");
    // The denial holds, and the model gets its reason again.
    const again = await fixture.run("delete_file", { path: "a.txt" });
    expect(again).toMatchObject({ isError: true, card: { status: "denied" } });
    expect(again.text).toContain("I need it");
    const [denied] = fixture.governance.approvals.list({ status: "denied", limit: 1 });
    fixture.governance.approvals.askAgain(denied?.id ?? "");
    expect(await fixture.run("delete_file", { path: "a.txt" })).toMatchObject({ isError: false, card: { tier: "T3", verdict: "ask" } });
    expect(existsSync(fixture.path("a.txt"))).toBe(false);
    await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(fixture.read("a.txt")).toBe("1\n");
  });
});
