import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHostShell } from "../../agent-server/sandbox/host-shell.ts";
import type { ShellProvider } from "../../agent-server/sandbox/shell-provider.ts";
import { createSandboxFixture, type SandboxFixture } from "../support/sandbox/fixture.ts";
import { runIn, until } from "../support/sandbox/run.ts";

let fixture: SandboxFixture;
let shell: ShellProvider;
let enabled = true;
const run = (command: string, more: Parameters<typeof runIn>[3] = {}) => runIn(shell, fixture.workspace, command, more);
/** Command lines on this machine that read like this. */
const alive = (line: string) =>
  runIn(shell, fixture.workspace, "for at in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$at 2>/dev/null; echo; done").then(({ stdout }) =>
    stdout.split("\n").filter((one) => one.trim() === line),
  );

beforeAll(() => {
  fixture = createSandboxFixture();
  shell = createHostShell({
    learnSecrets: () => Promise.resolve(),
    workspace: fixture.workspace,
    dataDir: fixture.dataDir,
    enabled: () => enabled,
  });
});
afterAll(async () => {
  await shell.close();
  fixture.close();
});

describe("behind its flag", () => {
  it("is off, runs nothing and says what to switch on", async () => {
    enabled = false;
    expect(await shell.probe()).toMatchObject({ status: "off", nextStep: expect.stringContaining("TOOLS_HOST_EXECUTION") as string });
    await expect(run("echo x > ran")).rejects.toMatchObject({ code: "unavailable" });
    expect(existsSync(join(fixture.workspace, "ran"))).toBe(false);
    enabled = true;
    expect(await shell.probe()).toMatchObject({ status: "degraded", nextStep: null });
  });
});

describe("a command on this machine", () => {
  it("gives both streams, its exit code, and its beginning once", async () => {
    expect(await run("echo out; echo err >&2; exit 7")).toMatchObject({
      stdout: "out\n",
      stderr: "err\n",
      started: 1,
      result: { exitCode: 7, ended: "exit", outputBytes: 8, killedOrphans: false },
    });
  });

  it("reports its end by a signal of its own as a shell does", async () => {
    expect((await run("kill -9 $$")).result).toMatchObject({ exitCode: 137, ended: "exit" });
  });

  it("has no stdin, and nothing of the environment but what is on the list", async () => {
    const { stdout } = await run("cat; env");
    expect(stdout).not.toContain(fixture.canary);
    const names = stdout
      .split("\n")
      .map((line) => line.split("=")[0] ?? "")
      .filter((name) => name !== "");
    const known =
      /^(PATH|HOME|TMPDIR|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|LC_\w+|TZ|PAGER|GIT_PAGER|GIT_TERMINAL_PROMPT|DEBIAN_FRONTEND|LANCELOT_COMMAND|PWD|OLDPWD|SHLVL|_)$/;
    expect(names.filter((name) => !known.test(name))).toEqual([]);
  });

  it("can open its output by name", async () => {
    expect(await run("echo a > /dev/stdout; echo b > /dev/stderr")).toMatchObject({ stdout: "a\n", stderr: "b\n" });
  });

  it("runs in folders of the workspace alone", async () => {
    await expect(runIn(shell, fixture.outside, "pwd")).rejects.toMatchObject({ code: "invalid_params" });
    await expect(runIn(shell, join(fixture.workspace, "nowhere"), "pwd")).rejects.toMatchObject({ code: "invalid_params" });
  });

  it("hands on what output may take of a flood, and counts the rest", async () => {
    const ran = await run("dd if=/dev/zero bs=1M count=200 2>/dev/null");
    expect(ran.received).toBe(1_000_000);
    expect(ran.result.outputBytes).toBe(200 * 1024 * 1024);
  });
});

describe("ending", () => {
  it.each([
    ["a sleeper", "sleep 4711"],
    ["one that ignores signals", "trap '' TERM INT HUP; while :; do sleep 4711; done"],
    ["groups and sessions of their own", "setsid sleep 4711 & (setsid sh -c 'setsid sleep 4711 & sleep 4711' &) ; sleep 4711"],
  ])("by the clock takes all along: %s", async (_name, command) => {
    expect((await run(command, { timeoutMs: 700 })).result).toMatchObject({ ended: "timeout", exitCode: null });
    expect(await alive("sleep 4711")).toEqual([]);
  });

  it("by the owner takes all along", async () => {
    const stop = new AbortController();
    const ran = await run("setsid sleep 4712 & echo begun; sleep 4712", { signal: stop.signal, onOutput: () => stop.abort() });
    expect(ran.result).toMatchObject({ ended: "stopped", exitCode: null });
    expect(await alive("sleep 4712")).toEqual([]);
  });

  it.each([
    ["a child that holds the output", "sleep 4713 & echo done"],
    ["a daemon", "setsid sh -c 'sleep 4713' >/dev/null 2>&1 </dev/null & sleep 0.2; echo done"],
    ["a daemon whose parent is gone", "(setsid sh -c '(sleep 4713 &)' >/dev/null 2>&1 &); sleep 0.2; echo done"],
  ])("with the command ends what it left, and says so: %s", async (_name, command) => {
    expect(await run(command)).toMatchObject({ stdout: "done\n", result: { ended: "exit", exitCode: 0, killedOrphans: true } });
    expect(await alive("sleep 4713")).toEqual([]);
  });

  it("of the host is the end of the command and of its daemons", async () => {
    const script = `
      import { createHostShell } from ${JSON.stringify(new URL("../../agent-server/sandbox/host-shell.ts", import.meta.url).href)};
      const shell = createHostShell({ learnSecrets: () => Promise.resolve(), workspace: process.argv[1], dataDir: process.argv[2], enabled: () => true });
      await shell.run({
        command: "setsid sh -c 'while :; do echo tick >> ticks; sleep 0.02; done' & while :; do echo tick >> ticks; sleep 0.02; done",
        cwd: process.argv[1], timeoutMs: 60_000, outputBytes: 1000, network: false,
        signal: new AbortController().signal, onOutput() {}, onStarted() {},
      });`;
    const host = spawn(process.execPath, ["--input-type=module", "-e", script, fixture.workspace, fixture.dataDir], { stdio: "inherit" });
    const ticks = join(fixture.workspace, "ticks");
    await until("it runs", () => existsSync(ticks) && statSync(ticks).size > 50);
    host.kill("SIGKILL");
    let size = -1;
    await until("nothing is written any more", async () => {
      const before = size;
      size = statSync(ticks).size;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return before === size && statSync(ticks).size === size;
    });
    expect(readFileSync(ticks, "utf8")).toContain("tick");
    rmSync(ticks);
  });
});
