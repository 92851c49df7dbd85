// @module-tag serial
import { afterAll, beforeAll, describe } from "vitest";
import { openContainer } from "../support/engine/container-fixture.ts";
import { smallImage, startEngine, type TestEngine } from "../support/engine/engine.ts";
import { containerViewCases } from "../support/engine/view-cases.ts";
import { isolationLimits } from "../support/sandbox/limits.ts";
import { overlayCases } from "../support/sandbox/overlay-cases.ts";
import { skippedWithout } from "../support/setup/machine.mjs";
import { startPodman } from "../support/setup/podman.mjs";
import { taskCases } from "../support/tasks/task-cases.ts";

function viewCases(name: string, socket: () => string): void {
  const open = (of: { workspace: string; dataDir: string }) =>
    openContainer({ ...of, protectedPaths: [] }, `unix://${socket()}`, isolationLimits);
  containerViewCases(`a view in ${name}`, socket);
  overlayCases(`in ${name}`, open);
  taskCases(`commands of a task in ${name}`, open);
}

const noEngine = skippedWithout("engine");
describe.skipIf(noEngine !== null)(`views of tasks in Docker${noEngine === null ? "" : ` (skipped: ${noEngine})`}`, () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await startEngine();
  });
  afterAll(() => engine.stop());
  viewCases("Docker", () => engine.socket);
});

const noPodman = skippedWithout("podman");
describe.skipIf(noPodman !== null)(`views of tasks in Podman${noPodman === null ? "" : ` (skipped: ${noPodman})`}`, () => {
  let podman: Awaited<ReturnType<typeof startPodman>>;
  beforeAll(async () => {
    podman = await startPodman(smallImage);
  });
  afterAll(() => podman.stop());
  viewCases("Podman", () => podman.socket);
});
