import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createEffectsFixture } from "../../support/tools/effects-fixture.ts";

let base: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-resume-")));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

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
