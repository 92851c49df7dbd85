// @module-tag serial
import { afterAll, beforeAll, describe } from "vitest";
import { openContainer } from "../support/engine/container-fixture.ts";
import { smallImage } from "../support/engine/engine.ts";
import { isolationCases } from "../support/sandbox/isolation.ts";
import { skippedWithout } from "../support/setup/machine.mjs";
import { startPodman } from "../support/setup/podman.mjs";

const reason = skippedWithout("podman");

describe.skipIf(reason !== null)(`the container sandbox on Podman${reason === null ? "" : ` (skipped: ${reason})`}`, () => {
  let podman: Awaited<ReturnType<typeof startPodman>>;
  beforeAll(async () => {
    podman = await startPodman(smallImage);
  });
  afterAll(() => podman.stop());

  isolationCases("isolation", {
    open: async (fixture, limits) => openContainer(fixture, `unix://${podman.socket}`, limits),
    memoryEnds: "memory",
  });
});
