// @module-tag serial
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openContainer, sandboxSettings } from "../support/engine/container-fixture.ts";
import { smallImage, startEngine, type TestEngine, toolsImage } from "../support/engine/engine.ts";
import { createSandboxFixture } from "../support/sandbox/fixture.ts";
import { isolationLimits } from "../support/sandbox/limits.ts";
import { maskCases } from "../support/sandbox/mask-cases.ts";
import { runIn } from "../support/sandbox/run.ts";
import { skippedWithout } from "../support/setup/machine.mjs";
import { startPodman } from "../support/setup/podman.mjs";

async function tryDataFolderInside(socket: string): Promise<void> {
  const fixture = createSandboxFixture();
  const dataDir = join(fixture.workspace, "data");
  mkdirSync(dataDir, { mode: 0o755 });
  writeFileSync(join(dataDir, "lancelot.sqlite"), fixture.canary, { mode: 0o644 });
  const shell = openContainer({ ...fixture, dataDir }, `unix://${socket}`, isolationLimits, {
    settings: { read: () => ({ value: sandboxSettings(isolationLimits, { image: smallImage }), problem: null }) },
  });
  const ran = await runIn(shell, fixture.workspace, "cat README.md data/lancelot.sqlite; ls data; echo x > data/new");
  expect(ran.stdout).toBe("hello\n");
  expect(ran.result.exitCode).not.toBe(0);
  await shell.close();
  fixture.close();
}

const noEngine = skippedWithout("engine");
describe.skipIf(noEngine !== null)(`secret files in Docker${noEngine === null ? "" : ` (skipped: ${noEngine})`}`, () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await startEngine({ images: [smallImage, toolsImage] });
  });
  afterAll(() => engine.stop());

  it("a data folder in the workspace is hidden", () => tryDataFolderInside(engine.socket));

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

  it("a data folder in the workspace is hidden", () => tryDataFolderInside(podman.socket));

  maskCases("are masked", { open: async (fixture) => openContainer(fixture, `unix://${podman.socket}`, isolationLimits) });
});
