import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fileError } from "../../../agent-server/workspace/file-errors.ts";
import { openForReading, readWhole, removeFile, writeAtomic } from "../../../agent-server/workspace/file-operations.ts";
import { sha256 } from "../../../agent-server/workspace/text/encoding.ts";

describe("file operations", () => {
  let base: string;
  const at = (path: string) => ({ absolute: join(base, path), display: path });
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-files-")));
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));
  const read = (path: string) => readFileSync(join(base, path), "utf8");
  const put = (path: string, text: string) => writeFileSync(join(base, path), text);

  it("create a file and its folders", async () => {
    await writeAtomic(at("a/b/c.txt"), Buffer.from("x"), { expected: null });
    expect(read("a/b/c.txt")).toBe("x");
    expect(readdirSync(join(base, "a/b"))).toEqual(["c.txt"]);
    expect(statSync(join(base, "a/b/c.txt")).mode & 0o777).toBe(0o666 & ~process.umask());
  });

  it("replace a file, keeping its mode and owner", async () => {
    put("a", "old");
    chmodSync(join(base, "a"), 0o741);
    const before = statSync(join(base, "a"));
    await writeAtomic(at("a"), Buffer.from("new"), { expected: sha256("old") });
    const after = statSync(join(base, "a"));
    expect([read("a"), after.mode, after.uid, after.gid]).toEqual(["new", before.mode, before.uid, before.gid]);
  });

  it.each<[string, string | null, string | null]>([
    ["a file that changed", "other", sha256("old")],
    ["a file that appeared", "other", null],
    ["a file that went", null, sha256("old")],
  ])("refuse %s and leave no temporary file", async (_name, there, expected) => {
    if (there !== null) put("a", there);
    await expect(writeAtomic(at("a"), Buffer.from("new"), { expected })).rejects.toMatchObject({ code: "conflict" });
    expect(readdirSync(base)).toEqual(there === null ? [] : ["a"]);
    if (there !== null) expect(read("a")).toBe(there);
    if (expected !== null) await expect(removeFile(at("a"), expected)).rejects.toMatchObject({ code: "conflict" });
  });

  it("refuse a read-only file", async () => {
    put("a", "old");
    chmodSync(join(base, "a"), 0o444);
    await expect(writeAtomic(at("a"), Buffer.from("new"), { expected: sha256("old") })).rejects.toThrow(/read-only/);
    expect(read("a")).toBe("old");
  });

  it("refuse a link in place of the file or its folder", async () => {
    put("target", "outside");
    mkdirSync(join(base, "real"));
    symlinkSync("target", join(base, "link"));
    symlinkSync("real", join(base, "folder"));
    await expect(writeAtomic(at("link"), Buffer.from("x"), { expected: sha256("outside") })).rejects.toMatchObject({ code: "conflict" });
    await expect(readWhole(at("link"), 100)).rejects.toMatchObject({ code: "denied" });
    await expect(writeAtomic(at("folder/new"), Buffer.from("x"), { expected: null })).rejects.toThrow();
    expect(read("target")).toBe("outside");
    expect(readdirSync(join(base, "real"))).toEqual([]);
  });

  it.runIf(process.platform === "linux")("refuse a folder higher up that leads elsewhere now", async () => {
    mkdirSync(join(base, "proj/dir"), { recursive: true });
    mkdirSync(join(base, "evil/dir"), { recursive: true });
    writeFileSync(join(base, "evil/dir/a"), "evil");
    renameSync(join(base, "proj"), join(base, "moved"));
    symlinkSync("evil", join(base, "proj"));
    await expect(writeAtomic(at("proj/dir/new"), Buffer.from("x"), { expected: null })).rejects.toMatchObject({ code: "denied" });
    await expect(writeAtomic(at("proj/fresh/new"), Buffer.from("x"), { expected: null })).rejects.toThrow();
    await expect(openForReading(at("proj/dir/a"))).rejects.toMatchObject({ code: "denied" });
    await expect(removeFile(at("proj/dir/a"), sha256("evil"))).rejects.toMatchObject({ code: "denied" });
    expect(readdirSync(join(base, "evil"), { recursive: true })).toEqual(["dir", join("dir", "a")]);
  });

  /** The writer, in threads of its own, may make the folder it misses at any moment: then it is removed again. */
  function replaceFolder(from: string, to: string): void {
    for (;;) {
      rmSync(to, { recursive: true, force: true });
      try {
        renameSync(from, to);
        return;
      } catch (error) {
        if (!["EISDIR", "ENOTEMPTY", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
      }
    }
  }

  it.runIf(process.platform === "linux")("never write outside while folders are swapped under them", async () => {
    mkdirSync(join(base, "proj/dir"), { recursive: true });
    mkdirSync(join(base, "evil"));
    const dir = join(base, "proj/dir");
    let written = 0;
    let refused = 0;
    for (let round = 0; round < 60; round++) {
      const writing = writeAtomic(at(`proj/dir/f${round}`), Buffer.from("x"), { expected: null }).then(
        () => written++,
        () => refused++,
      );
      const away = `${dir}-away`;
      for (let swap = 0; swap < 4; swap++) {
        renameSync(dir, away);
        symlinkSync("../evil", `${dir}-link`);
        replaceFolder(`${dir}-link`, dir);
        await new Promise(setImmediate);
        replaceFolder(away, dir);
        await new Promise(setImmediate);
      }
      await writing;
    }
    expect(written + refused).toBe(60);
    expect(readdirSync(join(base, "evil"))).toEqual([]);
    expect(readdirSync(dir).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("refuse folders, and files above the limit", async () => {
    mkdirSync(join(base, "d"));
    put("big", "123456");
    await expect(openForReading(at("d"))).rejects.toThrow(/folder/);
    await expect(readWhole(at("big"), 5)).rejects.toMatchObject({ code: "too_large" });
    expect(await readWhole(at("none"), 5)).toBeNull();
    expect(existsSync(join(base, "none"))).toBe(false);
  });

  it.each(["EACCES", "EROFS", "ENOSPC", "EXDEV", "ETXTBSY", "ENAMETOOLONG", "EBUSY"])("have a message for %s", (code) => {
    const worded = fileError(Object.assign(new Error(`${code}: raw /secret/place`), { code }), "a.txt");
    expect(worded.message).toContain("a.txt");
    expect(worded.message).not.toMatch(/raw|secret/);
    expect(worded.code).not.toBe("internal");
  });

  it("have a message for a real system failure", async () => {
    await expect(writeAtomic(at("n".repeat(300)), Buffer.from("x"), { expected: null })).rejects.toThrow(/too long/);
    put("file", "x");
    await expect(writeAtomic(at("file/below"), Buffer.from("x"), { expected: null })).rejects.toMatchObject({ code: "not_found" });
  });
});
