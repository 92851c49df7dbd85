// @module-tag sandbox
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { productPaths } from "../../agent-server/paths.ts";
import type { ShellProvider } from "../../agent-server/sandbox/shell-provider.ts";
import { createEffectsFixture } from "../support/tools/effects-fixture.ts";
import { snapshotTree } from "../support/tools-fixture.ts";
import { createSandboxFixture, type SandboxFixture } from "../support/sandbox/fixture.ts";
import { maskCases, put } from "../support/sandbox/mask-cases.ts";
import { openOsShell } from "../support/sandbox/os-shell.ts";
import { quoted, runIn } from "../support/sandbox/run.ts";

const { ripgrepPath } = productPaths();

maskCases("secret files in bubblewrap", {
  open: (fixture) => Promise.resolve(openOsShell(fixture, { readable: () => [dirname(ripgrepPath)] })),
  tools: { ripgrep: ripgrepPath },
});

describe("a secret file that is gone when the sandbox starts", () => {
  let fixture: SandboxFixture;
  let shell: ShellProvider;
  beforeEach(() => {
    fixture = createSandboxFixture();
  });
  afterEach(async () => {
    await shell.close();
    fixture.close();
  });

  it.each([
    ["alone", "rm -f .env"],
    ["with its folders", "rm -rf deep"],
    ["with a masked folder", "rm -rf .ssh"],
  ])("is not made again, and the command runs: it went %s", async (_name, command) => {
    for (const path of [".env", "deep/er/.env", ".ssh/config"]) put(fixture, path, fixture.canary);
    const program = join(fixture.outside, "bwrap");
    writeFileSync(program, `#!/bin/sh\n[ "$#" -lt 20 ] || (cd ${quoted(fixture.workspace)} && ${command})\nexec bwrap "$@"\n`, {
      mode: 0o755,
    });
    chmodSync(fixture.outside, 0o777);
    shell = openOsShell(fixture, { program });
    const ran = await runIn(shell, fixture.workspace, "echo ran; cat .env deep/er/.env .ssh/config; echo new > new.txt");
    expect(ran.stdout).toBe("ran\n");
    expect(ran.result.exitCode).toBe(0);
    const gone = command.split(" ").at(-1) ?? "";
    expect(readdirSync(fixture.workspace)).not.toContain(gone);
    expect(existsSync(join(fixture.workspace, "new.txt"))).toBe(true);
  });
});

it("more secret files than a sandbox can mask are refused, with their number", async () => {
  const fixture = createSandboxFixture();
  for (let index = 0; index < 1_001; index += 1) put(fixture, `many/.env.${index}`, "");
  const shell = openOsShell(fixture);
  await expect(runIn(shell, fixture.workspace, "true")).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/1001\b.*readable_secrets/s) as string,
  });
  await shell.close();
  fixture.close();
});

describe("the scan of a command's changes", () => {
  it("sees the real bytes of masked files, and undo restores them", async () => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-masks-")));
    const fixture = createEffectsFixture({ base });
    const shell = openOsShell({ workspace: fixture.workspace, dataDir: fixture.dataDir, protectedPaths: [] });
    const texts = { "conf/.env": "KEY=one\n", "conf/plain.txt": "plain\n", "keys/a/.env": "KEY=two\n", ".ssh/id": "KEY=three\n" };
    for (const [path, text] of Object.entries(texts)) fixture.write(path, text);
    const before = snapshotTree(fixture.workspace);
    let said = "";
    const { touched } = await fixture.sh("", {
      run: async () => {
        const ran = await runIn(
          shell,
          fixture.workspace,
          "rm -rf conf; mv keys moved; rm -rf .ssh; mkdir new; echo KEY=four > new/.env; cat moved/a/.env",
        );
        said = ran.stdout + ran.stderr;
      },
    });
    expect(said).not.toMatch(/two|three/);
    expect(said).toContain("busy");
    expect(Object.fromEntries(touched.files.map(({ path, kind }) => [path, kind]))).toEqual({
      "conf/plain.txt": "deleted",
      "keys/a/.env": "deleted",
      "moved/a/.env": "created",
      "new/.env": "created",
    });
    expect(touched.files.every(({ undoable }) => undoable)).toBe(true);
    expect(readFileSync(fixture.path("conf/.env"), "utf8")).toBe("KEY=one\n");
    expect(readFileSync(fixture.path("moved/a/.env"), "utf8")).toBe("KEY=two\n");
    const undone = await fixture.restore.restore({ questId: "q1" });
    expect(undone.conflicts).toEqual([]);
    expect(snapshotTree(fixture.workspace)).toEqual(before);
    expect(readFileSync(fixture.path("keys/a/.env"), "utf8")).toBe("KEY=two\n");
    await shell.close();
    fixture.close();
    rmSync(base, { recursive: true });
  });
});

it("a linked worktree's repository hides its credentials, and git works in it", async () => {
  const fixture = createSandboxFixture();
  const main = join(fixture.outside, "main");
  mkdirSync(main);
  chmodSync(main, 0o777);
  const tree = join(fixture.workspace, "..", "tree");
  const git = (cwd: string, ...args: string[]) =>
    execFileSync("git", ["-c", "user.name=O", "-c", "user.email=o@example.org", "-c", "safe.directory=*", ...args], {
      cwd,
      ...(process.getuid?.() === 0 ? { uid: fixture.owner.uid, gid: fixture.owner.gid } : {}),
      env: { PATH: process.env["PATH"], HOME: main },
    });
  git(main, "init", "-q", "-b", "main");
  git(main, "commit", "-q", "--allow-empty", "-m", "one");
  mkdirSync(tree);
  chownSync(tree, fixture.owner.uid, fixture.owner.gid);
  git(main, "worktree", "add", "-q", tree);
  writeFileSync(join(main, ".git/credentials"), fixture.canary, { mode: 0o644 });
  const shell = openOsShell({ ...fixture, workspace: realpathSync(tree) });
  const ran = await runIn(shell, realpathSync(tree), `cat ${quoted(join(main, ".git/credentials"))}; git log --oneline; git branch -a`);
  expect(ran.stdout).not.toContain(fixture.canary);
  expect(ran.stdout).toMatch(/one/);
  await shell.close();
  fixture.close();
});
