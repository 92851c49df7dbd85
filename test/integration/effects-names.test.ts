import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import * as fc from "fast-check";
import { anyName, apply, below, bytePictureOf, type Doing, doings } from "../support/tools/byte-tree.ts";
import { createUndo } from "../../agent-server/execution/undo.ts";
import { createEffectsFixture, type EffectsFixture } from "../support/tools/effects-fixture.ts";
import { runs } from "../support/soak.ts";

/** In memory where that is possible: each of some hundred scans and restores waits for the disk otherwise. */
const folder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

describe("names of any bytes", () => {
  const base = realpathSync(mkdtempSync(join(folder, "lancelot-names-")));
  const fixture = createEffectsFixture({ base });
  afterAll(() => {
    fixture.close();
    rmSync(base, { recursive: true, force: true });
  });

  it("are undone to the byte after anything a command does with them, and all of them are named", async () => {
    let run = 0;
    const files = fc.uniqueArray(fc.tuple(anyName, anyName, fc.constantFrom(...doings), fc.boolean()), {
      minLength: 1,
      maxLength: 6,
      selector: ([name]) => name.toString("latin1"),
    });
    await fc.assert(
      fc.asyncProperty(files, async (entries) => {
        run += 1;
        const root = join(fixture.workspace, String(run));
        mkdirSync(root);
        const paths = entries.map(([name, inner, doing, isNested]) => {
          const path = isNested ? below(root, name, inner) : below(root, name);
          if (isNested) mkdirSync(below(root, name));
          writeFileSync(path, inner);
          return { path, doing };
        });
        const before = bytePictureOf(root);
        const { touched } = await fixture.sh("", {
          questId: `q${run}`,
          run: () => Promise.resolve(paths.forEach(({ path, doing }) => apply(doing, path))),
        });
        expect(touched.files.filter(({ undoable }) => !undoable)).toEqual([]);
        expect(touched.total).toBeGreaterThanOrEqual(entries.length);
        expect(new Set(touched.files.map(({ path }) => path)).size).toBe(touched.total);
        const { conflicts } = await fixture.restore.restore({ questId: `q${run}` });
        expect(conflicts).toEqual([]);
        expect(bytePictureOf(root)).toEqual(before);
      }),
      { numRuns: runs(25, 300) },
    );
  });
});

describe("one entry of a strange name", () => {
  let fixture: EffectsFixture;
  beforeEach(() => {
    fixture = createEffectsFixture();
  });
  afterEach(() => fixture.close());

  const names: [what: string, name: Buffer][] = [
    ["a line break", Buffer.from("new\nline.txt")],
    ["a tab", Buffer.from("a\tb")],
    ["no UTF-8", Buffer.from([0x66, 0xff, 0xfe])],
    ["half a character", Buffer.from([0xc3])],
    ["a surrogate", Buffer.from([0xed, 0xa0, 0x80])],
    ["a backslash", Buffer.from("a\\nb")],
    ["a drive letter", Buffer.from("c:\\x")],
    ["encoded dots", Buffer.from("%2e%2e%2fx")],
    ["a changed direction", Buffer.from("\u{202e}txt.exe")],
    ["255 bytes that are no text", Buffer.alloc(255, 0xff)],
    ["an escape sequence", Buffer.from("\u001b[31mred")],
  ];
  const table = names.flatMap(([what, name]) => doings.map((doing): [string, Doing, Buffer] => [what, doing, name]));

  it.each(table)("(%s) comes back after: %s", async (_what, doing, name) => {
    if (doing === "rename" && name.byteLength === 255) return;
    const path = below(fixture.workspace, Buffer.from("sub"), name);
    mkdirSync(join(fixture.workspace, "sub"));
    writeFileSync(path, "content\n");
    const before = bytePictureOf(fixture.workspace);
    const { touched } = await fixture.sh("", { run: () => Promise.resolve(apply(doing, path)) });
    expect(touched.files.every(({ undoable }) => undoable)).toBe(true);
    expect(touched.files.length).toBeGreaterThan(0);
    expect((await fixture.restore.diff({ questId: "q1" })).length).toBeGreaterThan(0);
    // One file can be undone by the name that the card shows.
    const { conflicts } = await fixture.restore.restore({
      id: touched.checkpointId ?? "",
      paths: touched.files.map((file) => file.path),
    });
    expect(conflicts).toEqual([]);
    expect(bytePictureOf(fixture.workspace)).toEqual(before);
  });

  it("in a checkpoint of an earlier version, which showed it as it is, comes back", async () => {
    const path = { absolute: fixture.path("new\nline.txt"), display: "new\nline.txt" };
    fixture.write("new\nline.txt", "1\n");
    const id = await fixture.checkpoints.take({ questId: "q1", receiptId: null, touches: [{ path, plannedImage: null }] });
    rmSync(path.absolute);
    await fixture.checkpoints.finishFiles(id, [path]);
    fixture.checkpoints.finish(id);
    expect(await fixture.restore.restore({ id })).toMatchObject({ restored: [path.display], conflicts: [] });
    expect(fixture.read("new\nline.txt")).toBe("1\n");
  });

  it("is no file to commit when git cannot be given it as text", async () => {
    const repository = { undo: () => Promise.resolve({ restored: [], conflicts: [] }) };
    const { questFiles } = createUndo({
      checkpoints: fixture.checkpoints,
      files: fixture.restore,
      repository,
      generated: null,
      log: () => undefined,
    });
    await fixture.sh("", {
      run: () => {
        for (const name of [Buffer.from([0xff]), Buffer.from("a\nb")]) writeFileSync(below(fixture.workspace, name), "x");
        return Promise.resolve();
      },
    });
    await fixture.sh("mkfifo p; mkdir d");
    expect(questFiles("q1").map(({ display }) => display)).toEqual(["a\\nb"]);
  });

  it("is still no name for tools", () => {
    const path = join(fixture.workspace, "new\nline.txt");
    writeFileSync(path, "x");
    expect(fixture.governance.resolvePath(path)).toMatchObject({ ok: false, rule: "path.control" });
    expect(fixture.governance.resolvePath(join(fixture.workspace, "f\0ff"))).toMatchObject({ ok: false, rule: "path.nul" });
  });

  it("is never restored through a link out of the workspace", async () => {
    const [inside, outside] = [Buffer.from([0x64, 0xff]), join(fixture.dataDir, "..", "outside")];
    mkdirSync(outside);
    writeFileSync(join(outside, "x\n"), "outside\n");
    mkdirSync(below(fixture.workspace, inside));
    writeFileSync(below(fixture.workspace, inside, Buffer.from("x\n")), "inside\n");
    const { touched } = await fixture.sh("", {
      run: () => Promise.resolve(writeFileSync(below(fixture.workspace, inside, Buffer.from("x\n")), "changed\n")),
    });
    rmSync(below(fixture.workspace, inside), { recursive: true });
    symlinkSync(outside, below(fixture.workspace, inside));
    const before = bytePictureOf(outside);
    const { conflicts } = await fixture.restore.restore({ id: touched.checkpointId ?? "" });
    expect(conflicts).toHaveLength(1);
    expect(bytePictureOf(outside)).toEqual(before);
  });

  it("is restored in a folder that became read-only, which stays so", async () => {
    fixture.write("a\nb/c", "1\n");
    const { touched } = await fixture.sh("", { run: () => Promise.resolve(fixture.write("a\nb/c", "2\n")) });
    chmodSync(fixture.path("a\nb"), 0o500);
    expect((await fixture.restore.restore({ id: touched.checkpointId ?? "" })).conflicts).toEqual([]);
    expect(fixture.read("a\nb/c")).toBe("1\n");
  });
});
