// @module-tag serial
import { afterAll, beforeAll, describe } from "vitest";
import { smallImage, startEngine, type TestEngine } from "../support/engine/engine.ts";
import { describeViewsIn } from "../support/engine/view-cases.ts";
import { skippedWithout } from "../support/setup/machine.mjs";
import { startPodman } from "../support/setup/podman.mjs";

const noEngine = skippedWithout("engine");
describe.skipIf(noEngine !== null)(`views of tasks in Docker${noEngine === null ? "" : ` (skipped: ${noEngine})`}`, () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await startEngine();
  });
  afterAll(() => engine.stop());
  describeViewsIn("Docker", () => engine.socket);
});

const noPodman = skippedWithout("podman");
describe.skipIf(noPodman !== null)(`views of tasks in Podman${noPodman === null ? "" : ` (skipped: ${noPodman})`}`, () => {
  let podman: Awaited<ReturnType<typeof startPodman>>;
  beforeAll(async () => {
    podman = await startPodman(smallImage);
  });
  afterAll(() => podman.stop());
  describeViewsIn("Podman", () => podman.socket);
});
