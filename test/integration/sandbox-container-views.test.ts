// @module-tag serial
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openContainer } from "../support/engine/container-fixture.ts";
import { smallImage, startEngine, type TestEngine } from "../support/engine/engine.ts";
import { describeViewsIn } from "../support/engine/view-cases.ts";
import { createSandboxFixture } from "../support/sandbox/fixture.ts";
import { isolationLimits } from "../support/sandbox/limits.ts";
import { openOsShell } from "../support/sandbox/os-shell.ts";
import { skippedWithout } from "../support/setup/machine.mjs";
import { startPodman } from "../support/setup/podman.mjs";

const noEngine = skippedWithout("engine");
describe.skipIf(noEngine !== null)(`views of tasks in Docker${noEngine === null ? "" : ` (skipped: ${noEngine})`}`, () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await startEngine();
  });
  afterAll(() => engine.stop());
  describeViewsIn("Docker", () => engine.socket, true);
});

const noPodman = skippedWithout("podman");
describe.skipIf(noPodman !== null)(`views of tasks in Podman${noPodman === null ? "" : ` (skipped: ${noPodman})`}`, () => {
  let podman: Awaited<ReturnType<typeof startPodman>>;
  beforeAll(async () => {
    podman = await startPodman(smallImage);
  });
  afterAll(() => podman.stop());
  describeViewsIn("Podman", () => podman.socket, false);

  it("keep the form in which a sandbox stored their files: another sandbox with another form refuses them", async () => {
    const fixture = createSandboxFixture();
    const shells = [openContainer(fixture, `unix://${podman.socket}`, isolationLimits), openOsShell(fixture)];
    const [inPodman, inSystem] = shells.map((shell) => async (task: string) => {
      const layers = [{ name: "workspace", lower: fixture.workspace }];
      const view = await shell.openView?.({ folder: join(fixture.dataDir, "tasks", task), layers });
      await view?.close();
    });
    await inPodman?.("one");
    await expect(inSystem?.("one")).rejects.toMatchObject({ code: "unavailable" });
    await inPodman?.("one");
    await inSystem?.("two");
    await expect(inPodman?.("two")).rejects.toMatchObject({ code: "unavailable" });
    await inSystem?.("two");
    // After another start of the system, nothing is left in either form.
    writeFileSync(join(fixture.dataDir, "tasks/one/boot"), "another start of the system");
    await inSystem?.("one");
    for (const shell of shells) await shell.close();
    fixture.close();
  });
});
