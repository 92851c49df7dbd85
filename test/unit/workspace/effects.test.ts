// @module-tag processes
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { snapshotTree } from "../../support/tools-fixture.ts";
import { createEffectsFixture, type EffectsFixture } from "../../support/tools/effects-fixture.ts";

describe("changes of a command", () => {
  let fixture: EffectsFixture;
  beforeEach(() => {
    fixture = createEffectsFixture();
  });
  afterEach(() => fixture.close());

  const kinds = (touched: { files: { path: string; kind: string }[] }) =>
    Object.fromEntries(touched.files.map(({ path, kind }) => [path, kind]));

  it("are detected, reported on card and receipt, and undone exactly", async () => {
    fixture.write("a.txt", "a\n");
    fixture.write("gone.bin", Buffer.from([0, 1, 255]));
    fixture.write("run.sh", "#!/bin/sh\n");
    chmodSync(fixture.path("run.sh"), 0o640);
    fixture.write("sub/deep/x.txt", "x\n");
    mkdirSync(fixture.path("empty"));
    symlinkSync("a.txt", fixture.path("link"));
    const before = snapshotTree(fixture.workspace);
    const { touched, receiptId } = await fixture.sh(
      "echo b >> a.txt; rm gone.bin; chmod 755 run.sh; rm -r sub; rmdir empty; ln -sfn run.sh link; mkdir -p new/dir; echo n > new/n.txt; mkdir new-empty",
    );
    expect(kinds(touched)).toEqual({
      "a.txt": "modified",
      "gone.bin": "deleted",
      "run.sh": "modified",
      "sub/deep/x.txt": "deleted",
      "empty/": "deleted",
      link: "modified",
      "new/n.txt": "created",
      "new/dir/": "created",
      "new-empty/": "created",
    });
    expect(touched.files.every(({ undoable }) => undoable)).toBe(true);
    const { outputs } = fixture.ledger.get(receiptId) ?? { outputs: {} };
    expect(outputs).toMatchObject({
      checkpointId: touched.checkpointId,
      changedTotal: 9,
      changedDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const after = snapshotTree(fixture.workspace);
    const undone = await fixture.restore.restore({ questId: "q1" });
    expect(undone.conflicts).toEqual([]);
    expect(snapshotTree(fixture.workspace)).toEqual(before);
    expect(readlinkSync(fixture.path("link"))).toBe("a.txt");
    // And that can be undone in turn.
    const again = await fixture.restore.restore({ id: undone.undoCheckpointId ?? "" });
    expect(again.conflicts).toEqual([]);
    expect(snapshotTree(fixture.workspace)).toEqual(after);
    expect(readlinkSync(fixture.path("link"))).toBe("run.sh");
  });

  it("exclude a touched file, one rewritten with the same content, and a refreshed index", async () => {
    fixture.write("a.txt", "a\n");
    fixture.write("b.txt", "b\n");
    await fixture.sh("git init -q . && git add . && git commit -qm one");
    const { touched, receiptId } = await fixture.sh("touch a.txt; echo b > b.tmp; mv b.tmp b.txt; git status > /dev/null");
    expect(touched).toEqual({ files: [], total: 0, checkpointId: null });
    expect(fixture.ledger.get(receiptId)?.outputs).toEqual({ changedTotal: 0 });
  });

  it("are detected despite equal size and timestamps", async () => {
    fixture.write("a.txt", "aaaa");
    const at = new Date(1_700_000_000_000);
    utimesSync(fixture.path("a.txt"), at, at);
    await fixture.sh("true");
    const { touched } = await fixture.sh("true", {
      run: () => {
        writeFileSync(fixture.path("a.txt"), "bbbb");
        utimesSync(fixture.path("a.txt"), at, at);
        return Promise.resolve();
      },
    });
    expect(kinds(touched)).toEqual({ "a.txt": "modified" });
    await fixture.restore.restore({ id: touched.checkpointId ?? "" });
    expect(fixture.read("a.txt")).toBe("aaaa");
  });

  it("include ignored and untracked files", async () => {
    fixture.write(".gitignore", "dist/\n*.log\n");
    fixture.write("dist/out.js", "1\n");
    fixture.write("x.log", "1\n");
    fixture.write("untracked.txt", "1\n");
    await fixture.sh("git init -q . && git add .gitignore && git commit -qm one");
    const { touched } = await fixture.sh("echo 2 > dist/out.js; echo 2 > x.log; rm untracked.txt");
    expect(kinds(touched)).toEqual({ "dist/out.js": "modified", "x.log": "modified", "untracked.txt": "deleted" });
    await fixture.restore.restore({ id: touched.checkpointId ?? "" });
    expect([fixture.read("dist/out.js"), fixture.read("x.log"), fixture.read("untracked.txt")]).toEqual(["1\n", "1\n", "1\n"]);
  });

  it("are reported when the command fails or is stopped", async () => {
    fixture.write("a.txt", "a\n");
    let touched: unknown;
    await expect(
      fixture.pipeline.execute({
        quest: "q1",
        parent: null,
        actor: "agent",
        mode: "normal",
        signal: new AbortController().signal,
        actionType: "tool_call",
        actionName: "run_command",
        inputs: {},
        steps: [{ capability: "shell_exec", action: "run", args: { command: "true" }, cwd: fixture.workspace }],
        question: { title: "", detail: "" },
        consent: "ask",
        touches: [],
        watch: "workspace",
        onTouched: (found) => (touched = found),
        provider: { name: "sh", version: "1" },
        run: () => {
          fixture.write("a.txt", "half");
          throw new Error("It broke.");
        },
      }),
    ).rejects.toThrow("It broke.");
    expect(touched).toMatchObject({ total: 1, files: [{ path: "a.txt", kind: "modified", undoable: true }] });
    const receipt = fixture.ledger.search({ query: "run_command", limit: 1 }).items[0];
    expect(receipt).toMatchObject({ status: "failure", outputs: { changedTotal: 1 } });
    await fixture.restore.restore({ questId: "q1" });
    expect(fixture.read("a.txt")).toBe("a\n");
  });

  it("are undone file by file", async () => {
    fixture.write("a.txt", "a\n");
    fixture.write("sub/b.txt", "b\n");
    fixture.write("sub/c.txt", "c\n");
    const { touched } = await fixture.sh("echo x > a.txt; echo x > sub/b.txt; echo x > sub/c.txt; echo x > subject.txt");
    const id = touched.checkpointId ?? "";
    expect(await fixture.restore.restore({ id, paths: ["a.txt"] })).toMatchObject({ restored: ["a.txt"], conflicts: [] });
    expect([fixture.read("a.txt"), fixture.read("sub/b.txt")]).toEqual(["a\n", "x\n"]);
    expect((await fixture.restore.restore({ id, paths: ["sub"] })).restored.toSorted()).toEqual(["sub/b.txt", "sub/c.txt"]);
    expect(fixture.read("subject.txt")).toBe("x\n");
  });

  it("never include the user's work", async () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index}\n`);
    fixture.write("a.txt", lines.join(""));
    fixture.write("b.txt", "b\n");
    const { touched } = await fixture.sh("sed -i 's/line 3$/command 3/' a.txt; echo command > b.txt; mkdir made; echo m > made/m.txt");
    fixture.write("a.txt", fixture.read("a.txt").replace("line 15\n", "owner 15\n"));
    fixture.write("b.txt", "owner\n");
    fixture.write("made/owner.txt", "mine\n");
    const { restored, conflicts } = await fixture.restore.restore({ id: touched.checkpointId ?? "" });
    expect(conflicts.map(({ path }) => path)).toEqual(["b.txt"]);
    expect(restored).toContain("a.txt");
    expect(fixture.read("a.txt")).toBe(lines.join("").replace("line 15\n", "owner 15\n"));
    expect([fixture.read("b.txt"), fixture.read("made/owner.txt"), existsSync(fixture.path("made/m.txt"))]).toEqual([
      "owner\n",
      "mine\n",
      false,
    ]);
  });

  it("exclude writes of other actions, and cannot be undone where both wrote", async () => {
    fixture.write("owner.txt", "1\n");
    fixture.write("both.txt", "1\n");
    const accept = async (path: string, text: string) =>
      fixture.pipeline.execute({
        quest: "q2",
        parent: null,
        actor: "agent",
        mode: "normal",
        signal: new AbortController().signal,
        actionType: "file_op",
        actionName: "file_write",
        inputs: {},
        steps: [{ capability: "file_ops", action: "write", args: { path, absolute: fixture.path(path) } }],
        question: { title: "", detail: "" },
        consent: "review",
        touches: [{ path: { absolute: fixture.path(path), display: path }, planned: Buffer.from(text) }],
        provider: { name: "file-ops", version: "1" },
        run: () => {
          fixture.write(path, text);
          return Promise.resolve({ value: null, outputs: {} });
        },
      });
    const { touched } = await fixture.sh("", {
      run: async () => {
        fixture.write("command.txt", "c\n");
        await accept("owner.txt", "accepted\n");
        fixture.write("both.txt", "command\n");
        await accept("both.txt", "accepted\n");
      },
    });
    expect(touched.files).toEqual([
      { path: "both.txt", kind: "modified", undoable: false },
      { path: "command.txt", kind: "created", undoable: true },
    ]);
    const { conflicts } = await fixture.restore.restore({ id: touched.checkpointId ?? "" });
    expect(conflicts).toEqual([{ path: "both.txt", message: expect.stringContaining("at the same time") }]);
    expect([fixture.read("owner.txt"), fixture.read("both.txt"), existsSync(fixture.path("command.txt"))]).toEqual([
      "accepted\n",
      "accepted\n",
      false,
    ]);
  });

  it("run one command at a time, and no tools of quests during it", async () => {
    const order: string[] = [];
    let release = () => undefined as void;
    const held = new Promise<void>((resolve) => (release = resolve));
    const first = fixture.sh("", { run: async () => void (order.push("first"), await held, order.push("first ends")) });
    await expect.poll(() => order).toEqual(["first"]);
    const second = fixture.sh("", { run: async () => void order.push("second") });
    const tool = fixture.effects?.share(new AbortController().signal, async () => void order.push("tool"));
    const stopping = new AbortController();
    const stopped = fixture.sh("", { signal: stopping.signal, run: async () => void order.push("never") });
    stopping.abort();
    await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
    expect(order).toEqual(["first"]);
    release();
    await Promise.all([first, second, tool]);
    expect(order).toEqual(["first", "first ends", "tool", "second"]);
  });

  it("include files whose content was not kept, marked as not undoable", async () => {
    fixture.close();
    fixture = createEffectsFixture({ settings: { max_file_bytes: 1000 } });
    fixture.write("big.dat", Buffer.alloc(5000, 1));
    fixture.write("small.txt", "s\n");
    fixture.write("still.dat", Buffer.alloc(5000, 2));
    const { touched } = await fixture.sh("echo more >> big.dat; echo t > small.txt");
    expect(touched.files).toEqual([
      { path: "big.dat", kind: "modified", undoable: false },
      { path: "small.txt", kind: "modified", undoable: true },
    ]);
    const { restored, conflicts } = await fixture.restore.restore({ questId: "q1" });
    expect(restored).toEqual(["small.txt"]);
    expect(conflicts).toEqual([{ path: "big.dat", message: expect.stringContaining("not kept") }]);
    // What a command made can be taken away again, however large it is.
    const made = await fixture.sh("head -c 9000 /dev/zero > made.dat");
    expect(made.touched.files).toEqual([{ path: "made.dat", kind: "created", undoable: true }]);
    await fixture.restore.restore({ id: made.touched.checkpointId ?? "" });
    expect(existsSync(fixture.path("made.dat"))).toBe(false);
  });

  it("store sources first when not everything fits", async () => {
    fixture.close();
    fixture = createEffectsFixture({ settings: { max_workspace_bytes: 200_000 } });
    fixture.write(".gitignore", "made-here/\n");
    await fixture.sh("git init -q .");
    for (let index = 0; index < 20; index += 1) {
      fixture.write(`node_modules/p${index}/i.js`, Buffer.alloc(10_000, index + 1));
      fixture.write(`made-here/o${index}`, Buffer.alloc(10_000, index + 50));
      fixture.write(`src/s${index}.ts`, Buffer.alloc(2_000, index + 100));
    }
    const { touched } = await fixture.sh("for f in node_modules/*/i.js made-here/* src/*; do echo x >> $f; done");
    expect(touched.total).toBe(60);
    const of = (prefix: string) => touched.files.filter(({ path }) => path.startsWith(prefix));
    expect(of("src/").every(({ undoable }) => undoable)).toBe(true);
    expect([...of("node_modules/"), ...of("made-here/")].filter(({ undoable }) => !undoable).length).toBeGreaterThan(20);
  });

  it("include names that are not text, escaped, and undo them", async () => {
    const bytes = Buffer.concat([Buffer.from(`${fixture.workspace}/`), Buffer.from([0x66, 0xff, 0xfe])]);
    writeFileSync(bytes, "1\n");
    fixture.write("new\nline.txt", "1\n");
    fixture.write("a.txt", "1\n");
    const { touched } = await fixture.sh("", {
      run: async () => {
        writeFileSync(bytes, "2\n");
        fixture.write("new\nline.txt", "2\n");
        fixture.write("a.txt", "2\n");
      },
    });
    expect(touched.files).toEqual([
      { path: "a.txt", kind: "modified", undoable: true },
      { path: "f\\xff\\xfe", kind: "modified", undoable: true },
      { path: "new\\nline.txt", kind: "modified", undoable: true },
    ]);
    const { restored, conflicts } = await fixture.restore.restore({ questId: "q1" });
    expect(restored.toSorted()).toEqual(["a.txt", "f\\xff\\xfe", "new\\nline.txt"]);
    expect(conflicts).toEqual([]);
    expect([readFileSync(bytes, "utf8"), fixture.read("new\nline.txt"), fixture.read("a.txt")]).toEqual(["1\n", "1\n", "1\n"]);
  });

  it("restore replaced files, links and folders, and read-only ones", async () => {
    fixture.write("file", "f\n");
    fixture.write("folder/in.txt", "i\n");
    symlinkSync("file", fixture.path("link"));
    fixture.write("locked/ro.txt", "r\n");
    chmodSync(fixture.path("locked/ro.txt"), 0o444);
    chmodSync(fixture.path("locked"), 0o555);
    fixture.write("still-locked.txt", "1\n");
    chmodSync(fixture.path("still-locked.txt"), 0o444);
    fixture.write("Name.txt", "n\n");
    const before = snapshotTree(fixture.workspace);
    const { touched } = await fixture.sh(
      "rm file; mkdir file; echo x > file/x; rm -r folder; ln -s nowhere folder; rm link; echo l > link; chmod 755 locked; rm -f locked/ro.txt; echo w > locked/ro.txt; mv Name.txt name.txt; rm -f still-locked.txt; echo 2 > still-locked.txt; chmod 444 still-locked.txt",
    );
    expect(touched.files.every(({ undoable }) => undoable)).toBe(true);
    const { conflicts } = await fixture.restore.restore({ questId: "q1" });
    expect(conflicts).toEqual([]);
    expect(snapshotTree(fixture.workspace)).toEqual(before);
    expect(lstatSync(fixture.path("link")).isSymbolicLink()).toBe(true);
    chmodSync(fixture.path("locked"), 0o755);
  });

  it("are never undone through a link out of the workspace", async () => {
    const outside = join(fixture.dataDir, "..", "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "x.txt"), "outside\n");
    fixture.write("dir/x.txt", "inside\n");
    const { touched } = await fixture.sh("echo changed > dir/x.txt");
    rmSync(fixture.path("dir"), { recursive: true });
    symlinkSync(outside, fixture.path("dir"));
    const { conflicts } = await fixture.restore.restore({ id: touched.checkpointId ?? "" });
    expect(conflicts).toHaveLength(1);
    expect(readFileSync(join(outside, "x.txt"), "utf8")).toBe("outside\n");
    expect(statSync(outside).isDirectory()).toBe(true);
  });
});
