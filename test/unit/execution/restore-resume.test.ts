import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createToolsFixture } from "../../support/tools-fixture.ts";
import { createEffectsFixture } from "../../support/tools/effects-fixture.ts";
import { catalogWith, type PlantedWriter } from "../../support/tools/planted.ts";

let base: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-resume-")));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

it.each([
  ["succeeded", false],
  ["failed", true],
])("an action that %s is not undone by the next host", async (_end, fails) => {
  const writer: PlantedWriter = {
    plans: { "a.txt": "planned", "b.txt": "planned" },
    does: (path) => {
      if (fails && path.endsWith("b.txt")) throw new Error("The disk is full.");
      writeFileSync(path, "planned");
    },
  };
  const host = createToolsFixture({ base, posture: "autonomous", catalog: catalogWith(() => writer) });
  host.write("a.txt", "one");
  host.write("b.txt", "two");
  expect((await host.run("plant", {})).isError).toBe(fails);
  await host.tools.close();
  host.close();
  // With one file as planned and one as before, an unfinished action would count as half done.
  host.write("b.txt", "two");
  const next = createToolsFixture({ base });
  await next.tools.close();
  expect([next.read("a.txt"), next.read("b.txt")]).toEqual(["planned", "two"]);
  next.close();
});

it("a restore of a host that died is completed, except where the file was changed since or policy denies it", async () => {
  const died = createEffectsFixture({ base });
  await died.ready;
  const paths = [died.path("a.txt"), died.path("edited.txt"), join(died.dataDir, "own.txt")];
  for (const path of paths) writeFileSync(path, "before\n");
  const plannedImage = { hash: await died.objects.put(Buffer.from("restored\n")), mode: 0o644 };
  const touches = paths.map((absolute) => ({ path: { absolute, display: basename(absolute) }, plannedImage }));
  await died.checkpoints.take({ questId: "q1", receiptId: null, kind: "restore", touches });
  died.close();
  writeFileSync(paths[1] ?? "", "edited\n");

  const next = createEffectsFixture({ base });
  await next.ready;
  expect(paths.map((path) => readFileSync(path, "utf8"))).toEqual(["restored\n", "edited\n", "before\n"]);
  const [receipt] = next.ledger.search({ query: "checkpoint_restore.resume", limit: 1 }).items;
  expect(receipt?.outputs).toMatchObject({
    restored: ["a.txt"],
    conflicts: expect.arrayContaining([expect.objectContaining({ path: "edited.txt" }), expect.objectContaining({ path: "own.txt" })]),
  });
  next.close();
});
