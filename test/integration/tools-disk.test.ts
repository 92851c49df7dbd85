import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createToolsFixture, snapshotTree, type ToolsFixture } from "../support/tools-fixture.ts";

/** Why no disk of its own can be had here; empty when it can. Full disks are also tried by a limit of file sizes (`full-disk.ts`). */
function whyNot(): string {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "only root on Linux can mount one";
  const folder = mkdtempSync(join(tmpdir(), "lancelot-mount-"));
  try {
    execFileSync("/bin/mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], { stdio: "pipe" });
    execFileSync("/bin/umount", [folder]);
    return "";
  } catch {
    return "this machine does not let root mount one";
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
const reason = whyNot();
if (reason !== "") console.warn(`Not run, a disk that is full: ${reason}.`);

describe.runIf(reason === "")("a disk that is full", () => {
  let base = "";
  let disk = "";
  let fixture: ToolsFixture | null = null;
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-disk-")));
    disk = join(base, "disk");
    mkdirSync(disk);
    execFileSync("/bin/mount", ["-t", "tmpfs", "-o", "size=400k", "tmpfs", disk]);
  });
  afterEach(() => {
    fixture?.close();
    execFileSync("/bin/umount", [disk]);
    rmSync(base, { recursive: true, force: true });
  });

  it("leaves every file as it was, says so, and takes edits again when there is room", async () => {
    const workspace = join(disk, "proj");
    mkdirSync(workspace);
    writeFileSync(join(workspace, "a.txt"), `first\n${"text\n".repeat(20_000)}`);
    writeFileSync(join(workspace, "b.txt"), "b\n");
    fixture = createToolsFixture({ base, workspace, posture: "autonomous" });
    // Most of what is left goes.
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(join(disk, "filler"), Buffer.alloc(Math.max(0, bavail - 4) * bsize));
    const before = snapshotTree(workspace);
    const patch = "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+B\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-first\n+FIRST\n";
    for (const [tool, args] of Object.entries({
      write_file: { path: "new.txt", content: "x".repeat(100_000) },
      apply_patch: { patch },
    })) {
      const { isError, text, receiptId } = await fixture.run(tool, args);
      expect([tool, isError, text]).toEqual([tool, true, expect.stringContaining("The disk is full")]);
      expect(fixture.ledger.get(receiptId ?? "")?.status).toBe("failure");
      expect(snapshotTree(workspace)).toEqual(before);
    }
    rmSync(join(disk, "filler"));
    const { isError, text } = await fixture.run("apply_patch", { patch });
    expect([isError, text]).toEqual([false, expect.any(String)]);
    expect([fixture.read("b.txt"), fixture.read("a.txt").slice(0, 6), readdirSync(workspace)]).toEqual([
      "B\n",
      "FIRST\n",
      ["a.txt", "b.txt"],
    ]);
  });

  it("that can only be read is reported, and nothing is lost", async () => {
    const workspace = join(disk, "proj");
    mkdirSync(workspace);
    writeFileSync(join(workspace, "a.txt"), "one\n");
    fixture = createToolsFixture({ base, workspace, posture: "autonomous" });
    execFileSync("/bin/mount", ["-o", "remount,ro", disk]);
    for (const [tool, args] of Object.entries({
      edit_file: { path: "a.txt", old_text: "one", new_text: "two" },
      write_file: { path: "deep/new.txt", content: "x\n" },
    }))
      expect([tool, (await fixture.run(tool, args)).text]).toEqual([tool, expect.stringContaining("read-only file system")]);
    expect(fixture.read("a.txt")).toBe("one\n");
  });
});
