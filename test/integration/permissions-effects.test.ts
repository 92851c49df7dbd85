// @module-tag ordinary-user
import { ordinary } from "../support/sandbox/ordinary-user.ts";
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bytePictureOf } from "../support/tools/byte-tree.ts";
import { createEffectsFixture, type EffectsFixture } from "../support/tools/effects-fixture.ts";

/** Permissions do not restrict root. */
describe("permissions that a command takes away from the user", () => {
  let base: string;
  let fixture: EffectsFixture;
  beforeEach(() => {
    expect(ordinary).toBe(true);
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-effects-")));
    fixture = createEffectsFixture({ base });
    fixture.write("a.txt", "a\n");
    fixture.write("sub/b.txt", "b\n");
    fixture.write("sub/inner/c.txt", "c\n");
    mkdirSync(fixture.path("empty"));
  });
  afterEach(() => {
    fixture.close();
    open(base);
    rmSync(base, { recursive: true });
  });

  const modesOf = (folder: string) =>
    Object.fromEntries(["", ...readdirSync(folder)].map((name) => [name, lstatSync(join(folder, name)).mode & 0o777]));

  it.each<[what: string, script: string]>([
    ["a folder", "echo x > sub/b.txt; chmod 000 sub"],
    ["nested folders", "echo x > sub/inner/c.txt; rm sub/b.txt; chmod 000 sub/inner sub"],
    ["everything below a folder", "chmod -R 000 sub || true"],
    ["everything below a folder, the inner ones first", "find sub -depth -exec chmod 000 {} +"],
    ["the workspace", "echo x > new.txt; chmod -R 000 . || true"],
    ["listing alone", "mkdir sub/new; echo x > sub/new/x; chmod 300 sub"],
    ["entering alone", "rm sub/b.txt; chmod 600 sub"],
    ["changing", "rm -r sub/inner; chmod 500 sub"],
    ["reading files", "echo x > a.txt; chmod 000 a.txt; chmod 200 sub/b.txt"],
    ["a new folder", "mkdir -p new/deep; echo x > new/deep/x; chmod 000 new/deep new"],
    ["a file that became a folder", "rm a.txt; mkdir a.txt; echo x > a.txt/x; chmod 000 a.txt"],
  ])("%s: what it changed there is known and undone exactly", async (_what, script) => {
    const before = bytePictureOf(fixture.workspace);
    const { touched } = await fixture.sh(script);
    expect(touched.total).toBeGreaterThan(0);
    expect(touched.files.filter(({ undoable }) => !undoable)).toEqual([]);
    const taken = modesOf(fixture.path(".."));
    expect((await fixture.restore.diff({ questId: "q1" })).length).toBeGreaterThan(0);
    expect(modesOf(fixture.path(".."))).toEqual(taken);
    const undone = await fixture.restore.restore({ questId: "q1" });
    expect(undone.conflicts).toEqual([]);
    expect(bytePictureOf(fixture.workspace)).toEqual(before);
    const again = await fixture.restore.restore({ id: undone.undoCheckpointId ?? "" });
    expect(again.conflicts).toEqual([]);
    const back = await fixture.restore.restore({ id: again.undoCheckpointId ?? "" });
    expect(back.conflicts).toEqual([]);
    expect(bytePictureOf(fixture.workspace)).toEqual(before);
  });

  it("a folder that refuses the user access keeps its permissions through the scans", async () => {
    chmodSync(fixture.path("sub"), 0);
    const { touched } = await fixture.sh("echo x > a.txt");
    expect(touched.files.map(({ path }) => path)).toEqual(["a.txt"]);
    expect(lstatSync(fixture.path("sub")).mode & 0o777).toBe(0);
    const next = await fixture.sh("chmod 700 sub; rm sub/b.txt; chmod 000 sub");
    expect(next.touched.files).toEqual([{ path: "sub/b.txt", kind: "deleted", undoable: true }]);
    expect((await fixture.restore.restore({ questId: "q1" })).conflicts).toEqual([]);
    expect(lstatSync(fixture.path("sub")).mode & 0o777).toBe(0);
    chmodSync(fixture.path("sub"), 0o755);
    expect(fixture.read("sub/b.txt")).toBe("b\n");
  });
});

function open(folder: string): void {
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true })) if (entry.isDirectory()) open(join(folder, entry.name));
}
