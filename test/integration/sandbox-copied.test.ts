// @module-tag serial
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTaskFolders, createTasks, describeOutcome } from "../../agent-server/workspace/workspace.ts";
import { copiedCases } from "../support/engine/copied-cases.ts";
import { openContainer, sandboxSettings } from "../support/engine/container-fixture.ts";
import { smallImage, startEngine, type TestEngine, toolsImage } from "../support/engine/engine.ts";
import { type RemoteEngine, startRemoteEngine } from "../support/engine/remote-engine.ts";
import { isolationLimits } from "../support/sandbox/limits.ts";
import { overlayCases } from "../support/sandbox/overlay-cases.ts";
import { skippedWithout } from "../support/setup/machine.mjs";
import { soak } from "../support/soak.ts";
import { startPodman } from "../support/setup/podman.mjs";
import { createToolsFixture } from "../support/tools-fixture.ts";
import { runIn } from "../support/sandbox/run.ts";
import { taskCases } from "../support/tasks/task-cases.ts";

const noEngine = skippedWithout("engine");
describe.skipIf(noEngine !== null)(`copies of a task's view in Docker${noEngine === null ? "" : ` (skipped: ${noEngine})`}`, () => {
  let engine: TestEngine;
  let remote: RemoteEngine;
  beforeAll(async () => {
    engine = await startEngine();
    remote = await startRemoteEngine(engine.socket);
  });
  afterAll(async () => {
    await remote.close();
    await engine.stop();
  });
  const open = (of: { workspace: string; dataDir: string }) =>
    openContainer({ ...of, protectedPaths: [] }, remote.address, isolationLimits);
  copiedCases("a copy in Docker", () => ({ socket: engine.socket, remote }));
  if (soak) overlayCases("in a copy in Docker", open, { hasLinks: false });
  if (soak) taskCases("commands of a task in a copy in Docker", open);
});

const noPodman = skippedWithout("podman");
if (soak)
  describe.skipIf(noPodman !== null)(`copies of a task's view in Podman${noPodman === null ? "" : ` (skipped: ${noPodman})`}`, () => {
    let podman: Awaited<ReturnType<typeof startPodman>>;
    let remote: RemoteEngine;
    beforeAll(async () => {
      podman = await startPodman(smallImage);
      remote = await startRemoteEngine(podman.socket);
    });
    afterAll(async () => {
      await remote.close();
      await podman.stop();
    });
    const open = (of: { workspace: string; dataDir: string }) =>
      openContainer({ ...of, protectedPaths: [] }, remote.address, isolationLimits);
    overlayCases("in a copy in Podman", open, { hasLinks: false });
    copiedCases("a copy in Podman", () => ({ socket: podman.socket, remote }));
  });

describe.skipIf(noEngine !== null)(`a repository in a copy${noEngine === null ? "" : ` (skipped: ${noEngine})`}`, () => {
  let engine: TestEngine;
  let remote: RemoteEngine;
  beforeAll(async () => {
    engine = await startEngine({ images: [toolsImage] });
    remote = await startRemoteEngine(engine.socket);
  });
  afterAll(async () => {
    await remote.close();
    await engine.stop();
  });

  it("has no ignored files, keeps those that commands create, finds nothing modified, and its commits come out", async () => {
    const fixture = createToolsFixture();
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd: fixture.workspace });
    git("init", "-q", "-b", "main");
    fixture.write(".gitignore", "node_modules/\n*.log\n");
    fixture.write("a.txt", "a\n");
    git("add", ".");
    git("commit", "-qm", "First");
    mkdirSync(fixture.path("node_modules/own"), { recursive: true });
    fixture.write("node_modules/own/index.js", "own\n");
    const limits = { ...isolationLimits, memoryBytes: 1 << 29 };
    const settings = { read: () => ({ value: sandboxSettings(limits, { image: toolsImage }), problem: null }) };
    const shell = openContainer({ ...fixture, protectedPaths: [] }, remote.address, limits, { settings });
    const { workspace, execution } = fixture.tools;
    const { ledger, storage, governance } = fixture;
    const tasks = createTasks({
      ...{ workspace: fixture.workspace, files: workspace.files, objects: workspace.objects, changes: execution.changes, governance },
      ...{ store: workspace.changeStore, tasks: workspace.taskStore, generatedFolders: () => new Set(["node_modules"]) },
      folders: createTaskFolders({
        ...{ storage, ledger, workspace: fixture.workspace, log: () => undefined },
        settings: () => ({ max_task_bytes: 1e9, keep_task_days: 1 }),
      }),
    });
    const run = async (command: string) => {
      const { openView } = shell;
      if (openView === undefined) throw new Error("The sandbox has no views.");
      const task = await tasks.begin({ questId: "q1", signal: new AbortController().signal, openView });
      const ran = await runIn(shell, fixture.workspace, command, { view: task.view });
      return { ...ran, ...(await task.finish({ receiptId: null, origin: command })) };
    };
    try {
      const first = await run(
        "ls; git status --porcelain; mkdir -p node_modules/x; echo 1 > node_modules/x/i.js; echo l > b.log; echo b > b.txt; git add b.txt; git -c user.name=a -c user.email=a@b.c commit -qm Second",
      );
      expect(first).toMatchObject({ stdout: "a.txt\n", stderr: "", generated: null });
      expect(first.proposed.map(({ path }) => path)).toEqual(["b.txt"]);
      expect(first.work?.commits).toMatchObject([{ subject: "Second" }]);
      expect(first.inCopy).toEqual([
        { name: "b.log", created: 1, modified: 0, deleted: 0 },
        { name: "node_modules", created: 1, modified: 0, deleted: 0 },
      ]);
      const second = await run("cat node_modules/x/i.js b.log; git status --porcelain; git log --format=%s");
      expect(second).toMatchObject({ stdout: "1\nl\nSecond\nFirst\n", inCopy: [] });
      // The user sees all that stays there, once for the task, until it is gone.
      expect(tasks.rests.inCopy("q1")).toEqual(first.inCopy);
      await run("rm b.log; echo 2 > node_modules/x/j.js");
      expect(tasks.rests.inCopy("q1")).toEqual([{ name: "node_modules", created: 2, modified: 0, deleted: 0 }]);
      expect(readdirSync(fixture.path("node_modules"))).toEqual(["own"]);
      expect(describeOutcome(first)).toContain("node_modules (+1)");
    } finally {
      await shell.close();
      fixture.close();
    }
  });
});
