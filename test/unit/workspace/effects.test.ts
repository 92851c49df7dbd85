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
  let room: EffectsFixture;
  beforeEach(() => {
    room = createEffectsFixture();
  });
  afterEach(() => room.close());

  const kinds = (touched: { files: { path: string; kind: string }[] }) =>
    Object.fromEntries(touched.files.map(({ path, kind }) => [path, kind]));

  it("are detected, reported on card and receipt, and undone exactly", async () => {
    room.write("a.txt", "a\n");
    room.write("gone.bin", Buffer.from([0, 1, 255]));
    room.write("run.sh", "#!/bin/sh\n");
    chmodSync(room.path("run.sh"), 0o640);
    room.write("sub/deep/x.txt", "x\n");
    mkdirSync(room.path("empty"));
    symlinkSync("a.txt", room.path("link"));
    const before = snapshotTree(room.workspace);
    const { touched, receiptId } = await room.sh(
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
    const { outputs } = room.ledger.get(receiptId) ?? { outputs: {} };
    expect(outputs).toMatchObject({
      checkpointId: touched.checkpointId,
      changedTotal: 9,
      changedDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const after = snapshotTree(room.workspace);
    const undone = await room.restore.restore({ questId: "q1" });
    expect(undone.conflicts).toEqual([]);
    expect(snapshotTree(room.workspace)).toEqual(before);
    expect(readlinkSync(room.path("link"))).toBe("a.txt");
    // And that can be undone in turn.
    const again = await room.restore.restore({ id: undone.undoCheckpointId ?? "" });
    expect(again.conflicts).toEqual([]);
    expect(snapshotTree(room.workspace)).toEqual(after);
    expect(readlinkSync(room.path("link"))).toBe("run.sh");
  });

  it("exclude a touched file, one rewritten with the same content, and a refreshed index", async () => {
    room.write("a.txt", "a\n");
    room.write("b.txt", "b\n");
    await room.sh("git init -q . && git add . && git commit -qm one");
    const { touched, receiptId } = await room.sh("touch a.txt; echo b > b.tmp; mv b.tmp b.txt; git status > /dev/null");
    expect(touched).toEqual({ files: [], total: 0, checkpointId: null });
    expect(room.ledger.get(receiptId)?.outputs).toEqual({ changedTotal: 0 });
  });

  it("are detected despite equal size and timestamps", async () => {
    room.write("a.txt", "aaaa");
    const at = new Date(1_700_000_000_000);
    utimesSync(room.path("a.txt"), at, at);
    await room.sh("true");
    const { touched } = await room.sh("true", {
      run: () => {
        writeFileSync(room.path("a.txt"), "bbbb");
        utimesSync(room.path("a.txt"), at, at);
        return Promise.resolve();
      },
    });
    expect(kinds(touched)).toEqual({ "a.txt": "modified" });
    await room.restore.restore({ id: touched.checkpointId ?? "" });
    expect(room.read("a.txt")).toBe("aaaa");
  });

  it("include ignored and untracked files", async () => {
    room.write(".gitignore", "dist/\n*.log\n");
    room.write("dist/out.js", "1\n");
    room.write("x.log", "1\n");
    room.write("untracked.txt", "1\n");
    await room.sh("git init -q . && git add .gitignore && git commit -qm one");
    const { touched } = await room.sh("echo 2 > dist/out.js; echo 2 > x.log; rm untracked.txt");
    expect(kinds(touched)).toEqual({ "dist/out.js": "modified", "x.log": "modified", "untracked.txt": "deleted" });
    await room.restore.restore({ id: touched.checkpointId ?? "" });
    expect([room.read("dist/out.js"), room.read("x.log"), room.read("untracked.txt")]).toEqual(["1\n", "1\n", "1\n"]);
  });

  it("are reported when the command fails or is stopped", async () => {
    room.write("a.txt", "a\n");
    let touched: unknown;
    await expect(
      room.pipeline.execute({
        quest: "q1",
        parent: null,
        actor: "agent",
        mode: "normal",
        signal: new AbortController().signal,
        actionType: "tool_call",
        actionName: "run_command",
        inputs: {},
        steps: [{ capability: "shell_exec", action: "run", args: { command: "true" }, cwd: room.workspace }],
        question: { title: "", detail: "" },
        consent: "ask",
        touches: [],
        watch: "workspace",
        onTouched: (found) => (touched = found),
        provider: { name: "sh", version: "1" },
        run: () => {
          room.write("a.txt", "half");
          throw new Error("It broke.");
        },
      }),
    ).rejects.toThrow("It broke.");
    expect(touched).toMatchObject({ total: 1, files: [{ path: "a.txt", kind: "modified", undoable: true }] });
    const receipt = room.ledger.search({ query: "run_command", limit: 1 }).items[0];
    expect(receipt).toMatchObject({ status: "failure", outputs: { changedTotal: 1 } });
    await room.restore.restore({ questId: "q1" });
    expect(room.read("a.txt")).toBe("a\n");
  });

  it("are undone file by file", async () => {
    room.write("a.txt", "a\n");
    room.write("sub/b.txt", "b\n");
    room.write("sub/c.txt", "c\n");
    const { touched } = await room.sh("echo x > a.txt; echo x > sub/b.txt; echo x > sub/c.txt; echo x > subject.txt");
    const id = touched.checkpointId ?? "";
    expect(await room.restore.restore({ id, paths: ["a.txt"] })).toMatchObject({ restored: ["a.txt"], conflicts: [] });
    expect([room.read("a.txt"), room.read("sub/b.txt")]).toEqual(["a\n", "x\n"]);
    expect((await room.restore.restore({ id, paths: ["sub"] })).restored.toSorted()).toEqual(["sub/b.txt", "sub/c.txt"]);
    expect(room.read("subject.txt")).toBe("x\n");
  });

  it("never include the user's work", async () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index}\n`);
    room.write("a.txt", lines.join(""));
    room.write("b.txt", "b\n");
    const { touched } = await room.sh("sed -i 's/line 3$/command 3/' a.txt; echo command > b.txt; mkdir made; echo m > made/m.txt");
    room.write("a.txt", room.read("a.txt").replace("line 15\n", "owner 15\n"));
    room.write("b.txt", "owner\n");
    room.write("made/owner.txt", "mine\n");
    const { restored, conflicts } = await room.restore.restore({ id: touched.checkpointId ?? "" });
    expect(conflicts.map(({ path }) => path)).toEqual(["b.txt"]);
    expect(restored).toContain("a.txt");
    expect(room.read("a.txt")).toBe(lines.join("").replace("line 15\n", "owner 15\n"));
    expect([room.read("b.txt"), room.read("made/owner.txt"), existsSync(room.path("made/m.txt"))]).toEqual(["owner\n", "mine\n", false]);
  });

  it("exclude writes of other actions, and cannot be undone where both wrote", async () => {
    room.write("owner.txt", "1\n");
    room.write("both.txt", "1\n");
    const accept = async (path: string, text: string) =>
      room.pipeline.execute({
        quest: "q2",
        parent: null,
        actor: "agent",
        mode: "normal",
        signal: new AbortController().signal,
        actionType: "file_op",
        actionName: "file_write",
        inputs: {},
        steps: [{ capability: "file_ops", action: "write", args: { path, absolute: room.path(path) } }],
        question: { title: "", detail: "" },
        consent: "review",
        touches: [{ path: { absolute: room.path(path), display: path }, planned: Buffer.from(text) }],
        provider: { name: "file-ops", version: "1" },
        run: () => {
          room.write(path, text);
          return Promise.resolve({ value: null, outputs: {} });
        },
      });
    const { touched } = await room.sh("", {
      run: async () => {
        room.write("command.txt", "c\n");
        await accept("owner.txt", "accepted\n");
        room.write("both.txt", "command\n");
        await accept("both.txt", "accepted\n");
      },
    });
    expect(touched.files).toEqual([
      { path: "both.txt", kind: "modified", undoable: false },
      { path: "command.txt", kind: "created", undoable: true },
    ]);
    const { conflicts } = await room.restore.restore({ id: touched.checkpointId ?? "" });
    expect(conflicts).toEqual([{ path: "both.txt", message: expect.stringContaining("at the same time") }]);
    expect([room.read("owner.txt"), room.read("both.txt"), existsSync(room.path("command.txt"))]).toEqual([
      "accepted\n",
      "accepted\n",
      false,
    ]);
  });

  it("run one command at a time, and no tools of quests during it", async () => {
    const order: string[] = [];
    let release = () => undefined as void;
    const held = new Promise<void>((resolve) => (release = resolve));
    const first = room.sh("", { run: async () => void (order.push("first"), await held, order.push("first ends")) });
    await expect.poll(() => order).toEqual(["first"]);
    const second = room.sh("", { run: async () => void order.push("second") });
    const tool = room.effects?.share(new AbortController().signal, async () => void order.push("tool"));
    const stopping = new AbortController();
    const stopped = room.sh("", { signal: stopping.signal, run: async () => void order.push("never") });
    stopping.abort();
    await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
    expect(order).toEqual(["first"]);
    release();
    await Promise.all([first, second, tool]);
    expect(order).toEqual(["first", "first ends", "tool", "second"]);
  });

  it("include files whose content was not kept, marked as not undoable", async () => {
    room.close();
    room = createEffectsFixture({ settings: { max_file_bytes: 1000 } });
    room.write("big.dat", Buffer.alloc(5000, 1));
    room.write("small.txt", "s\n");
    room.write("still.dat", Buffer.alloc(5000, 2));
    const { touched } = await room.sh("echo more >> big.dat; echo t > small.txt");
    expect(touched.files).toEqual([
      { path: "big.dat", kind: "modified", undoable: false },
      { path: "small.txt", kind: "modified", undoable: true },
    ]);
    const { restored, conflicts } = await room.restore.restore({ questId: "q1" });
    expect(restored).toEqual(["small.txt"]);
    expect(conflicts).toEqual([{ path: "big.dat", message: expect.stringContaining("not kept") }]);
    // What a command made can be taken away again, however large it is.
    const made = await room.sh("head -c 9000 /dev/zero > made.dat");
    expect(made.touched.files).toEqual([{ path: "made.dat", kind: "created", undoable: true }]);
    await room.restore.restore({ id: made.touched.checkpointId ?? "" });
    expect(existsSync(room.path("made.dat"))).toBe(false);
  });

  it("store sources first when not everything fits", async () => {
    room.close();
    room = createEffectsFixture({ settings: { max_workspace_bytes: 200_000 } });
    room.write(".gitignore", "made-here/\n");
    await room.sh("git init -q .");
    for (let index = 0; index < 20; index += 1) {
      room.write(`node_modules/p${index}/i.js`, Buffer.alloc(10_000, index + 1));
      room.write(`made-here/o${index}`, Buffer.alloc(10_000, index + 50));
      room.write(`src/s${index}.ts`, Buffer.alloc(2_000, index + 100));
    }
    const { touched } = await room.sh("for f in node_modules/*/i.js made-here/* src/*; do echo x >> $f; done");
    expect(touched.total).toBe(60);
    const of = (prefix: string) => touched.files.filter(({ path }) => path.startsWith(prefix));
    expect(of("src/").every(({ undoable }) => undoable)).toBe(true);
    expect([...of("node_modules/"), ...of("made-here/")].filter(({ undoable }) => !undoable).length).toBeGreaterThan(20);
  });

  it("list names that are not valid UTF-8 without undoing them", async () => {
    const odd = Buffer.concat([Buffer.from(`${room.workspace}/`), Buffer.from([0x66, 0xff, 0xfe])]);
    writeFileSync(odd, "1\n");
    room.write("new\nline.txt", "1\n");
    room.write("a.txt", "1\n");
    const { touched } = await room.sh("", {
      run: async () => {
        writeFileSync(odd, "2\n");
        room.write("new\nline.txt", "2\n");
        room.write("a.txt", "2\n");
      },
    });
    expect(touched.files).toEqual([
      { path: "a.txt", kind: "modified", undoable: true },
      { path: "f\\xff\\xfe", kind: "modified", undoable: false },
      { path: "new\nline.txt", kind: "modified", undoable: false },
    ]);
    const { restored, conflicts } = await room.restore.restore({ questId: "q1" });
    expect(restored).toEqual(["a.txt"]);
    expect(conflicts.map(({ path }) => path)).toEqual(["new\nline.txt"]);
    expect([readFileSync(odd, "utf8"), room.read("new\nline.txt"), room.read("a.txt")]).toEqual(["2\n", "2\n", "1\n"]);
  });

  it("restore replaced files, links and folders, and read-only ones", async () => {
    room.write("file", "f\n");
    room.write("folder/in.txt", "i\n");
    symlinkSync("file", room.path("link"));
    room.write("locked/ro.txt", "r\n");
    chmodSync(room.path("locked/ro.txt"), 0o444);
    chmodSync(room.path("locked"), 0o555);
    room.write("still-locked.txt", "1\n");
    chmodSync(room.path("still-locked.txt"), 0o444);
    room.write("Name.txt", "n\n");
    const before = snapshotTree(room.workspace);
    const { touched } = await room.sh(
      "rm file; mkdir file; echo x > file/x; rm -r folder; ln -s nowhere folder; rm link; echo l > link; chmod 755 locked; rm -f locked/ro.txt; echo w > locked/ro.txt; mv Name.txt name.txt; rm -f still-locked.txt; echo 2 > still-locked.txt; chmod 444 still-locked.txt",
    );
    expect(touched.files.every(({ undoable }) => undoable)).toBe(true);
    const { conflicts } = await room.restore.restore({ questId: "q1" });
    expect(conflicts).toEqual([]);
    expect(snapshotTree(room.workspace)).toEqual(before);
    expect(lstatSync(room.path("link")).isSymbolicLink()).toBe(true);
    chmodSync(room.path("locked"), 0o755);
  });

  it("are never undone through a link out of the workspace", async () => {
    const outside = join(room.dataDir, "..", "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "x.txt"), "outside\n");
    room.write("dir/x.txt", "inside\n");
    const { touched } = await room.sh("echo changed > dir/x.txt");
    rmSync(room.path("dir"), { recursive: true });
    symlinkSync(outside, room.path("dir"));
    const { conflicts } = await room.restore.restore({ id: touched.checkpointId ?? "" });
    expect(conflicts).toHaveLength(1);
    expect(readFileSync(join(outside, "x.txt"), "utf8")).toBe("outside\n");
    expect(statSync(outside).isDirectory()).toBe(true);
  });
});
