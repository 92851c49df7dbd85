// @vitest-environment jsdom
import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { partsText, roundUp, segmentsOf } from "../../../webviews/war-room/charts.tsx";
import { dayColumns, tierParts, verdictParts } from "../../../webviews/war-room/governance/governance-state.ts";
import { diffLines } from "../../../webviews/war-room/soul/soul-state.ts";

const count = fc.integer({ min: 0, max: 1_000_000 });

describe("shares of a bar", () => {
  it("lie side by side, in order, and fill the whole", () => {
    fc.assert(
      fc.property(count, count, count, count, (T0, T1, T2, T3) => {
        const parts = tierParts({ T0, T1, T2, T3 });
        const whole = T0 + T1 + T2 + T3;
        const segments = segmentsOf(parts, whole);
        let from = 0;
        for (const segment of segments) {
          expect(segment.from).toBeCloseTo(from, 9);
          expect(segment.share).toBeGreaterThan(0);
          from += segment.share;
        }
        expect(segments.length).toBe(parts.filter(({ value }) => value > 0).length);
        if (whole > 0) expect(from).toBeCloseTo(1, 9);
      }),
    );
  });

  it("no two parts have the same pattern, so that the color is never needed", () => {
    for (const parts of [tierParts({}), verdictParts({})]) expect(new Set(parts.map(({ pattern }) => pattern)).size).toBe(parts.length);
  });

  it("says its numbers in words", () => {
    expect(partsText(verdictParts({ allow: 12, deny: 1 }))).toMatch(/^\S+ 12, \S+ 1$/);
  });
});

test("the top of an axis is a round whole number that nothing passes", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000_000 }), (n) => {
      const top = roundUp(n);
      expect(top).toBeGreaterThanOrEqual(n);
      expect(top).toBeLessThanOrEqual(Math.max(1, n * 2));
      expect(Number.isInteger(top)).toBe(true);
    }),
  );
  expect([0, 1, 7, 12, 201, 451].map(roundUp)).toEqual([1, 1, 8, 15, 250, 500]);
});

test("every day has a column, the last one today, whatever days had decisions", () => {
  const byDay = [
    { day: "2026-02-27", byTier: {}, byVerdict: { allow: 3 } },
    { day: "2026-03-02", byTier: {}, byVerdict: { ask: 1, deny: 2 } },
    { day: "2020-01-01", byTier: {}, byVerdict: { allow: 99 } },
  ];
  const columns = dayColumns(byDay, 7, "2026-03-02", (day) => day);
  expect(columns.map(({ label }) => label)).toEqual([
    ...["2026-02-24", "2026-02-25", "2026-02-26", "2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"],
  ]);
  expect(columns.map(({ parts }) => parts.map(({ value }) => value).join(" "))).toEqual([
    ...["0 0 0", "0 0 0", "0 0 0", "3 0 0", "0 0 0", "0 0 0", "0 1 2"],
  ]);
});

test.each([
  ["--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", ["@@ -1 +1 @@", "-x", "+y"]],
  ["Index: soul\n===\n--- a\n+++ b\n@@ -1 +1 @@\n--- still text\n", ["@@ -1 +1 @@", "--- still text"]],
  ["", []],
])("of the diff %j the headings are left out", (diff, lines) => {
  expect(diffLines(diff)).toEqual(lines);
});
