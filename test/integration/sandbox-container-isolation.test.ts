// @module-tag serial
import { afterAll, beforeAll, describe } from "vitest";
import { openContainer } from "../support/engine/container-fixture.ts";
import { startEngine, type TestEngine } from "../support/engine/engine.ts";
import { isolationCases } from "../support/sandbox/isolation.ts";
import { skippedWithout } from "../support/setup/machine.mjs";

const skipped = skippedWithout("engine");

describe.skipIf(skipped !== null)(
  `the container sandbox, tried on a real engine${skipped === null ? "" : ` (skipped: ${skipped})`}`,
  () => {
    let engine: TestEngine;
    beforeAll(async () => {
      engine = await startEngine();
    });
    afterAll(() => engine.stop());

    isolationCases("isolation", {
      open: async (fixture, limits) => openContainer(fixture, `unix://${engine.socket}`, limits),
      memoryEnds: "memory",
    });
  },
);
