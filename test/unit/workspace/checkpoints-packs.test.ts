import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openStorage, type Storage } from "../../../agent-server/storage/storage.ts";
import { createObjectStore } from "../../../agent-server/workspace/checkpoints/object-store.ts";
import { createPacks } from "../../../agent-server/workspace/checkpoints/object-packs.ts";
import { loadTree, saveTree } from "../../../agent-server/workspace/effects/tree-file.ts";
import {
  emptyFolder,
  entriesOf,
  factsOf,
  flag,
  flagsOf,
  hashOf,
  pathOf,
  setFacts,
  setFlags,
  setHash,
} from "../../../agent-server/workspace/effects/file-tree.ts";
import { sha256 } from "../../../agent-server/workspace/text/encoding.ts";
import { workspaceMigrations } from "../../../agent-server/workspace/workspace.ts";

describe("packs", () => {
  let dataDir = "";
  let storage: Storage;
  let time = 1_000;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), "lancelot-packs-"));
    storage = openStorage({ dataDir, migrations: workspaceMigrations });
    time = 1_000;
  });
  afterEach(() => {
    storage.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const open = () => createPacks({ storage, now: () => time });
  const files = () => readdirSync(join(dataDir, "objects/packs")).toSorted();
  const contents = Array.from({ length: 60 }, (_, index) =>
    index % 2 === 0 ? randomBytes(50_000) : Buffer.from(`text ${index}\n`.repeat(2_000)),
  );
  const fill = async () => {
    const writer = open().writer();
    for (const bytes of [...contents, ...contents]) await writer.add(sha256(bytes), bytes);
    await writer.end();
  };

  it("return stored contents, each stored once, and nothing else", async () => {
    await fill();
    await fill();
    expect(files()).toEqual(["1.pack"]);
    for (const bytes of contents) expect(await open().get(sha256(bytes))).toEqual(bytes);
    expect(await open().get(sha256(Buffer.from("never stored")))).toBeNull();
    const store = createObjectStore(dataDir, open());
    expect(await store.put(contents[0] ?? Buffer.alloc(0))).toBe(sha256(contents[0] ?? ""));
    expect(files()).toEqual(["1.pack"]);
  });

  it("are compacted when half empty and removed when empty", async () => {
    await fill();
    const packs = open();
    const [before] = packs.list();
    time = 2_000;
    const kept = contents.slice(0, 6);
    for (const bytes of kept) expect(packs.use(sha256(bytes))).toBe(true);
    const idle = packs.idle(1_500);
    expect(idle).toHaveLength(contents.length - kept.length);
    expect(packs.forget(idle, 1_500)).toBe(idle.length);
    await packs.compact();
    const [after] = packs.list();
    expect(after?.bytes).toBeLessThan((before?.bytes ?? 0) / 5);
    expect(files()).toHaveLength(1);
    for (const bytes of kept) expect(await packs.get(sha256(bytes))).toEqual(bytes);
    packs.forget(packs.idle(3_000), 3_000);
    await packs.compact();
    expect([files(), packs.list()]).toEqual([[], []]);
  });

  it("keep contents that were used in the meantime", async () => {
    await fill();
    const packs = open();
    const idle = packs.idle(1_500);
    time = 2_000;
    packs.use(idle[0] ?? "");
    expect(packs.forget(idle, 1_500)).toBe(idle.length - 1);
  });

  it("discard an aborted write", async () => {
    const packs = open();
    const writer = packs.writer();
    for (const bytes of contents) await writer.add(sha256(bytes), bytes);
    await writer.abort();
    expect([files(), packs.list(), await packs.get(sha256(contents[0] ?? ""))]).toEqual([[], [], null]);
    // Nor of a host that died.
    storage.db.exec("INSERT INTO packs (host_id) VALUES ('gone')");
    writeFileSync(join(dataDir, "objects/packs/2.pack"), "half");
    writeFileSync(join(dataDir, "objects/packs/99.pack"), "stray");
    await packs.compact();
    expect(files()).toEqual([]);
  });

  it("report damage", async () => {
    await fill();
    writeFileSync(join(dataDir, "objects/packs/1.pack"), randomBytes(1_000));
    await expect(createObjectStore(dataDir, open()).get(sha256(contents[3] ?? ""))).rejects.toMatchObject({
      message: expect.stringContaining("damaged"),
    });
  });
});

describe("a saved tree", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "lancelot-tree-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("round-trips, and reads as null when a bit is wrong", async () => {
    const root = emptyFolder("", 0o755, ["a\nb", "é"]);
    const inner = emptyFolder("sub", 0o700, []);
    const bytes = emptyFolder("sub/\0ff", 0o711, ["\0fe", "a\0c3é"]);
    root.folders.set("sub", inner);
    inner.folders.set("\0ff", bytes);
    const facts = { size: 5, mtimeMs: 1_700_000_000_000.123, ctimeMs: 1_700_000_000_001.5, ino: 2 ** 52, mode: 0o100644 };
    for (const entry of entriesOf(root)) {
      setFacts(entry, facts);
      setFlags(entry, flag.known | flag.kept);
      setHash(entry, sha256(pathOf(entry)));
    }
    const path = join(folder, "x.tree");
    await saveTree(path, root);
    const again = await loadTree(path);
    const reported = (tree: typeof root) =>
      [...entriesOf(tree)].map((entry) => [pathOf(entry), entry.folder.mode, factsOf(entry), flagsOf(entry), hashOf(entry)]);
    expect(again === null ? null : reported(again)).toEqual(reported(root));
    // Earlier versions wrote another name in place of one that is not text: such a tree cannot be compared.
    await saveTree(path, emptyFolder("", 0o755, ["/f\\xff"]));
    expect(await loadTree(path)).toBeNull();
    await saveTree(path, root);
    const whole = readFileSync(path);
    for (const at of [0, 20, Math.floor(whole.length / 2), whole.length - 1]) {
      const wrong = Buffer.from(whole);
      wrong[at] = (wrong[at] ?? 0) ^ 1;
      writeFileSync(path, wrong);
      expect(await loadTree(path)).toBeNull();
    }
    writeFileSync(path, whole.subarray(0, 10));
    expect(await loadTree(path)).toBeNull();
    expect(await loadTree(join(folder, "none.tree"))).toBeNull();
  });
});
