// @module-tag serial
import { afterAll, beforeAll, describe } from "vitest";
import { openContainer, sandboxSettings } from "../support/engine/container-fixture.ts";
import { startEngine, type TestEngine, toolsImage } from "../support/engine/engine.ts";
import { isolationLimits } from "../support/sandbox/limits.ts";
import { maskCases } from "../support/sandbox/mask-cases.ts";
import { skippedWithout } from "../support/setup/machine.mjs";
import { startPodman } from "../support/setup/podman.mjs";
import { smallImage } from "../support/engine/engine.ts";

const noEngine = skippedWithout("engine");
describe.skipIf(noEngine !== null)(`secret files in Docker${noEngine === null ? "" : ` (skipped: ${noEngine})`}`, () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await startEngine({ images: [toolsImage] });
  });
  afterAll(() => engine.stop());

  maskCases("are masked", {
    open: async (fixture) =>
      openContainer(fixture, `unix://${engine.socket}`, isolationLimits, {
        settings: { read: () => ({ value: sandboxSettings(isolationLimits, { image: toolsImage }), problem: null }) },
      }),
    tools: { ripgrep: null },
    without: "awk",
  });
});

const noPodman = skippedWithout("podman");
describe.skipIf(noPodman !== null)(`secret files in Podman${noPodman === null ? "" : ` (skipped: ${noPodman})`}`, () => {
  let podman: Awaited<ReturnType<typeof startPodman>>;
  beforeAll(async () => {
    podman = await startPodman(smallImage);
  });
  afterAll(() => podman.stop());

  maskCases("are masked", { open: async (fixture) => openContainer(fixture, `unix://${podman.socket}`, isolationLimits) });
});
