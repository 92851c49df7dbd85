// @module-tag sandbox
import { chownSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ShellProvider } from "../../agent-server/sandbox/shell-provider.ts";
import { createSandboxFixture, type SandboxFixture } from "../support/sandbox/fixture.ts";
import { runIn } from "../support/sandbox/run.ts";
import { findControlGroups } from "../../agent-server/sandbox/os/control-groups.ts";
import { isolationCases } from "../support/sandbox/isolation.ts";
import { openOsShell } from "../support/sandbox/os-shell.ts";

// As whoever runs the tests: in CI root, in a workspace of somebody else's.
isolationCases("bubblewrap", {
  memoryEnds: process.getuid?.() === 0 && findControlGroups() !== null ? "memory" : "either",
  open: (fixture, limits) => Promise.resolve(openOsShell(fixture, { limits: () => limits })),
});

// In a container an owner is often root, in a workspace of root's: then nothing outside tells a command from the owner but the sandbox.
if (process.getuid?.() === 0)
  describe("bubblewrap as root in root's own workspace", () => {
    let fixture: SandboxFixture;
    let shell: ShellProvider;
    const run = (command: string, more: Parameters<typeof runIn>[3] = {}) => runIn(shell, fixture.workspace, command, more);
    beforeAll(() => {
      fixture = createSandboxFixture();
      for (const name of ["", ...readdirSync(fixture.workspace, { recursive: true }).map(String)])
        chownSync(join(fixture.workspace, name), 0, 0);
      shell = openOsShell(fixture);
    });
    afterAll(async () => {
      await shell.close();
      fixture.close();
    });

    it("a command is nobody's root, and what it makes is root's", async () => {
      expect(await run("id -u; touch made; stat -c %u made")).toMatchObject({ stdout: "1000\n1000\n" });
      expect(statSync(join(fixture.workspace, "made")).uid).toBe(0);
    });

    it("it writes no setting of the kernel and reads nothing that is root's alone", async () => {
      const ran = await run(`
        find /proc -maxdepth 4 -type f -writable -not -path '/proc/[0-9]*' -not -path '/proc/self/*' -not -path '/proc/thread-self/*' 2>/dev/null
        find /proc/sys -type f -writable 2>/dev/null
        cat /etc/shadow /proc/kmsg /proc/1/environ 2>/dev/null | head -c 100; ls /root /var/lib /etc/ssl/private 2>/dev/null
        cat /proc/keys 2>/dev/null | wc -l; mknod disk b 254 0 && echo MADE; true`);
      expect(ran.stdout).not.toMatch(/MADE|root:/);
      expect(ran.stdout).not.toContain(fixture.canary);
      expect(ran.stdout.split("\n").filter((line) => line.startsWith("/proc/sys") || /sysrq|kcore|kmsg/.test(line))).toEqual([]);
      expect(existsSync(join(fixture.workspace, "disk"))).toBe(false);
    });

    it("its processes and their memory are limited all the same", async () => {
      const bomb = await run("bomb() { bomb | bomb & }; bomb; while :; do :; done", { timeoutMs: 2_500 });
      expect(bomb.result.ended).toMatch(/^(timeout|stopped)$/);
      const hog = await run("tail /dev/zero", { timeoutMs: 30_000 });
      expect(hog.result.ended).toMatch(/^(memory|exit)$/);
      expect(hog.result.exitCode).not.toBe(0);
      expect(await run("echo alive")).toMatchObject({ stdout: "alive\n", result: { exitCode: 0 } });
    });
  });
