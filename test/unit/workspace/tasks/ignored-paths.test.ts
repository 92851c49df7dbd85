// @module-tag processes
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ignoredPaths } from "../../../../agent-server/workspace/workspace.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "ignored-paths-")));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(path: string, content = ""): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}
const git = (folder: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=n", "-c", "user.email=e@x", ...args], { cwd: join(root, folder), stdio: "pipe" });

async function ignored(workspace: string, ...paths: string[]): Promise<string[] | null> {
  const named = paths.map((path) => ({ path: path.replace(/\/$/, ""), isFolder: path.endsWith("/") }));
  const found = await ignoredPaths(join(root, workspace), named, new AbortController().signal);
  return found === null ? null : [...found].sort();
}

describe("what git ignores of a task's changes", () => {
  it("is judged by the rules of the workspace, for paths that do not exist there", async () => {
    git(".", "init", "-q");
    put(".gitignore", "node_modules/\n*.log\n/out\n!keep.log\n");
    expect(
      await ignored(".", "node_modules/", "node_modules/a/b.js", "x.log", "keep.log", "out/x", "src/out", "a b\nc.log", "src/a.ts"),
    ).toEqual(["a b\nc.log", "node_modules", "node_modules/a/b.js", "out/x", "x.log"].sort());
  });

  it("is null without a repository, and nothing where nothing is ignored", async () => {
    mkdirSync(join(root, "plain"));
    expect(await ignored("plain", "node_modules/x")).toBeNull();
    git(".", "init", "-q");
    expect(await ignored(".", "node_modules/x")).toEqual([]);
    expect(await ignored(".")).toEqual([]);
  });

  it("does not name tracked files", async () => {
    git(".", "init", "-q");
    put(".gitignore", "*.log\n");
    put("kept.log");
    git(".", "add", "-f", "kept.log");
    expect(await ignored(".", "kept.log", "other.log")).toEqual(["other.log"]);
    put("out/kept.js");
    put(".gitignore", "*.log\nout/\n");
    git(".", "add", "-f", "out/kept.js");
    expect(await ignored(".", "out/", "out/kept.js", "out/new.js", "out/in/")).toEqual(["out/in", "out/new.js"]);
  });

  it("works in a folder of a repository", async () => {
    git(".", "init", "-q");
    put(".gitignore", "/app/dist/\n");
    mkdirSync(join(root, "app"));
    expect(await ignored("app", "dist/x.js", "src/x.js")).toEqual(["dist/x.js"]);
  });

  it("follows the rules of a nested repository, and nothing behind a link", async () => {
    git(".", "init", "-q");
    put(".gitignore", "*.tmp\n");
    mkdirSync(join(root, "nested"));
    git("nested", "init", "-q");
    put("nested/.gitignore", "*.o\n");
    put("real/x");
    symlinkSync("real", join(root, "link"));
    expect(await ignored(".", "nested/a.o", "nested/a.tmp", "a.o", "a.tmp", "link/a.tmp")).toEqual(["a.tmp", "nested/a.o"]);
  });

  it("takes names literally that git could read as patterns or options", async () => {
    git(".", "init", "-q");
    put(".gitignore", "*.tmp\n");
    expect(await ignored(".", ":(top)a.tmp", "--verbose.tmp", "[a].tmp", "*.tmp")).toEqual(
      ["*.tmp", "--verbose.tmp", ":(top)a.tmp", "[a].tmp"].sort(),
    );
  });
});
