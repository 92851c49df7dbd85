import { createTwoFilesPatch } from "diff";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyFilePatch, parseFilePatches } from "../../../../agent-server/tools/text/patch.ts";

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
  ])("tolerate %s", (_name, text, hunks, expected) => {
    expect(apply(text, header + hunks)).toEqual({ ok: true, text: expected });
  });

  it.each<[string, string, string, RegExp]>([
    ["content that differs", "1\n2\n3\n", "@@ -1,2 +1,2 @@\n 1\n-zwei\n+two\n", /Hunk 1 .*does not fit/],
    ["a place that is not clear", "x\na\nx\n\n\na\n", "@@ -4 +4 @@\n-a\n+b\n", /fits equally well at lines 2 and 6/],
    ["context out of order", "a\nb\n", "@@ -2 +2 @@\n-b\n+B\n@@ -1 +1 @@\n-a\n+A\n", /Hunk 2/],
  ])("refuse %s", (_name, text, hunks, expected) => {
    expect(apply(text, header + hunks)).toEqual({ ok: false, problem: expect.stringMatching(expected) });
  });

  it("tells new, deleted and renamed files", () => {
    const patch =
      "diff --git a/old.txt b/new.txt\nsimilarity index 100%\nrename from old.txt\nrename to new.txt\ndiff --git a/made.txt b/made.txt\nnew file mode 100644\n--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1 @@\n+x\ndiff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    expect(parseFilePatches(patch).map(({ from, to }) => [from, to])).toEqual([
      ["old.txt", "new.txt"],
      [null, "made.txt"],
      ["gone.txt", null],
    ]);
  });

  it.each([
    ["another format", "*** Begin Patch\n*** Update File: a\n", /not a unified diff/],
    ["no files", "just words", /names no file/],
  ])("say what is wrong with %s", (_name, patch, expected) => {
    expect(() => parseFilePatches(patch)).toThrow(expected);
  });
});
