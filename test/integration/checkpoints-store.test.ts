import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { moments, runs } from "../support/soak.ts";
import { createEffectsFixture } from "../support/tools/effects-fixture.ts";
import { runHost } from "../support/tools/killed-host.ts";
import { makeManyFiles } from "../support/tools/many-files.ts";
import { pictureOf } from "../support/tools/tree.ts";

const run = promisify(execFile);
const manyFiles = runs(8_000, 100_000);
/** That many files are made and removed in memory where that is possible: disks of test machines take minutes for them. */
const folder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

describe("the store of before-images", () => {
  let base = "";
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(folder, "lancelot-store-")));
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  it("is whole after a collection that was killed, at any point of it", async () => {
    const settings = { max_total_bytes: 1_000_000, keep_days: 30 };
    const fixture = createEffectsFixture({ base, settings });
    makeManyFiles(fixture.workspace, 500);
    const before = pictureOf(fixture.workspace);
    await fixture.sh("for f in packages/*/*/*/*.ts; do echo open >> $f; done", { questId: "open" });
    for (let index = 0; index < 12; index += 1)
      await fixture.sh("", { questId: `ended${index}`, run: () => Promise.resolve(fixture.write("big.bin", randomBytes(400_000))) });
    fixture.close();
    // A whole collection takes about a tenth of a second, and each goes on where the one before it was killed.
    for (const moment of moments(runs(3, 12))) await runHost([base, "collect"], { word: "begun", after: 5 + moment * 90 });

    const after = createEffectsFixture({
      base,
      settings,
      isQuestOpen: (questId) => questId === "open",
      now: () => new Date(Date.now() + 10_800_000),
    });
    await after.collector.collect();
    rmSync(after.path("big.bin"), { force: true });
    expect((await after.restore.restore({ questId: "open" })).conflicts).toEqual([]);
    expect(pictureOf(after.workspace)).toEqual(before);
    const left = readdirSync(join(base, "data/objects"), { recursive: true, encoding: "utf8" });
    expect(left.filter((name) => /\.(?:tmp|dead)$/.test(name))).toEqual([]);
    after.close();
  });

  it("says what to do when there is no space left, before anything is run", async () => {
    const fixture = createEffectsFixture({ base });
    fixture.write("big.bin", randomBytes(3_900_000));
    const before = pictureOf(fixture.workspace);
    fixture.close();
    const script = join(import.meta.dirname, "../support/tools/effects-full-disk/main.ts");
    const { stdout } = await run("bash", ["-c", `ulimit -f 3000; exec "$0" "$1" "$2"`, process.execPath, script, base]);
    expect(JSON.parse(stdout)).toEqual({
      failed: { code: "unavailable", message: expect.stringMatching(/disk.*is full.*Nothing was run.*Free some space/) },
      ran: false,
      checkpoints: 0,
      receipt: "failure",
    });
    const again = createEffectsFixture({ base });
    expect(pictureOf(again.workspace)).toEqual(before);
    const { touched } = await again.sh("rm big.bin");
    expect(touched.files).toEqual([{ path: "big.bin", kind: "deleted", undoable: true }]);
    await again.restore.restore({ id: touched.checkpointId ?? "" });
    expect(pictureOf(again.workspace)).toEqual(before);
    again.close();
  });

  it(`holds a repository of ${manyFiles} files, and puts back what a command did to thousands of them`, async () => {
    const fixture = createEffectsFixture({ base });
    makeManyFiles(fixture.workspace, manyFiles);
    const before = pictureOf(join(fixture.workspace, "packages/p1"));
    const dependencies = pictureOf(join(fixture.workspace, "node_modules/p3"));
    const { touched } = await fixture.sh(
      "for f in packages/p1/src/*/*.ts; do echo changed > $f; done; rm -r node_modules/p3; chmod 600 packages/p2/src/*/*.ts; mkdir -p new; echo n > new/n.txt",
    );
    expect(touched.total).toBeGreaterThan(3_000);
    expect(touched.files).toHaveLength(200);
    const diff = await fixture.restore.diff({ questId: "q1" });
    expect(diff.length).toBeGreaterThan(3_000);
    const undone = await fixture.restore.restore({ questId: "q1" });
    expect(undone.conflicts).toEqual([]);
    expect(pictureOf(join(fixture.workspace, "packages/p1"))).toEqual(before);
    expect(pictureOf(join(fixture.workspace, "node_modules/p3"))).toEqual(dependencies);
    expect(readdirSync(fixture.workspace).toSorted()).toEqual(["node_modules", "packages"]);
    fixture.close();
  });
});
