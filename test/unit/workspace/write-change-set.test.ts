import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ChangedEntry, writeChangeSet } from "../../../agent-server/workspace/workspace.ts";
import { removeTree } from "../../support/remove-tree.ts";

describe.skipIf(process.platform !== "linux")("what a command did in a copy, in the view", () => {
  let base: string;
  let merged: string;
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-view-")));
    merged = join(base, "merged");
    mkdirSync(join(merged, "src"), { recursive: true });
    mkdirSync(join(base, "outside"));
    writeFileSync(join(merged, "src/a.txt"), "a\n", { mode: 0o600 });
  });
  afterEach(() => removeTree(base));

  const entry = (path: string, of: Partial<ChangedEntry> = {}): ChangedEntry => ({
    ...{ path, kind: "file", mode: 0o644, mtime: 1_000, content: join(base, "content"), target: "" },
    ...of,
  });
  const content = (text: string): void => writeFileSync(join(base, "content"), text);
  const modeOf = (path: string): number => lstatSync(join(merged, path)).mode & 0o7777;

  it("has files, folders and links with their permissions and times; equal files stay untouched", async () => {
    const before = lstatSync(join(merged, "src/a.txt"), { bigint: true });
    content("a\n");
    const entries = [
      entry("closed", { kind: "folder", mode: 0o500 }),
      entry("closed/x"),
      entry("link", { kind: "link", target: "/etc/passwd" }),
      entry("src/a.txt", { mode: null }),
    ];
    await writeChangeSet(merged, { removed: [], entries });
    expect([modeOf("closed"), modeOf("closed/x")]).toEqual([0o500, 0o644]);
    expect(lstatSync(join(merged, "closed/x")).mtimeMs).toBe(1_000_000);
    expect(readlinkSync(join(merged, "link"))).toBe("/etc/passwd");
    expect(lstatSync(join(merged, "src/a.txt"), { bigint: true })).toMatchObject({ ino: before.ino, ctimeNs: before.ctimeNs });
    content("new\n");
    await writeChangeSet(merged, { removed: [], entries: [entry("src/a.txt", { mode: null })] });
    expect([readFileSync(join(merged, "src/a.txt"), "utf8"), modeOf("src/a.txt")]).toEqual(["new\n", 0o600]);
  });

  it("follows no link, whatever the user put in the way meanwhile", async () => {
    content("x");
    symlinkSync(join(base, "outside"), join(merged, "away"));
    writeFileSync(join(merged, "file"), "a file");
    symlinkSync(join(base, "outside/target"), join(merged, "to-file"));
    const entries = [entry("away/x"), entry("file/x"), entry("gone/deep/x"), entry("to-file")];
    await writeChangeSet(merged, { removed: ["away/y"], entries });
    expect(readdirSync(join(base, "outside"))).toEqual([]);
    expect(["away/x", "file/x", "gone/deep/x", "to-file"].map((path) => lstatSync(join(merged, path)).isFile())).toEqual(
      Array(4).fill(true),
    );
  });

  it("loses what is gone, but no folder with files that the copy did not have", async () => {
    mkdirSync(join(merged, "empty"));
    mkdirSync(join(merged, "src/node_modules"));
    const removed = ["empty", "missing", "missing/x", "src", "src/a.txt"];
    await writeChangeSet(merged, { removed, entries: [] });
    expect(readdirSync(merged, { recursive: true })).toEqual(["src", "src/node_modules"]);
  });

  it("takes another kind of entry in the place of one, and names that are not UTF-8", async () => {
    content("x");
    chmodSync(join(merged, "src"), 0o555);
    const entries = [entry("src"), entry("bytes\0ff")];
    await writeChangeSet(merged, { removed: ["src", "src/a.txt"], entries });
    expect(lstatSync(join(merged, "src")).isFile()).toBe(true);
    expect(readdirSync(merged, { encoding: "latin1" })).toContain("bytes\xff");
    expect(readdirSync(merged).filter((name) => name.startsWith(".lancelot"))).toEqual([]);
  });
});
