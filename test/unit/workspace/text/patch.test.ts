import { createTwoFilesPatch } from "diff";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyFilePatch, parseFilePatches } from "../../../../agent-server/workspace/text/patch.ts";
import { runs } from "../../../support/soak.ts";

const apply = (text: string, patch: string) => applyFilePatch(text, parseFilePatches(patch)[0]?.hunks ?? []);
const header = "--- a/f\n+++ b/f\n";

describe("patches", () => {
  it("of any two texts, applied to the first give the second", () => {
    const texts = fc
      .tuple(fc.array(fc.constantFrom("a", "b", "c", "", "- x", "+ y"), { maxLength: 14 }), fc.constantFrom("", "end"))
      .map(([lines, end]) => lines.map((line) => `${line}\n`).join("") + end);
    fc.assert(
      fc.property(texts, texts, fc.integer({ min: 0, max: 4 }), (from, to, context) => {
        fc.pre(from !== to);
        const patch = createTwoFilesPatch("a/f", "b/f", from, to, undefined, undefined, { context });
        expect(apply(from, patch)).toEqual({ ok: true, text: to });
      }),
    );
  });

  it("parse git's output for several files", () => {
    const texts = fc.array(fc.constantFrom("a", "b", "-- x", "++ y", "", "@ z", "diff"), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(fc.tuple(texts, texts), { minLength: 2, maxLength: 4 }), (files) => {
        const changed = files.filter(([from, to]) => from.join("\n") !== to.join("\n"));
        fc.pre(changed.length > 0);
        const text = (lines: readonly string[]) => `${lines.join("\n")}\n`;
        const patch = changed.map(([from, to], index) => createTwoFilesPatch(`a/f${index}`, `b/f${index}`, text(from), text(to))).join("");
        const parsed = parseFilePatches(patch);
        expect(parsed.map(({ to }) => to)).toEqual(changed.map((_, index) => `f${index}`));
        for (const [index, [from, to]] of changed.entries())
          expect(applyFilePatch(text(from), parsed[index]?.hunks ?? [])).toEqual({ ok: true, text: text(to) });
      }),
      { numRuns: runs(125, 500) },
    );
  });

  it.each<[string, string, string, string]>([
    ["line numbers that are off", "0\n1\n2\n3\n4\n5\n", "@@ -1,3 +1,3 @@\n 3\n-4\n+four\n 5\n", "0\n1\n2\n3\nfour\n5\n"],
    ["wrong counts", "1\n2\n3\n", "@@ -1,9 +1,7 @@\n 1\n-2\n+two\n 3\n", "1\ntwo\n3\n"],
    ["headers without numbers", "1\n2\n3\n", "@@\n 1\n-2\n+two\n", "1\ntwo\n3\n"],
    ["CRLF in the file, LF in the patch", "1\r\n2\r\n3\r\n", "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n", "1\r\ntwo\r\n3\r\n"],
    ["CRLF in the patch, LF in the file", "1\n2\n3\n", "@@ -1,3 +1,3 @@\r\n 1\r\n-2\r\n+two\r\n 3\r\n", "1\ntwo\n3\n"],
    ["an empty context line that lost its blank", "1\n\n2\n", "@@ -1,3 +1,3 @@\n 1\n\n-2\n+two\n", "1\n\ntwo\n"],
    [
      "later hunks shifted by earlier ones",
      "a\nb\nc\nd\ne\n",
      "@@ -1,1 +1,3 @@\n a\n+1\n+2\n@@ -5,1 +7,1 @@\n-e\n+E\n",
      "a\n1\n2\nb\nc\nd\nE\n",
    ],
    ["a newline added at the end", "a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", "a\n"],
    ["a newline taken from the end", "a\n", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", "a"],
    ["lines added after a last line without newline", "a", "@@ -1 +1,2 @@\n a\n+b\n", "a\nb\n"],
    [
      "another indentation, at one place alone",
      "\tif (x) {\n\t\ty();\n\t}\n",
      "@@ -1,3 +1,3 @@\n   if (x) {\n-    y();\n+    z();\n   }\n",
      "\tif (x) {\n\t\tz();\n\t}\n",
    ],
    [
      "context lines without their blank",
      "class A {\nint x;\nint y;\n}\n",
      "@@ -1,4 +1,4 @@\nclass A {\nint x;\n-int y;\n+int z;\n}\n",
      "class A {\nint x;\nint z;\n}\n",
    ],
    ["mixed line ends: lines keep theirs, new ones take over", "a\r\nb\nc\r\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\r\nB\nc\r\n"],
    ["removed and added lines that look like headers", "x\n-- old\ny\n", "@@ -1,3 +1,3 @@\n x\n--- old\n+++ new\n y\n", "x\n++ new\ny\n"],
    ["a fence and words around it", "1\n", "@@ -1 +1 @@\n-1\n+one\n```\nThat is all.\n", "one\n"],
    ["no context, at the line that is named", "1\n2\n", "@@ -1,0 +2,1 @@\n+new\n", "1\nnew\n2\n"],
    ["both sides without a last newline", "a\nb", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n", "A\nb"],
    ["words after the header", "1\n2\n", "@@ -1,2 +1,2 @@ function of two\n 1\n-2\n+two\n", "1\ntwo\n"],
    ["blank lines between hunks", "1\n\n2\n3\n", "@@ -1,1 +1,1 @@\n-1\n+one\n\n@@ -4,1 +4,1 @@\n-3\n+three\n\n", "one\n\n2\nthree\n"],
  ])("tolerate %s", (_name, text, hunks, expected) => {
    expect(apply(text, header + hunks)).toEqual({ ok: true, text: expected });
  });

  it.each<[string, string, string, RegExp]>([
    ["content that differs", "1\n2\n3\n", "@@ -1,2 +1,2 @@\n 1\n-zwei\n+two\n", /^Hunk 1 /],
    ["a place that is not clear", "x\na\nx\n\n\na\n", "@@ -4 +4 @@\n-a\n+b\n", /lines 2 and 6/],
    ["a place that is only the nearer of two", "a\nx\n\n\n\nx\n", "@@ -3 +3 @@\n-x\n+y\n", /lines 2 and 6/],
    ["a header without numbers where two places fit", "x\na\nx\n", "@@\n-x\n+y\n", /lines 1 and 3/],
    ["another indentation at two places", "  a();\n\n    a();\n", "@@ -1 +1 @@\n-\ta();\n+\tb();\n", /lines 1 and 3/],
    ["no context and no line", "1\n2\n", "@@\n+new\n", /^Hunk 1 .*without context/],
    ["context out of order", "a\nb\n", "@@ -2 +2 @@\n-b\n+B\n@@ -1 +1 @@\n-a\n+A\n", /Hunk 2/],
  ])("refuse %s", (_name, text, hunks, expected) => {
    expect(apply(text, header + hunks)).toEqual({ ok: false, problem: expect.stringMatching(expected) });
  });

  it("distinguish new, deleted and renamed files", () => {
    const patch =
      "diff --git a/old.txt b/new.txt\nsimilarity index 100%\nrename from old.txt\nrename to new.txt\ndiff --git a/made.txt b/made.txt\nnew file mode 100644\n--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1 @@\n+x\ndiff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    expect(parseFilePatches(patch).map(({ from, to }) => [from, to])).toEqual([
      ["old.txt", "new.txt"],
      [null, "made.txt"],
      ["gone.txt", null],
    ]);
  });

  it.each<[string, string, [string | null, string | null][]]>([
    ["no prefixes", "--- src/f\n+++ src/f\n@@ -1 +1 @@\n-a\n+b\n", [["src/f", "src/f"]]],
    ["one prefix", "--- src/f\n+++ b/src/f\n@@ -1 +1 @@\n-a\n+b\n", [["src/f", "src/f"]]],
    ["the same prefix twice", "--- a/src/f\n+++ a/src/f\n@@ -1 +1 @@\n-a\n+b\n", [["src/f", "src/f"]]],
    ["a folder called a", "--- a/kept\n+++ a/kept\n@@ -1 +1 @@\n-a\n+b\n", [["a/kept", "a/kept"]]],
    ["times after names", "--- a/f\t2026-01-01 00:00:00\n+++ b/f\t2026-01-02 00:00:00\n@@ -1 +1 @@\n-a\n+b\n", [["f", "f"]]],
    [
      "blanks in names",
      "diff --git a/my file b/my file\n--- a/my file\t\n+++ b/my file\t\n@@ -1 +1 @@\n-a\n+b\n",
      [["my file", "my file"]],
    ],
    [
      "quoted names",
      '--- "a/t\\303\\251st \\"x\\".txt"\n+++ "b/t\\303\\251st \\"x\\".txt"\n@@ -1 +1 @@\n-a\n+b\n',
      [['t\u00e9st "x".txt', 't\u00e9st "x".txt']],
    ],
    ["an empty new file", "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n", [[null, "e"]]],
    [
      "a mail around it",
      "From 1234 Mon Sep 17\nSubject: [PATCH] x\n\n- a list\n---\n f | 2 +-\n\ndiff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n-- \n2.39.5\n",
      [["f", "f"]],
    ],
    ["a rename in CRLF", "diff --git a/x b/y\r\nsimilarity index 100%\r\nrename from x\r\nrename to y\r\n", [["x", "y"]]],
  ])("read names of %s", (_name, patch, expected) => {
    expect(parseFilePatches(patch, (path) => path === "a/kept").map(({ from, to }) => [from, to])).toEqual(expected);
  });

  it.each<[string, string, boolean | null]>([
    ["a new file", "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n", null],
    ["a new script", "diff --git a/f b/f\nnew file mode 100755\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n", true],
    ["a mode alone", "diff --git a/f b/f\nold mode 100755\nnew mode 100644\n", false],
  ])("read the mode of %s", (_name, patch, executable) => {
    expect(parseFilePatches(patch)).toMatchObject([{ executable }]);
  });

  it.each([
    ["a hunk without a file", "@@ -1 +1 @@\n-a\n+b\n", /Line 1 of the patch: a hunk without a file/],
    ["a file without a hunk", "--- a/f\n+++ b/f\n", /Line 1 of the patch: f has no @@ hunk/],
    ["a hunk that changes nothing", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n a\n", /Line 3 of the patch: the hunk changes nothing/],
    ["lines behind the end of a hunk", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\nwords\n+lost\n", /Line 7 of the patch belongs to no hunk/],
    ["two names", "--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", /names two files, f and g/],
    ["a symbolic link", "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n", /symbolic link/],
    ["a submodule", "diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit 1\n", /submodule/],
    ["a binary file", "diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIc\n", /Line 3 of the patch: .*binary/],
    ["binary files named alone", "diff --git a/f b/f\nindex 1..2 100644\nBinary files a/f and b/f differ\n", /binary/],
    ["a copy", "diff --git a/f b/g\ncopy from f\ncopy to g\n", /copies are not supported/],
    ["the diff of a merge", "--- a/f\n+++ b/f\n@@@ -1 -1 +1 @@@\n- a\n++b\n", /diff of a merge/],
    ["nothing on both sides", "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", /\/dev\/null on both sides/],
    ["another format", "*** Begin Patch\n*** Update File: a\n", /not a unified diff/],
    ["no files", "just words", /names no file/],
  ])("report the problem with %s", (_name, patch, expected) => {
    expect(() => parseFilePatches(patch)).toThrow(expected);
  });
});
