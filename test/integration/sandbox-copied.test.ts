// @module-tag serial
import { afterAll, beforeAll, describe } from "vitest";
import { copiedCases } from "../support/engine/copied-cases.ts";
import { openContainer } from "../support/engine/container-fixture.ts";
import { smallImage, startEngine, type TestEngine } from "../support/engine/engine.ts";
import { type RemoteEngine, startRemoteEngine } from "../support/engine/remote-engine.ts";
import { isolationLimits } from "../support/sandbox/limits.ts";
import { overlayCases } from "../support/sandbox/overlay-cases.ts";
import { skippedWithout } from "../support/setup/machine.mjs";
import { soak } from "../support/soak.ts";
import { startPodman } from "../support/setup/podman.mjs";
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
  if (soak) overlayCases("in a copy in Docker", open);
  taskCases("commands of a task in a copy in Docker", open);
});

const noPodman = skippedWithout("podman");
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
  overlayCases("in a copy in Podman", (of) => openContainer({ ...of, protectedPaths: [] }, remote.address, isolationLimits));
});
