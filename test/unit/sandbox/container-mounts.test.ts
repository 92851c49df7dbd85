import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { planMounts } from "../../../agent-server/sandbox/container/container-mounts.ts";

describe("read-only mounts of a container", () => {
  let workspace: string;
  beforeEach(() => {
    workspace = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-mounts-")));
    mkdirSync(join(workspace, ".git/info"), { recursive: true });
    mkdirSync(join(workspace, ".git/hooks"));
    writeFileSync(join(workspace, ".git/config"), "");
  });
  afterEach(() => rmSync(workspace, { recursive: true, force: true }));

  const readOnly = (protectedPaths: string[] = [".git/hooks", ".git/config"]) =>
    planMounts({
      workspace,
      protectedPaths,
      hidden: [],
      masked: { files: [], folders: [] },
      maskOf: (path: string) => path,
      maskFolder: "/none",
      platform: process.platform,
    })
      .mounts.filter(({ ReadOnly: isReadOnly }) => isReadOnly)
      .map(({ Target: target }) => target.slice(workspace.length + 1))
      .toSorted();

  it("cover the attributes of the repository, and their folder while they are missing", () => {
    expect(readOnly()).toEqual([".git/config", ".git/hooks", ".git/info"]);
    writeFileSync(join(workspace, ".git/info/attributes"), "");
    expect(readOnly()).toEqual([".git/config", ".git/hooks", ".git/info/attributes"]);
  });

  it("never cover a link", () => {
    rmSync(join(workspace, ".git/info"), { recursive: true });
    symlinkSync("/etc", join(workspace, ".git/info"));
    expect(readOnly()).toEqual([".git/config", ".git/hooks"]);
  });

  it("cover a folder as a whole when its permissions hide its content", () => {
    chmodSync(join(workspace, ".git"), 0);
    expect(readOnly()).toEqual([".git"]);
    chmodSync(join(workspace, ".git"), 0o755);
  });
});
