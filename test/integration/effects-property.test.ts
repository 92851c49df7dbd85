import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import * as fc from "fast-check";
import { createEffectsFixture } from "../support/tools/effects-fixture.ts";
import { anyTree, become, pictureOf } from "../support/tools/tree.ts";
import { runs } from "../support/soak.ts";

/** In memory where that is possible: each of some hundred looks and restores waits for the disk otherwise. */
const folder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

describe("any tree a command makes of any other", () => {
  const base = realpathSync(mkdtempSync(join(folder, "lancelot-trees-")));
  const fixture = createEffectsFixture({ base });
  afterAll(() => {
    fixture.close();
    rmSync(base, { recursive: true, force: true });
  });

  it("is undone to the byte, and done again to the byte", async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(anyTree, anyTree, async (from, to) => {
        run += 1;
        become(fixture.workspace, from);
        const before = pictureOf(fixture.workspace);
        const { touched } = await fixture.sh("", { questId: `q${run}`, run: () => Promise.resolve(become(fixture.workspace, to)) });
        const after = pictureOf(fixture.workspace);
        const undone = await fixture.restore.restore({ questId: `q${run}` });
        expect(undone.conflicts).toEqual([]);
        expect(pictureOf(fixture.workspace)).toEqual(before);
        if (touched.checkpointId === null) {
          expect(after).toEqual(before);
          return;
        }
        const again = await fixture.restore.restore({ id: undone.undoCheckpointId ?? "" });
        expect(again.conflicts).toEqual([]);
        expect(pictureOf(fixture.workspace)).toEqual(after);
      }),
      { numRuns: runs(25, 100) },
    );
  });

  it("is undone as a whole after several commands", async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyTree, { minLength: 2, maxLength: 4 }), async (trees) => {
        run += 1;
        const [first, ...rest] = trees;
        if (first === undefined) return;
        become(fixture.workspace, first);
        const before = pictureOf(fixture.workspace);
        for (const tree of rest) await fixture.sh("", { questId: `r${run}`, run: () => Promise.resolve(become(fixture.workspace, tree)) });
        const { conflicts } = await fixture.restore.restore({ questId: `r${run}` });
        expect(conflicts).toEqual([]);
        expect(pictureOf(fixture.workspace)).toEqual(before);
      }),
      { numRuns: runs(10, 40) },
    );
  });
});
