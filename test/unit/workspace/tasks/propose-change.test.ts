import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Change } from "../../../../agent-server/contract/changes.ts";
import { type LayerChange, proposeChange } from "../../../../agent-server/workspace/workspace.ts";
import { createToolsFixture, type ToolsFixture } from "../../../support/tools-fixture.ts";

describe("a change of a task as a proposal", () => {
  let fixture: ToolsFixture;
  let upper: string;
  beforeEach(() => {
    fixture = createToolsFixture();
    upper = mkdtempSync(join(tmpdir(), "propose-upper-"));
  });
  afterEach(() => {
    fixture.close();
    rmSync(upper, { recursive: true, force: true });
  });

  function entryOf(path: string): LayerChange["before"] {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return null;
    const kind = stats.isFile() ? "file" : stats.isSymbolicLink() ? "link" : "folder";
    return { kind, mode: stats.mode & 0o7777, size: stats.size };
  }
  /** Proposes what the upper folder holds at a path. */
  function propose(path: string): Promise<Change | null> {
    const change = { path, before: entryOf(fixture.path(path)), after: entryOf(join(upper, path)) };
    const { workspace, execution } = fixture.tools;
    const deps = { workspace: fixture.workspace, files: workspace.files, objects: workspace.objects, changes: execution.changes };
    return proposeChange(deps, change, { questId: "q1", receiptId: null, upper, origin: "npm run lint:fix", caution: null });
  }
  function put(path: string, content: string | Buffer, mode = 0o644): void {
    mkdirSync(dirname(join(upper, path)), { recursive: true });
    writeFileSync(join(upper, path), content);
    chmodSync(join(upper, path), mode);
  }
  const accept = (change: Change | null, hunks?: number[]) => fixture.tools.changes.decide(change?.id ?? "", "accept", hunks);

  it("is reviewed hunk by hunk where it is text", async () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index}\n`);
    fixture.write("a.ts", lines.join(""));
    chmodSync(fixture.path("a.ts"), 0o644);
    put("a.ts", lines.map((line, index) => (index % 6 === 0 ? line.toUpperCase() : line)).join(""));
    const change = await propose("a.ts");
    expect(change).toMatchObject({ kind: "modify", origin: "npm run lint:fix", path: "a.ts" });
    expect(change?.hunks).toHaveLength(4);
    await accept(change, [0, 2]);
    expect(fixture.read("a.ts")).toBe(lines.map((line, index) => (index === 0 || index === 12 ? line.toUpperCase() : line)).join(""));
  });

  it.each<[string, Buffer | null, Buffer | null, boolean]>([
    ["a created text", null, Buffer.from("new\n"), false],
    ["a deleted text", Buffer.from("old\n"), null, false],
    ["a created UTF-16 text", null, Buffer.from("\ufeffnew\n", "utf16le"), false],
    ["a created binary file", null, Buffer.from([0, 1, 255]), true],
    ["text that becomes binary", Buffer.from("old\n"), Buffer.from([0, 1, 255]), true],
    ["a deleted binary file", Buffer.from([0, 1, 255]), null, true],
    ["text in another encoding", Buffer.from("ä\n"), Buffer.from("\ufeffä\n", "utf16le"), true],
  ])("%s comes to the workspace byte by byte", async (_name, was, is, whole) => {
    if (was !== null) fixture.write("x", was);
    if (was !== null) chmodSync(fixture.path("x"), 0o644);
    if (is !== null) put("x", is);
    const change = await propose("x");
    expect(change?.whole ?? false).toBe(whole);
    expect(await accept(change)).toMatchObject({ status: "accepted" });
    if (is === null) expect(entryOf(fixture.path("x"))).toBeNull();
    else expect(readFileSync(fixture.path("x"))).toEqual(is);
  });

  it("keeps what the command did to permissions", async () => {
    fixture.write("tool.sh", "one\n");
    chmodSync(fixture.path("tool.sh"), 0o644);
    put("tool.sh", "two\n", 0o755);
    put("new.sh", "three\n", 0o755);
    put("same.sh", "four\n", 0o755);
    fixture.write("same.sh", "four\n");
    chmodSync(fixture.path("same.sh"), 0o644);
    for (const path of ["tool.sh", "new.sh", "same.sh"]) await accept(await propose(path));
    for (const path of ["tool.sh", "new.sh", "same.sh"]) expect(statSync(fixture.path(path)).mode & 0o7777).toBe(0o755);
    expect(fixture.read("tool.sh")).toBe("two\n");
  });

  it.each([
    ["text", "#!/bin/sh\n"],
    ["a binary file", "\0b"],
  ])("never makes a program run with the rights of its owner: %s", async (_name, content) => {
    put("tool", content, 0o6755);
    await accept(await propose("tool"));
    expect(statSync(fixture.path("tool")).mode & 0o7777).toBe(0o755);
  });

  it("is a link, not what it leads to", async () => {
    symlinkSync("/etc/hostname", join(upper, "link"));
    const change = await propose("link");
    expect(change).toMatchObject({ kind: "create", whole: true });
    await accept(change);
    expect(readlinkSync(fixture.path("link"))).toBe("/etc/hostname");
  });

  it("is nothing where the quest proposed the same, and replaces what it proposed otherwise", async () => {
    fixture.write("a.ts", "one\n");
    chmodSync(fixture.path("a.ts"), 0o644);
    const { changeId } = await fixture.run("write_file", { path: "a.ts", content: "two\n" });
    put("a.ts", "two\n");
    expect(await propose("a.ts")).toBeNull();
    put("a.ts", "three\n");
    const change = await propose("a.ts");
    expect(change).toMatchObject({ id: changeId, origin: "npm run lint:fix" });
    expect(fixture.tools.changes.get(change?.id ?? "").proposed).toBe("three\n");
  });

  it("does not follow a link that a command put in the place of a folder", async () => {
    mkdirSync(join(upper, "real"));
    put("real/secret.txt", "secret\n");
    symlinkSync("real", join(upper, "dir"));
    const change: LayerChange = { path: "dir/secret.txt", before: null, after: { kind: "file", mode: 0o644, size: 7 } };
    const { workspace, execution } = fixture.tools;
    const deps = { workspace: fixture.workspace, files: workspace.files, objects: workspace.objects, changes: execution.changes };
    await expect(proposeChange(deps, change, { questId: "q1", receiptId: null, upper, origin: "x", caution: null })).rejects.toMatchObject({
      code: "denied",
    });
  });
});
