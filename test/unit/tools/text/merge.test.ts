import * as fc from "fast-check";
import { diff3Merge } from "node-diff3";
import { describe, expect, it } from "vitest";
import { applyHunks, computeHunks } from "../../../../agent-server/tools/text/hunks.ts";
import { splitLines } from "../../../../agent-server/tools/text/lines.ts";
import { mergeFiles, mergeTexts } from "../../../../agent-server/tools/text/merge.ts";

const lines = fc.array(fc.constantFrom("a\n", "b\n", "c\n", "d\n", "\n"), { maxLength: 14 });
const texts = fc.tuple(lines, fc.constantFrom("", "end")).map(([all, end]) => all.join("") + end);

describe("hunks", () => {
  it("of any two texts, all taken give the second and none the first", () => {
    fc.assert(
      fc.property(texts, texts, (from, to) => {
        const hunks = computeHunks(from, to);
        expect(applyHunks(from, to, hunks, () => true)).toBe(to);
        expect(applyHunks(from, to, hunks, () => false)).toBe(from);
        for (const [index, hunk] of hunks.entries()) {
          expect(hunk.index).toBe(index);
          const before = hunks[index - 1];
          if (before !== undefined) expect(hunk.oldStart).toBeGreaterThan(before.oldStart + before.oldLines - 1);
        }
      }),
    );
  });
});

describe("three-way merge", () => {
  it("never differs from what diff3 makes of a clean merge", () => {
    fc.assert(
      fc.property(texts, texts, texts, (base, ours, theirs) => {
        const merged = mergeTexts(base, ours, theirs);
        if (merged === null) return;
        // Where one side made two equal edits in a row diff3 may place them elsewhere; then ours must still hold both sides' lines.
        const regions = diff3Merge(splitLines(ours), splitLines(base), splitLines(theirs), { excludeFalseConflicts: true });
        if (regions.some((region: { conflict?: unknown }) => region.conflict !== undefined)) return;
        const expected = regions.flatMap((region: { ok?: string[] }) => region.ok ?? []).join("");
        if (merged !== expected) expect(splitLines(merged).toSorted()).toEqual(splitLines(expected).toSorted());
      }),
    );
  });

  it("does not mind which side is which", () => {
    fc.assert(
      fc.property(texts, texts, texts, (base, a, b) => {
        expect(mergeTexts(base, a, b)).toBe(mergeTexts(base, b, a));
      }),
    );
  });

  it.each<[string, string | null, string | null, string | null, { text: string | null } | null]>([
    ["both left it", "a\n", "a\n", "a\n", { text: "a\n" }],
    ["edits apart", "a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", { text: "A\nb\nC\n" }],
    ["the same edit", "a\nb\n", "A\nb\n", "A\nb\n", { text: "A\nb\n" }],
    ["edits of one line", "a\n", "A\n", "B\n", null],
    ["edits of neighbouring lines", "a\nb\n", "A\nb\n", "a\nB\n", null],
    ["insertions at one place", "a\nb\n", "a\nx\nb\n", "a\ny\nb\n", null],
    ["deleted here, left there", "a\n", null, "a\n", { text: null }],
    ["deleted here, edited there", "a\n", null, "b\n", null],
    ["made on both sides, alike", null, "a\n", "a\n", { text: "a\n" }],
    ["made on both sides, differently", null, "a\n", "b\n", null],
    ["appended to a text without a last newline", "a\nb\nc\nd", "X\nb\nc\nd", "a\nb\nc\nd\ne", { text: "X\nb\nc\nd\ne" }],
  ])("%s", (_name, base, ours, theirs, expected) => {
    expect(mergeFiles(base, ours, theirs)).toEqual(expected);
  });

  it("takes a large file in its stride", () => {
    const all = Array.from({ length: 100_000 }, (_, index) => (index % 4 === 0 ? "}\n" : `line ${index}\n`));
    const ours = all.with(10, "mine\n").join("");
    const theirs = all.with(99_990, "theirs\n").join("");
    expect(mergeTexts(all.join(""), ours, theirs)).toBe(all.with(10, "mine\n").with(99_990, "theirs\n").join(""));
  });
});
