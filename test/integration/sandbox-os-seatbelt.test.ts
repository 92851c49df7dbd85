// @module-tag sandbox
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { seatbeltProfile } from "../../agent-server/sandbox/os/seatbelt-profile.ts";
import { openOsShell } from "../support/sandbox/os-shell.ts";
import { createSandboxFixture, type SandboxFixture } from "../support/sandbox/fixture.ts";
import { quoted, runIn } from "../support/sandbox/run.ts";

// Seatbelt itself is on macOS alone, and is not run here. What is: the profile's text, that a sandbox which does not hold is found out
// before anything is run in it, and how commands are started and ended, with bubblewrap in the place of sandbox-exec.

let fixture: SandboxFixture;
let home: string;
beforeEach(() => {
  fixture = createSandboxFixture();
  home = join(fixture.outside, "home");
  mkdirSync(home);
});
afterEach(() => fixture.close());

/** A program in the place of `sandbox-exec -p PROFILE`. */
function program(text: string): string {
  const path = join(fixture.outside, "sandbox-exec");
  writeFileSync(path, `#!/bin/sh\n[ "$1" = -p ] || exit 64\nprofile=$2\nshift 2\n${text}\n`, { mode: 0o755 });
  return path;
}
const open = (text: string) => openOsShell(fixture, { platform: "darwin", program: program(text), env: { ...process.env, HOME: home } });
/** Bubblewrap with what the look at a sandbox tries closed; the rest is open. */
const holding = () => {
  const [root, outside, workspace] = [join(fixture.workspace, ".."), fixture.outside, fixture.workspace].map(quoted);
  const mounts = `--ro-bind / / --dev-bind /dev /dev --proc /proc --bind /tmp /tmp --ro-bind ${root} ${root} --tmpfs ${outside} --bind ${workspace} ${workspace}`;
  return `exec bwrap --unshare-net --die-with-parent ${mounts} -- "$@"`;
};

describe("a sandbox of macOS that does not hold", () => {
  it.each([
    ["lets everything through", 'exec "$@"', /reads the home folder, writes beside the workspace, reaches the network/],
    ["cannot be started", "echo 'sandbox_apply: Operation not permitted' >&2; exit 71", /sandbox_apply/],
    ["is not there", null, /missing/],
  ])("is found out and runs nothing: it %s", async (_name, text, expectedText) => {
    const shell =
      text === null
        ? openOsShell(fixture, { platform: "darwin", program: join(fixture.outside, "none"), env: { ...process.env, HOME: home } })
        : open(text);
    expect(await shell.probe()).toMatchObject({ status: "down", message: expect.stringMatching(expectedText) as string });
    await expect(runIn(shell, fixture.workspace, "echo x > ran")).rejects.toMatchObject({ code: "unavailable" });
    expect(existsSync(join(fixture.workspace, "ran"))).toBe(false);
    expect(readdirSync(join(fixture.workspace, "..")).filter((name) => name.startsWith("lancelot-probe"))).toEqual([]);
    await shell.close();
  });
});

describe("one that holds", () => {
  it("runs commands to their end and takes along what they leave", async () => {
    const shell = open(holding());
    expect(await shell.probe()).toMatchObject({ status: "degraded", message: expect.stringContaining("memory") as string });
    const ran = await runIn(shell, fixture.workspace, 'echo out; echo err >&2; cat; echo a > "$HOME/a" && cat "$HOME/a"; exit 3');
    expect(ran).toMatchObject({
      stdout: "out\na\n",
      stderr: "err\n",
      started: 1,
      result: { exitCode: 3, ended: "exit", killedOrphans: false },
    });
    expect((await runIn(shell, fixture.workspace, "sleep 600", { timeoutMs: 500 })).result).toMatchObject({
      ended: "timeout",
      exitCode: null,
    });
    expect((await runIn(shell, fixture.workspace, "env")).stdout).not.toContain(fixture.canary);
    await shell.close();
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith("lancelot-command-"))).toEqual([]);
  });
});

describe("the profile", () => {
  const profile = (more: Partial<Parameters<typeof seatbeltProfile>[0]> = {}) =>
    seatbeltProfile({
      workspace: "/Users/o/project",
      scratch: "/private/var/folders/x/T/lancelot-command-1",
      dataDir: "/Users/o/project/.lancelot",
      writable: [],
      protectedPaths: ["/Users/o/project/.git/hooks", "/Users/o/project/.vscode/settings.json"],
      masked: { files: [], folders: [] },
      readable: [],
      proxyPort: null,
      ...more,
    }).split("\n");

  it("names what is allowed and denies the rest", () => {
    const rules = profile();
    expect(rules.slice(0, 2)).toEqual(["(version 1)", "(deny default)"]);
    expect(rules.filter((rule) => rule.includes("(allow file-write*") || rule.includes("file-write* (subpath"))[0]).toBe(
      '(allow file-read* file-write* (subpath "/Users/o/project") (subpath "/private/var/folders/x/T/lancelot-command-1"))',
    );
    // No rule without a filter for what reads, writes or reaches out.
    expect(rules.filter((rule) => /\(allow (?:file|network|mach|appleevent)[a-z*-]*\)/.test(rule))).toEqual([]);
    expect(rules.join("\n")).not.toMatch(/Keychains|SecurityServer|securityd|launchservicesd|appleevent|"\/Users"/);
  });

  it("denies last what is protected, the folders on the way to it, and the data folder", () => {
    expect(profile().filter((rule) => rule.startsWith("(deny file"))).toEqual([
      '(deny file-write* (subpath "/Users/o/project/.git/hooks") (subpath "/Users/o/project/.vscode/settings.json"))',
      '(deny file-write-unlink (literal "/Users/o/project/.git") (literal "/Users/o/project/.vscode"))',
      '(deny file-read* file-write* (subpath "/Users/o/project/.lancelot"))',
      "(deny file-write-setugid)",
    ]);
    expect(profile().findLastIndex((rule) => rule.startsWith("(allow"))).toBeLessThan(
      profile().findIndex((rule) => rule.startsWith("(deny file")),
    );
  });

  it("denies the content of secret files, other names for it, and moving them away with a folder; not that they exist", () => {
    const masked = { files: ["/Users/o/project/a/b/.env", '/Users/o/project/x".pem'], folders: ["/Users/o/project/.ssh"] };
    const rules = profile({ masked });
    expect(rules).toContain(
      String.raw`(deny file-read-data file-read-xattr file-write* file-link file-clone (literal "/Users/o/project/a/b/.env") (literal "/Users/o/project/x\".pem") (subpath "/Users/o/project/.ssh"))`,
    );
    expect(rules.find((rule) => rule.startsWith("(deny file-write-unlink"))).toContain(
      '(literal "/Users/o/project/a/b") (literal "/Users/o/project/a")',
    );
    expect(rules.findLastIndex((rule) => rule.startsWith("(allow"))).toBeLessThan(rules.findIndex((rule) => rule.includes("file-clone")));
  });

  it("reaches the proxy's port alone, and only with the network", () => {
    expect(profile().filter((rule) => rule.includes("remote ip"))).toEqual([]);
    expect(profile({ proxyPort: 4711 }).filter((rule) => rule.includes("remote ip"))).toEqual([
      '(allow network-outbound (remote ip "localhost:4711"))',
    ]);
  });

  it.each([
    ['/Users/o/a")) (allow default) ((subpath "/b', String.raw`(subpath "/Users/o/a\")) (allow default) ((subpath \"/b")`],
    ["/Users/o/back\\slash", String.raw`(subpath "/Users/o/back\\slash")`],
  ])("keeps a folder's name a name: %s", (workspace, written) => {
    const rules = profile({ workspace, protectedPaths: [] });
    expect(rules.find((rule) => rule.startsWith("(allow file-read* file-write*"))).toContain(written);
    expect(rules).not.toContain("(allow default)");
  });
});

it("on another system there is none, and it says what to use", async () => {
  const shell = openOsShell(fixture, { platform: "win32" });
  expect(await shell.probe()).toMatchObject({ status: "down", nextStep: expect.stringContaining("WSL") as string });
  await expect(runIn(shell, fixture.workspace, "true")).rejects.toMatchObject({ code: "unavailable" });
  await shell.close();
  rmSync(home, { recursive: true });
});
