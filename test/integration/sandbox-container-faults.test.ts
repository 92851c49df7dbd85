// @module-tag serial
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Dockerode from "dockerode";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { LancelotError } from "../../agent-server/contract/errors.ts";
import type { ContainerShell } from "../../agent-server/sandbox/container.ts";
import type { ContainerDeps } from "../../agent-server/sandbox/container/container-deps.ts";
import { openContainer, sandboxSettings } from "../support/engine/container-fixture.ts";
import { ourContainers, smallImage, startEngine, type TestEngine } from "../support/engine/engine.ts";
import { answering, type FalseEngine, type Lie, lyingBefore } from "../support/engine/false-engine.ts";
import { isolationLimits } from "../support/sandbox/limits.ts";
import { createSandboxFixture, type SandboxFixture } from "../support/sandbox/fixture.ts";
import { createEffectsFixture } from "../support/tools/effects-fixture.ts";
import { runIn, type RunOptions, until } from "../support/sandbox/run.ts";
import { skippedWithout } from "../support/setup/machine.mjs";

const skipped = skippedWithout("engine");

describe.skipIf(skipped !== null)(`an engine that fails${skipped === null ? "" : ` (skipped: ${skipped})`}`, () => {
  let engine: TestEngine;
  let docker: Dockerode;
  let fixture: SandboxFixture;
  let folder: string;
  let shells: ContainerShell[] = [];
  let lies: FalseEngine[] = [];
  const start = (host = `unix://${engine.socket}`, more: Partial<ContainerDeps> = {}) => {
    const shell = openContainer(fixture, host, isolationLimits, more);
    shells.push(shell);
    return shell;
  };
  const before = async (lie: Lie) => {
    const liar = await lyingBefore(folder, engine.socket, lie);
    lies.push(liar);
    return start(`unix://${liar.socket}`);
  };
  const run = (shell: ContainerShell, command: string, more: RunOptions = {}) => runIn(shell, fixture.workspace, command, more);
  const ours = () => ourContainers(docker);
  /** Runs it and waits until it speaks. */
  const begun = async (shell: ContainerShell, command: string, more: RunOptions = {}) => {
    const spoke = Promise.withResolvers<void>();
    const running = run(shell, `echo begun; ${command}`, { ...more, onOutput: () => spoke.resolve() });
    await Promise.race([spoke.promise, running]);
    return { running };
  };

  beforeAll(async () => {
    engine = await startEngine();
    docker = new Dockerode({ socketPath: engine.socket });
    fixture = createSandboxFixture();
    folder = mkdtempSync(join(tmpdir(), "lancelot-false-"));
  });
  afterEach(async () => {
    await Promise.all(shells.map((shell) => shell.close()));
    await Promise.all(lies.map((lie) => lie.close()));
    shells = [];
    lies = [];
  });
  afterAll(async () => {
    fixture.close();
    rmSync(folder, { recursive: true });
    await engine.stop();
  });

  it("is not there: reported before anything begins, and found once it exists", async () => {
    await engine.kill("SIGTERM");
    const shell = start();
    expect(await shell.probe()).toMatchObject({ status: "down", message: expect.stringContaining("not running") as string });
    let started = 0;
    await expect(run(shell, "true", { onStarted: () => (started += 1) })).rejects.toMatchObject({ code: "unavailable" });
    expect(started).toBe(0);
    await engine.start();
    expect(await shell.probe()).toMatchObject({ status: "ok" });
    expect(await run(shell, "echo back")).toMatchObject({ stdout: "back\n" });
  });

  it("is killed under a command: lost, not a hang; and what went on in it ends when the engine is back", async () => {
    const shell = start();
    const ticks = join(fixture.workspace, "ticks");
    const { running } = await begun(shell, "while :; do echo tick >> ticks; sleep 0.05; done");
    await engine.kill("SIGKILL");
    expect((await running).result).toMatchObject({ ended: "lost", exitCode: null });
    await expect(run(shell, "true")).rejects.toMatchObject({ code: "unavailable" });
    await engine.start();
    expect(await run(shell, "echo back")).toMatchObject({ stdout: "back\n", result: { exitCode: 0 } });
    await until("the old container is gone", async () => (await ours()).length === 1);
    const size = statSync(ticks).size;
    await run(shell, "sleep 0.3");
    expect(statSync(ticks).size).toBe(size);
    rmSync(ticks);
  });

  it("is killed under a command: its processes are ended from this machine, before the engine is back", async () => {
    const shell = start();
    const ticks = join(fixture.workspace, "ticks");
    // Without its environment it is found by its namespace.
    const tick = "while :; do echo tick >> ticks; sleep 0.05; done";
    const { running } = await begun(shell, `env -i setsid sh -c '${tick}' & ${tick}`);
    await until("it ticks", () => existsSync(ticks));
    await engine.kill("SIGKILL");
    const { result } = await running;
    expect(result).toMatchObject({ ended: "lost", exitCode: null });
    expect(result.stillRunning).toBeUndefined();
    const { size } = statSync(ticks);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(statSync(ticks).size).toBe(size);
    await engine.start();
    rmSync(ticks);
  });

  it("is killed under a command that this machine cannot end: what it writes later is its own, and no other command begins before", async () => {
    const base = mkdtempSync(join(tmpdir(), "lancelot-lost-"));
    const watched = createEffectsFixture({ base, workspace: fixture.workspace });
    // As where containers run in a virtual machine.
    const shell = start(undefined, { platform: "darwin" });
    const ticks = join(fixture.workspace, "ticks");
    const lost = await watched.sh("", {
      questId: "q1",
      run: async () => {
        const { running } = await begun(shell, "while :; do echo tick >> ticks; sleep 0.05; done");
        await until("it ticks", () => existsSync(ticks));
        await engine.kill("SIGKILL");
        return (await running).result;
      },
    });
    expect(watched.ledger.get(lost.receiptId)?.outputs).toMatchObject({ changesPending: true, checkpointId: expect.any(String) as string });
    const { size } = statSync(ticks);
    await until("it still ticks", () => statSync(ticks).size > size);
    await expect(watched.sh("echo other > other.txt", { questId: "q2" })).rejects.toMatchObject({ code: "unavailable" });
    expect(existsSync(join(fixture.workspace, "other.txt"))).toBe(false);
    // Edits of tools are not held up.
    await watched.effects?.share(new AbortController().signal, () => Promise.resolve());

    await engine.start();
    const next = await until("a command begins", () =>
      watched.sh("echo other > other.txt", { questId: "q2" }).catch((error: unknown) => {
        if (error instanceof LancelotError && error.code === "unavailable") return null;
        throw error;
      }),
    );
    expect(next.touched.files.map(({ path }) => path)).toEqual(["other.txt"]);
    const recorded = watched.ledger.search({ query: "effects.recover", limit: 1 }).items[0];
    expect(recorded).toMatchObject({ status: "success", questId: "q1", parentId: lost.receiptId, outputs: { changedTotal: 1 } });
    const after = statSync(ticks).size;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(statSync(ticks).size).toBe(after);
    expect((await watched.restore.restore({ questId: "q1" })).restored).toEqual(["ticks"]);
    expect(existsSync(ticks)).toBe(false);
    rmSync(join(fixture.workspace, "other.txt"));
    watched.close();
    rmSync(base, { recursive: true });
  });

  it("is killed between commands: the next one does not see it", async () => {
    const shell = start();
    await run(shell, "true");
    await engine.kill("SIGKILL");
    await engine.start();
    expect(await run(shell, "echo on")).toMatchObject({ stdout: "on\n", started: 1, result: { exitCode: 0 } });
  });

  it("stops answering under a command: at its time the command is lost, and the next is refused, until it answers", async () => {
    const shell = start(undefined, { answerMs: 1_500 });
    const { running } = await begun(shell, "sleep 600", { timeoutMs: 1_500 });
    engine.signal("SIGSTOP");
    expect((await running).result).toMatchObject({ ended: "lost", exitCode: null });
    expect(await shell.probe()).toMatchObject({ status: "down" });
    await expect(run(shell, "true")).rejects.toMatchObject({ code: "unavailable" });
    engine.signal("SIGCONT");
    await until("it answers", async () => (await shell.probe()).status === "ok");
    expect(await run(shell, "echo on; ps | grep -c '[s]leep 600'")).toMatchObject({ stdout: "on\n0\n" });
  });

  it("pauses under a command and continues: so does the command", async () => {
    const shell = start();
    const { running } = await begun(shell, "sleep 1; echo over");
    engine.signal("SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    engine.signal("SIGCONT");
    expect(await running).toMatchObject({ stdout: "begun\nover\n", result: { ended: "exit", exitCode: 0 } });
  });

  it.each([
    ["a page", `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>`],
    ["another service's JSON", `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"hello":"you"}`],
    ["no HTTP", "220 mail.example ESMTP\r\n"],
    ["errors", `HTTP/1.1 500 No\r\nContent-Length: 15\r\n\r\n{"message":"x"}`],
  ])("is something else that answers with %s", async (_name, answer) => {
    const other = await answering(folder, answer);
    lies.push(other);
    const shell = start(`unix://${other.socket}`);
    expect(await shell.probe()).toMatchObject({ status: "down" });
    await expect(run(shell, "true")).rejects.toMatchObject({ code: "unavailable" });
  });

  it("accepts connections and says nothing", async () => {
    const mute = await answering(folder, "");
    lies.push(mute);
    const shell = start(`unix://${mute.socket}`, { answerMs: 500 });
    expect(await shell.probe()).toMatchObject({ status: "down", message: expect.stringContaining("did not answer") as string });
  });

  it.each([
    ["creates no container", /containers\/create/, "garbage"],
    ["does not let itself be attached to", /\/attach/, "garbage"],
    ["cuts the attaching", /\/attach/, "cut"],
    ["does not start the container", /containers\/[\w-]+\/start/, "cut"],
    ["takes no command", /containers\/[\w-]+\/exec/, "cut"],
    ["answers nonsense for a command", /containers\/[\w-]+\/exec/, "garbage"],
  ] as const)("lies before the command begins: it %s", async (_name, pattern, how) => {
    const shell = await before((request) => (pattern.test(request) ? how : "pass"));
    let started = 0;
    await expect(run(shell, "echo x > never", { onStarted: () => (started += 1) })).rejects.toMatchObject({ code: "unavailable" });
    expect(started).toBe(0);
    expect(existsSync(join(fixture.workspace, "never"))).toBe(false);
    await shell.close();
    await until("no container is left", async () => (await ours()).length === 0);
  });

  it.each([
    ["sends what is no output", /exec\/\w+\/start/, "garbage"],
    ["cuts the output", /exec\/\w+\/start/, "cut"],
    ["says nonsense about its end", /exec\/\w+\/json/, "garbage"],
    ["says nothing about its end", /exec\/\w+\/json/, "cut"],
  ] as const)("lies while the command runs: it %s", async (_name, pattern, how) => {
    const shell = await before((request) => (pattern.test(request) ? how : "pass"));
    const ran = await run(shell, "echo x; sleep 0.5; exit 3");
    // What it said last may be known by another way, but never made up.
    expect(ran.started).toBe(1);
    if (ran.result.ended === "exit") expect(ran.result.exitCode).toBe(3);
    else expect(ran.result).toMatchObject({ ended: "lost", exitCode: null });
  });

  it("loses the container to somebody else between commands: a new one takes the next", async () => {
    const shell = start();
    await run(shell, "true");
    for (const { Id } of await ours()) await docker.getContainer(Id).remove({ force: true });
    expect(await run(shell, "echo on")).toMatchObject({ stdout: "on\n", started: 1, result: { exitCode: 0 } });
  });

  it("loses the container to somebody else under a command", async () => {
    const shell = start();
    const { running } = await begun(shell, "sleep 600");
    for (const { Id } of await ours()) await docker.getContainer(Id).remove({ force: true });
    expect((await running).result).toMatchObject({ ended: "lost", exitCode: null });
    expect(await run(shell, "echo on")).toMatchObject({ stdout: "on\n" });
  });

  it("holds a container that somebody paused: between commands a new one takes the next, under a command its time ends it", async () => {
    const shell = start();
    await run(shell, "true");
    for (const { Id } of await ours()) await docker.getContainer(Id).pause();
    expect(await run(shell, "echo on")).toMatchObject({ stdout: "on\n", result: { exitCode: 0 } });
    const { running } = await begun(shell, "sleep 600", { timeoutMs: 1_000 });
    for (const { Id, State } of await ours()) if (State === "running") await docker.getContainer(Id).pause();
    expect((await running).result).toMatchObject({ ended: "timeout", exitCode: null });
    await until("one container is left at most", async () => (await ours()).length <= 1);
  });

  it("has no image any more: what is warm works, what is not says what to do", async () => {
    const shell = start();
    await run(shell, "true");
    await docker.getImage(smallImage).tag({ repo: "lancelot-test", tag: "kept" });
    await docker.getImage(smallImage).remove({ force: true });
    try {
      expect(await run(shell, "echo warm")).toMatchObject({ stdout: "warm\n" });
      expect(await shell.probe()).toMatchObject({ status: "down", nextStep: expect.stringContaining("Build Sandbox Image") as string });
      await expect(shell.restart()).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("Build Sandbox Image") as string,
      });
      await expect(run(shell, "true")).rejects.toMatchObject({ code: "unavailable" });
      expect(shell.state().image.state).toBe("missing");
    } finally {
      const [repo = "", tag = ""] = smallImage.split(":");
      await docker.getImage("lancelot-test:kept").tag({ repo, tag });
      await docker.getImage("lancelot-test:kept").remove();
    }
  });

  it("is another one than the owner's broken settings may have named: commands are off", async () => {
    const shell = start(undefined, {
      settings: {
        read: () => ({
          value: sandboxSettings(isolationLimits),
          problem: "No command runs until config/sandbox.yaml is corrected: cpus: no.",
        }),
      },
    });
    expect(await shell.probe()).toMatchObject({ status: "down", message: expect.stringContaining("sandbox.yaml") as string });
    await expect(run(shell, "true")).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("sandbox.yaml") as string,
    });
  });
});
