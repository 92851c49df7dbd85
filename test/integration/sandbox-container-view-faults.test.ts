// @module-tag serial
import { spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import Dockerode from "dockerode";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ContainerShell } from "../../agent-server/sandbox/container.ts";
import { type OverlayView, scanLayer } from "../../agent-server/workspace/workspace.ts";
import { openContainer } from "../support/engine/container-fixture.ts";
import { ourContainers, startEngine, type TestEngine } from "../support/engine/engine.ts";
import { type FalseEngine, lyingBefore } from "../support/engine/false-engine.ts";
import { createSandboxFixture, type SandboxFixture } from "../support/sandbox/fixture.ts";
import { isolationLimits } from "../support/sandbox/limits.ts";
import { type RunOptions, runIn, until } from "../support/sandbox/run.ts";
import { skippedWithout } from "../support/setup/machine.mjs";
import { projectNode, root } from "../support/setup/project.mjs";

const skipped = skippedWithout("engine");

describe.skipIf(skipped !== null)(
  `an engine that fails under a command in a view${skipped === null ? "" : ` (skipped: ${skipped})`}`,
  () => {
    let engine: TestEngine;
    let docker: Dockerode;
    let fixture: SandboxFixture;
    let shell: ContainerShell;
    let lies: FalseEngine[] = [];
    let views: OverlayView[] = [];
    beforeAll(async () => {
      engine = await startEngine();
      docker = new Dockerode({ socketPath: engine.socket });
    });
    beforeEach(() => {
      fixture = createSandboxFixture();
      shell = openContainer(fixture, `unix://${engine.socket}`, isolationLimits);
    });
    afterEach(async () => {
      for (const view of views) await view.close();
      await shell.close();
      await Promise.all(lies.map((lie) => lie.close()));
      views = [];
      lies = [];
      fixture.close();
    });
    afterAll(() => engine.stop());

    const layer = () => ({ name: "workspace", lower: fixture.workspace });
    async function open(on = shell): Promise<OverlayView> {
      const view = await on.openView?.({ folder: join(fixture.dataDir, "tasks/one"), layers: [layer()] });
      if (view === undefined) throw new Error("The sandbox has no views.");
      views.push(view);
      return view;
    }
    const run = (view: OverlayView, command: string, more: RunOptions = {}) => runIn(shell, fixture.workspace, command, { view, ...more });
    const changed = async (view: OverlayView) =>
      (await scanLayer({ lower: fixture.workspace, upper: view.upper(layer()), merged: view.merged(layer()) })).map(({ path }) => path);
    const layersInUse = () => readFileSync("/proc/mounts", "utf8").includes(join(fixture.dataDir, "tasks"));
    const tick = "while :; do echo tick >> ticks; sleep 0.05; done";
    /** Runs it, waits until it ticks, and kills the engine. */
    async function killedUnder(view: OverlayView, command: string) {
      const running = run(view, command);
      await until("it ticks", () => existsSync(join(view.upper(layer()), "ticks")));
      await engine.kill("SIGKILL");
      return (await running).result;
    }

    it("is killed: the processes are ended from this machine, then the view belongs to this process again", async () => {
      const view = await open();
      const result = await killedUnder(view, `rm README.md; env -i setsid sh -c '${tick}' & ${tick}`);
      expect(result).toMatchObject({ ended: "lost", exitCode: null });
      expect(result.stillRunning).toBeUndefined();
      const ticks = join(view.merged(layer()), "ticks");
      const { size } = statSync(ticks);
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(statSync(ticks).size).toBe(size);
      expect((await changed(view)).toSorted()).toEqual(["README.md", "ticks"]);
      expect(existsSync(join(fixture.workspace, "ticks"))).toBe(false);
      await expect(run(view, "true")).rejects.toMatchObject({ code: "unavailable" });
      await engine.start();
      expect(await run(view, "wc -c < ticks; ls README.md 2>/dev/null")).toMatchObject({ stdout: `${size}\n` });
      await until("the old container is gone", async () => (await ourContainers(docker)).length === 0);
      await until("nothing is mounted", () => !layersInUse());
    });

    it("is killed, and the processes are not found: the view stays closed until they have ended", async () => {
      const view = await open();
      const result = await killedUnder(view, `exec env -i sh -c '${tick}'`);
      expect(result).toMatchObject({ ended: "lost", exitCode: null });
      expect(result.stillRunning).toBeInstanceOf(Promise);
      expect(() => view.merged(layer())).toThrow(expect.objectContaining({ code: "unavailable" }));
      const ticks = join(view.upper(layer()), "ticks");
      const { size } = statSync(ticks);
      await until("it still ticks", () => statSync(ticks).size > size);
      await engine.start();
      await result.stillRunning;
      expect(await changed(view)).toEqual(["ticks"]);
      const after = statSync(ticks).size;
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(statSync(ticks).size).toBe(after);
      expect(await run(view, "echo on")).toMatchObject({ stdout: "on\n" });
    });

    it("loses the container from outside: what the command wrote is there, and the next one runs", async () => {
      const view = await open();
      const running = run(view, tick);
      await until("it ticks", () => existsSync(join(view.upper(layer()), "ticks")));
      for (const { Id } of await ourContainers(docker)) await docker.getContainer(Id).remove({ force: true });
      expect((await running).result).toMatchObject({ ended: "lost" });
      expect(await changed(view)).toEqual(["ticks"]);
      expect(await run(view, "echo on")).toMatchObject({ stdout: "on\n" });
    });

    it("breaks the connection while the container starts: nothing ran, the view is open again, and the next command runs", async () => {
      let refused = 1;
      const liar = await lyingBefore(fixture.outside, engine.socket, (path) => (/\/start/.test(path) && refused-- > 0 ? "cut" : "pass"));
      lies.push(liar);
      const other = openContainer(fixture, `unix://${liar.socket}`, isolationLimits);
      const view = await open(other);
      let started = 0;
      const running = runIn(other, fixture.workspace, "echo x > never", { view, onStarted: () => (started += 1) });
      await expect(running).rejects.toMatchObject({ code: "unavailable" });
      expect(started).toBe(0);
      expect(await changed(view)).toEqual([]);
      expect(await runIn(other, fixture.workspace, "echo on", { view })).toMatchObject({ stdout: "on\n" });
      await other.close();
    });

    it("is stopped before the container started: nothing ran, and the view is open again", async () => {
      const view = await open();
      const stop = new AbortController();
      const running = run(view, "echo x > never", { signal: stop.signal });
      setTimeout(() => stop.abort(), 60);
      expect((await running).result).toMatchObject({ ended: "stopped", exitCode: null });
      expect(await changed(view)).toEqual([]);
      await until("nothing is mounted", () => !layersInUse());
      await until("no container is left", async () => (await ourContainers(docker)).length === 0);
    });

    it("is closed under a command: it ends, and the layer is free for the next host", async () => {
      const view = await open();
      const running = run(view, tick);
      await until("it ticks", () => existsSync(join(view.upper(layer()), "ticks")));
      await shell.close();
      expect((await running).result).toMatchObject({ ended: "lost" });
      await view.close();
      await until("nothing is mounted", () => !layersInUse());
      const next = openContainer(fixture, `unix://${engine.socket}`, isolationLimits);
      expect(await changed(await open(next))).toEqual(["ticks"]);
      await next.close();
    });

    it("goes on where a host was killed: its container ends, and the next host finds what the command wrote", async () => {
      const script = join(root, "test/support/engine/container-host/main.ts");
      const folder = join(fixture.dataDir, "tasks/one");
      const words = [fixture.workspace, fixture.dataDir, `unix://${engine.socket}`, "host_killed", tick, folder];
      const killed = spawn(projectNode(), [script, ...words], { stdio: "ignore" });
      const ticks = join(folder, "workspace/upper/ticks");
      await until("it ticks", () => existsSync(ticks));
      const gone = new Promise((resolve) => killed.once("exit", resolve));
      killed.kill("SIGKILL");
      await gone;
      const view = await open();
      expect(await ourContainers(docker)).toEqual([]);
      expect(layersInUse()).toBe(false);
      const { size } = statSync(ticks);
      expect(await changed(view)).toEqual(["ticks"]);
      expect(await run(view, "sleep 0.3; wc -c < ticks")).toMatchObject({ stdout: `${size}\n` });
    });

    it("of another machine has no views, and says so; commands run as before", async () => {
      const other = openContainer(fixture, `unix://${engine.socket}`, isolationLimits, { platform: "darwin" });
      expect(await other.probe()).toMatchObject({ status: "ok" });
      expect(other.containment()).toBe("watched");
      await expect(open(other)).rejects.toMatchObject({ code: "unavailable" });
      expect(await runIn(other, fixture.workspace, "echo on")).toMatchObject({ stdout: "on\n" });
      await other.close();
    });
  },
);
