import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AskEditor } from "../../../agent-server/contract/editor.ts";
import { openForReading, readWhole } from "../../../agent-server/workspace/file-operations.ts";
import { decodeText } from "../../../agent-server/workspace/text/encoding.ts";
import { createToolsFixture, snapshotTree, type ToolsFixture } from "../../support/tools-fixture.ts";

let fixture: ToolsFixture;
beforeEach(() => {
  fixture = createToolsFixture({ posture: "autonomous" });
});
afterEach(() => fixture.close());

const edit = (path: string, old_text: string, new_text: string) => fixture.run("edit_file", { path, old_text, new_text });

describe("links", () => {
  it("within the workspace are followed by writes and stay links", async () => {
    fixture.write("src/real.txt", "one\n");
    symlinkSync("src/real.txt", fixture.path("link.txt"));
    symlinkSync("link.txt", fixture.path("chain.txt"));
    expect((await edit("chain.txt", "one", "two")).isError).toBe(false);
    expect([fixture.read("src/real.txt"), readlinkSync(fixture.path("link.txt")), readlinkSync(fixture.path("chain.txt"))]).toEqual([
      "two\n",
      "src/real.txt",
      "link.txt",
    ]);
  });

  it("to a missing file create their target", async () => {
    mkdirSync(fixture.path("src"));
    symlinkSync("src/later.txt", fixture.path("later"));
    expect((await fixture.run("write_file", { path: "later", content: "x\n" })).isError).toBe(false);
    expect([fixture.read("src/later.txt"), readlinkSync(fixture.path("later"))]).toEqual(["x\n", "src/later.txt"]);
  });

  it.each<[string, () => void]>([
    ["out of the workspace", () => symlinkSync("../outside.txt", fixture.path("link"))],
    [
      "in a circle",
      () => {
        symlinkSync("other", fixture.path("link"));
        symlinkSync("link", fixture.path("other"));
      },
    ],
    ["to themselves", () => symlinkSync("link", fixture.path("link"))],
    ["to a device", () => symlinkSync("/dev/null", fixture.path("link"))],
  ])("%s are refused without approval", async (_what, make) => {
    writeFileSync(join(fixture.workspace, "../outside.txt"), "outside\n");
    make();
    fixture.answer("deny");
    for (const [tool, args] of Object.entries({
      write_file: { path: "link", content: "x\n" },
      edit_file: { path: "link", old_text: "outside", new_text: "inside" },
      apply_patch: { patch: "--- a/link\n+++ b/link\n@@ -1 +1 @@\n-outside\n+inside\n" },
    }))
      expect([tool, (await fixture.run(tool, args)).isError]).toEqual([tool, true]);
    expect(readFileSync(join(fixture.workspace, "../outside.txt"), "utf8")).toBe("outside\n");
    expect(lstatSync(fixture.path("link")).isSymbolicLink()).toBe(true);
  });

  it("(hard links) are separated: the other name keeps the old content, with a note", async () => {
    const store = join(fixture.workspace, "../store.txt");
    writeFileSync(store, "shared\n");
    linkSync(store, fixture.path("a.txt"));
    const { text, isError, receiptId } = await edit("a.txt", "shared", "mine");
    expect([isError, text]).toEqual([false, expect.stringContaining("(a hard link)")]);
    expect([fixture.read("a.txt"), readFileSync(store, "utf8"), statSync(store).nlink]).toEqual(["mine\n", "shared\n", 1]);
    expect(fixture.ledger.get(receiptId ?? "")?.outputs).toMatchObject({ changedFiles: [{ path: "a.txt", otherNames: 1 }] });
    await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect([fixture.read("a.txt"), readFileSync(store, "utf8")]).toEqual(["shared\n", "shared\n"]);
  });

  it("(hard links) are separated also with an editor, which would write through", async () => {
    const asked: string[] = [];
    const askEditor = (async (name: string) => {
      asked.push(name);
      return name === "unsavedText" ? { text: null } : { applied: true, saved: true };
    }) as unknown as AskEditor;
    fixture.close();
    fixture = createToolsFixture({ posture: "autonomous", askEditor });
    const store = join(fixture.workspace, "../store.txt");
    writeFileSync(store, "shared\n");
    linkSync(store, fixture.path("a.txt"));
    expect((await edit("a.txt", "shared", "mine")).isError).toBe(false);
    expect([readFileSync(store, "utf8"), fixture.read("a.txt"), asked.includes("applyText")]).toEqual(["shared\n", "mine\n", false]);
  });
});

describe("a file that changes during an edit", () => {
  /** Something else happens between the look at the file and the write. */
  function meanwhile(act: () => void): void {
    fixture.close();
    let done = false;
    fixture = createToolsFixture({
      posture: "autonomous",
      wrap: (real) => ({
        ...real,
        redeem(authorization, intent) {
          real.redeem(authorization, intent);
          if (intent.action === "write" && !done) {
            done = true;
            act();
          }
        },
      }),
    });
    fixture.write("a.txt", "one\n");
  }

  it.each<[string, () => void, () => unknown, unknown]>([
    ["gone", () => unlinkSync(fixture.path("a.txt")), () => existsSync(fixture.path("a.txt")), false],
    ["changed", () => writeFileSync(fixture.path("a.txt"), "theirs\n"), () => fixture.read("a.txt"), "theirs\n"],
    [
      "a folder",
      () => {
        unlinkSync(fixture.path("a.txt"));
        mkdirSync(fixture.path("a.txt"));
      },
      () => statSync(fixture.path("a.txt")).isDirectory(),
      true,
    ],
    [
      "a link",
      () => {
        renameSync(fixture.path("a.txt"), fixture.path("b.txt"));
        symlinkSync("b.txt", fixture.path("a.txt"));
      },
      () => [readlinkSync(fixture.path("a.txt")), fixture.read("b.txt")],
      ["b.txt", "one\n"],
    ],
  ])("and becomes %s is not overwritten", async (_what, act, look, expected) => {
    meanwhile(act);
    const { isError, text } = await edit("a.txt", "one", "two");
    expect([isError, text]).toEqual([true, expect.stringContaining("a.txt")]);
    expect(look()).toEqual(expected);
    expect(readdirSync(fixture.workspace).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });
});

describe("permissions", () => {
  it("apply to other users than root, with a message and without partial files", () => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-permissions-")));
    const nobody = 65_534;
    const root = process.getuid?.() === 0;
    try {
      for (const folder of ["locked", "open"]) mkdirSync(join(base, folder));
      for (const path of ["locked/a.txt", "open/a.txt", "readonly.txt", "unreadable.txt"]) writeFileSync(join(base, path), "a\n");
      if (root)
        for (const path of ["", "open", "open/a.txt", "locked", "locked/a.txt", "readonly.txt", "unreadable.txt"])
          chownSync(join(base, path), nobody, nobody);
      chmodSync(join(base, "locked"), 0o555);
      chmodSync(join(base, "readonly.txt"), 0o444);
      chmodSync(join(base, "unreadable.txt"), 0o000);
      const before = root ? snapshotTree(join(base, "locked")) : null;
      const script = join(import.meta.dirname, "../../support/tools/other-user/main.ts");
      const said = execFileSync(process.execPath, [script, base, ...(root ? [String(nobody)] : [])], {
        encoding: "utf8",
        env: { PATH: process.env["PATH"] },
      });
      const denied = expect.stringContaining("The system does not permit this on");
      expect(JSON.parse(said)).toEqual({
        "new in a read-only folder": denied,
        "changed in a read-only folder": denied,
        "removed from a read-only folder": denied,
        "a read-only file": expect.stringContaining("readonly.txt is read-only. Make it writable first"),
        "an unreadable file": denied,
        "a new folder in a read-only one": denied,
        "an ordinary file": "done",
      });
      if (before !== null) expect(snapshotTree(join(base, "locked"))).toEqual(before);
      expect([readdirSync(join(base, "open")), readFileSync(join(base, "open/a.txt"), "utf8")]).toEqual([["a.txt"], "b\n"]);
    } finally {
      chmodSync(join(base, "locked"), 0o755);
      rmSync(base, { recursive: true, force: true });
    }
  });

  it.runIf(process.getuid?.() === 0)("keep the owner of a file that root edits", async () => {
    fixture.write("a.txt", "one\n");
    chownSync(fixture.path("a.txt"), 1234, 4321);
    chmodSync(fixture.path("a.txt"), 0o640);
    expect((await edit("a.txt", "one", "two")).isError).toBe(false);
    const { uid, gid, mode } = statSync(fixture.path("a.txt"));
    expect([uid, gid, mode & 0o7777]).toEqual([1234, 4321, 0o640]);
  });
});

describe("encodings of files", () => {
  const text = "caf\u00e9 \u20ac\r\nb\r\nlast";
  const latin = Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x20, 0x80, 0x0d, 0x0a, 0x62, 0x0d, 0x0a, 0x6c, 0x61, 0x73, 0x74]);
  const wide = (bom: string) => Buffer.from(bom + text, "utf16le");

  it.each<[string, Buffer]>([
    ["UTF-8", Buffer.from(text)],
    ["UTF-8 with a mark", Buffer.from(`\ufeff${text}`)],
    ["UTF-16 LE", wide("\ufeff")],
    ["UTF-16 BE", wide("\ufeff").swap16()],
    ["UTF-16 LE without a mark", wide("")],
    ["UTF-16 BE without a mark", wide("").swap16()],
    ["Windows-1252", latin],
  ])("%s and line endings are preserved by every edit tool", async (_name, bytes) => {
    const { encoding } = decodeText(bytes) ?? { encoding: null };
    const ways: [string, Record<string, unknown>][] = [
      ["edit_file", { path: "f.txt", old_text: "b\n", new_text: "B\nc\n" }],
      ["write_file", { path: "f.txt", content: text.replaceAll("\r\n", "\n").replace("b\n", "B\nc\n") }],
      ["apply_patch", { patch: "--- a/f.txt\n+++ b/f.txt\n@@ -2 +2,2 @@\n-b\n+B\n+c\n" }],
    ];
    for (const [tool, args] of ways) {
      fixture.write("f.txt", bytes);
      const outcome = await fixture.run(tool, args);
      expect([tool, outcome.isError, outcome.text]).toEqual([tool, false, expect.any(String)]);
      const after = decodeText(readFileSync(fixture.path("f.txt")));
      expect([tool, after]).toEqual([tool, { text: "caf\u00e9 \u20ac\r\nB\r\nc\r\nlast", encoding }]);
    }
  });

  it("refuse unsupported characters, immediately and under review", async () => {
    for (const posture of ["autonomous", "supervised"] as const) {
      fixture.governance.setPosture(posture);
      fixture.write("f.txt", latin);
      const { isError, text: said } = await edit("f.txt", "b", "\u2192");
      expect([isError, said]).toEqual([
        true,
        expect.stringContaining("f.txt: The file is in Windows-1252, which cannot hold \u201c\u2192\u201d (line 2)"),
      ]);
      expect(readFileSync(fixture.path("f.txt"))).toEqual(latin);
    }
    expect(fixture.tools.changes.list({ limit: 10 })).toEqual([]);
  });

  it("with arbitrary bytes change only in the edited line", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.constantFrom("\n", "\r\n"), async (noise, eol) => {
        const tail = Buffer.from(noise.filter((byte) => byte > 0x1f || byte === 9 || byte === 10));
        const bytes = Buffer.concat([Buffer.from(`first${eol}the line to edit${eol}`), tail]);
        fixture.write("n.txt", bytes);
        expect((await edit("n.txt", "the line to edit", "edited")).isError).toBe(false);
        expect(readFileSync(fixture.path("n.txt"))).toEqual(Buffer.concat([Buffer.from(`first${eol}edited${eol}`), tail]));
      }),
      { numRuns: 25 },
    );
  });

  it("keep mixed line endings of unchanged lines", async () => {
    fixture.write("m.txt", "a\r\nb\nc\r\nd\n");
    await fixture.run("write_file", { path: "m.txt", content: "a\nb\nC\nd\ne\n" });
    expect(fixture.read("m.txt")).toBe("a\r\nb\nC\r\nd\ne\n");
    await edit("m.txt", "a\nb\nC", "a\nnew\nb\nc");
    expect(fixture.read("m.txt")).toBe("a\r\nnew\nb\nc\r\nd\ne\n");
  });

  it.each<[string, Buffer, RegExp]>([
    [
      "an image",
      Buffer.from("89504e470d0a1a0a0000000d4948445200000010000000200802", "hex"),
      /a PNG image, 16×32 pixels \(26 bytes\), not a text file/,
    ],
    ["a program", Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0]), /a program \(12 bytes\), not a text file/],
    ["gzip", Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]), /gzip-compressed data/],
  ])("do not exist for %s, which is refused", async (_what, bytes, message) => {
    fixture.write("b.bin", bytes);
    for (const [tool, args] of Object.entries({
      edit_file: { path: "b.bin", old_text: "a", new_text: "b" },
      write_file: { path: "b.bin", content: "x" },
      apply_patch: { patch: "--- a/b.bin\n+++ b/b.bin\n@@ -1 +1 @@\n-a\n+b\n" },
    }))
      expect([tool, (await fixture.run(tool, args)).text]).toEqual([tool, expect.stringMatching(message)]);
    expect(readFileSync(fixture.path("b.bin"))).toEqual(bytes);
  });
});

describe("names that differ only in spelling", () => {
  it.runIf(process.platform === "linux")("are one file only where the disk says so", async () => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-names-")));
    try {
      mkdirSync(join(base, "Dir"));
      writeFileSync(join(base, "Dir/a.txt"), "x");
      // On a disk that minds case a link from one spelling to the other is a link, and not another spelling.
      symlinkSync("Dir", join(base, "dir"));
      await expect(openForReading({ absolute: join(base, "dir/a.txt"), display: "dir/a.txt" })).rejects.toMatchObject({ code: "denied" });
      expect((await readWhole({ absolute: join(base, "Dir/a.txt"), display: "Dir/a.txt" }, 10))?.bytes.toString()).toBe("x");
    } finally {
      rmSync(base, { recursive: true, force: true });
    }
  });

  it("are suggested when a file is not found under the other spelling", async () => {
    fixture.write("Cafe\u0301.txt", "x\n");
    const composed = await fixture.run("read_file", { path: "Caf\u00e9.txt" });
    const found = !composed.isError;
    // Some disks compose letters by themselves.
    if (!found) expect(composed.text).toContain(": Cafe\u0301.txt");
    const made = await fixture.run("write_file", { path: "Caf\u00e9.txt", content: "y\n" });
    expect([made.isError, readdirSync(fixture.workspace).length]).toEqual([!found, 1]);
    if (!found) expect(made.error?.code).toBe("conflict");
  });
});

describe("patches of several files", () => {
  const part = (path: string, from: string, to: string) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${from}\n+${to}\n`;

  it("write nothing when the third of five does not match", async () => {
    for (const name of ["1", "2", "3", "4", "5"]) fixture.write(name, `${name}\n`);
    const before = snapshotTree(fixture.workspace);
    const patch = ["1", "2", "3", "4", "5"].map((name) => part(name, name === "3" ? "other" : name, "new")).join("");
    const outcome = await fixture.run("apply_patch", { patch });
    expect([outcome.isError, outcome.text]).toEqual([true, expect.stringMatching(/^3: Hunk 1 /)]);
    expect(snapshotTree(fixture.workspace)).toEqual(before);
    expect(fixture.tools.checkpoints.list({ questId: "q1", limit: 5 })).toEqual([]);
  });

  it("create, delete, rename and set modes together; undo reverts all of it", async () => {
    fixture.answer("allow_once");
    fixture.write("old.sh", "#!/bin/sh\nexit 1\n");
    chmodSync(fixture.path("old.sh"), 0o755);
    fixture.write("plain.txt", "a\n");
    fixture.write("gone.txt", "x\n");
    chmodSync(fixture.path("plain.txt"), 0o640);
    const before = snapshotTree(fixture.workspace);
    const patch = [
      "diff --git a/old.sh b/new.sh\nsimilarity index 60%\nrename from old.sh\nrename to new.sh\n--- a/old.sh\n+++ b/new.sh\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-exit 1\n+exit 0\n",
      "diff --git a/plain.txt b/plain.txt\nold mode 100644\nnew mode 100755\n",
      "diff --git a/run.sh b/run.sh\nnew file mode 100755\n--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+true\n",
      "diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
      "diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n",
    ].join("");
    const outcome = await fixture.run("apply_patch", { patch });
    expect([outcome.isError, outcome.text]).toEqual([false, expect.stringContaining("Changed the mode of plain.txt")]);
    const mode = (path: string) => statSync(fixture.path(path)).mode & 0o777;
    expect([
      fixture.read("new.sh"),
      fixture.read("empty"),
      existsSync(fixture.path("old.sh")),
      existsSync(fixture.path("gone.txt")),
    ]).toEqual(["#!/bin/sh\nexit 0\n", "", false, false]);
    expect([mode("new.sh") & 0o100, mode("run.sh") & 0o100, mode("plain.txt")]).toEqual([0o100, 0o100, 0o750]);
    expect(await fixture.tools.verifications.settle("q1", { timeoutMs: 20_000 })).toBe(true);
    expect(fixture.tools.verifications.takeFailures("q1")).toBe("");
    expect((await fixture.tools.checkpoints.restore({ questId: "q1" })).conflicts).toEqual([]);
    expect(snapshotTree(fixture.workspace)).toEqual(before);
  });

  it("report a mode-only change that text review cannot show, and keep modes of proposals", async () => {
    fixture.governance.setPosture("supervised");
    fixture.write("a.txt", "a\n");
    const mode = "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n";
    expect((await fixture.run("apply_patch", { patch: mode })).error?.code).toBe("invalid_params");
    const both = `${mode}--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n`;
    expect((await fixture.run("apply_patch", { patch: both })).text).toMatch(/\bmode\b/);
  });

  it("report files that already have the new content", async () => {
    fixture.write("a.txt", "a\r\n");
    expect((await fixture.run("apply_patch", { patch: "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+a\n" })).text).toContain(
      "The patch changes nothing",
    );
  });

  it("do not rename a file to another spelling of itself", async () => {
    fixture.write("b.txt", "b\n");
    symlinkSync("b.txt", fixture.path("B.txt"));
    const patch = "diff --git a/b.txt b/B.txt\nsimilarity index 100%\nrename from b.txt\nrename to B.txt\n";
    expect((await fixture.run("apply_patch", { patch })).text).toContain("are the same file on this disk");
    expect(fixture.read("b.txt")).toBe("b\n");
  });
});
