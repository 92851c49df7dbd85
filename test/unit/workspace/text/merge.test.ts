import * as fc from "fast-check";
import { diff3Merge } from "node-diff3";
import { describe, expect, it } from "vitest";
import { applyHunks, computeHunks, lineEdits } from "../../../../agent-server/workspace/text/hunks.ts";
import { splitLines } from "../../../../agent-server/workspace/text/lines.ts";
import { mergeFiles, mergeTexts } from "../../../../agent-server/workspace/text/three-way-merge.ts";
import { runs } from "../../../support/soak.ts";

const lines = fc.array(fc.constantFrom("a\n", "b\n", "c\n", "d\n", "\n"), { maxLength: 14 });
const texts = fc.tuple(lines, fc.constantFrom("", "end")).map(([all, end]) => all.join("") + end);

describe("hunks", () => {
  it("of any two texts: applying all gives the second, applying none the first", () => {
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
  it("equals diff3 for clean merges", () => {
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

  /** Two edits of one text whose every line is told apart, so that nothing can be lost unseen. */
  const sides = fc.tuple(fc.integer({ min: 1, max: 20 }), fc.constantFrom("\n", "\r\n"), fc.boolean()).chain(([length, eol, closed]) => {
    const base = Array.from({ length }, (_, index) => `base ${index}${closed || index < length - 1 ? eol : ""}`);
    const step = fc.record({
      at: fc.nat(length),
      remove: fc.nat({ max: 3 }),
      add: fc.nat({ max: 3 }),
    });
    const side = (name: string) =>
      fc.array(step, { maxLength: 4 }).map((steps) => {
        const lines = [...base];
        const made: string[] = [];
        for (const [number, { at, remove, add }] of steps.entries()) {
          const fresh = Array.from({ length: add }, (_, index) => `${name} ${number} ${index}${eol}`);
          made.push(...fresh);
          lines.splice(Math.min(at, lines.length), remove, ...fresh);
        }
        const present = lines.map((line, index) => (index < lines.length - 1 && !line.endsWith("\n") ? line + eol : line));
        return { lines: present, made: made.filter((line) => present.includes(line)) };
      });
    return fc.tuple(fc.constant(base), side("ours"), side("theirs"));
  });

  it("keeps every added line and restores no removed one", () => {
    const plain = (line: string) => line.replace(/\r?\n$/, "");
    let merges = 0;
    let conflicts = 0;
    fc.assert(
      fc.property(sides, ([base, ours, theirs]) => {
        const text = mergeTexts(base.join(""), ours.lines.join(""), theirs.lines.join(""));
        if (text === null) {
          conflicts += 1;
          return;
        }
        merges += 1;
        const merged = splitLines(text).map(plain);
        for (const line of [...ours.made, ...theirs.made]) expect(merged.filter((one) => one === plain(line))).toHaveLength(1);
        for (const line of base) {
          const stays = [ours, theirs].every((side) => side.lines.some((one) => plain(one) === plain(line)));
          expect([line, merged.filter((one) => one === plain(line)).length]).toEqual([line, stays ? 1 : 0]);
        }
        // The lines of each side are in the order in which that side has them.
        for (const side of [ours, theirs]) {
          const order = side.lines.map(plain);
          const kept = merged.filter((line) => order.includes(line));
          expect(kept).toEqual(order.filter((line) => kept.includes(line)));
        }
      }),
      { numRuns: runs(750, 3000) },
    );
    // Both came up often enough for this to say something.
    expect(Math.min(merges, conflicts)).toBeGreaterThan(300);
  });

  it("conflicts only where both sides edited adjacent lines", () => {
    fc.assert(
      fc.property(sides, ([base, ours, theirs]) => {
        if (mergeTexts(base.join(""), ours.lines.join(""), theirs.lines.join("")) !== null) return;
        const [left, right] = [ours, theirs].map((side) => lineEdits(base, side.lines));
        expect((left ?? []).some((a) => (right ?? []).some((b) => a.from <= b.to && b.from <= a.to))).toBe(true);
      }),
      { numRuns: runs(250, 1000) },
    );
  });

  it("is symmetric", () => {
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

  it("merges a large file quickly", () => {
    const all = Array.from({ length: 100_000 }, (_, index) => (index % 4 === 0 ? "}\n" : `line ${index}\n`));
    const ours = all.with(10, "mine\n").join("");
    const theirs = all.with(99_990, "theirs\n").join("");
    expect(mergeTexts(all.join(""), ours, theirs)).toBe(all.with(10, "mine\n").with(99_990, "theirs\n").join(""));
  });
});
