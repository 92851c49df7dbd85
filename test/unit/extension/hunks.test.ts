import { structuredPatch } from "diff";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Hunk } from "../../../agent-server/contract/changes.ts";
import { countDiff, hunkAt, isOpen, neighbour, placeHunks } from "../../../extension/review/hunks.ts";

/** Hunks between two texts, as a proposal has them. */
function hunksOf(before: string, after: string, context: number): Hunk[] {
  const patch = structuredPatch("a", "b", before, after, "", "", { context });
  return patch.hunks.map((hunk, index) => ({
    ...hunk,
    index,
    lines: hunk.lines.filter((line) => !line.startsWith("\\")),
    state: "pending",
  }));
}

/** `before` with the hunks that are not rejected. */
function textOf(before: readonly string[], hunks: readonly Hunk[]): string[] {
  const result: string[] = [];
  let at = 0;
  for (const hunk of hunks) {
    const start = hunk.oldStart - 1;
    result.push(...before.slice(at, start));
    const away = hunk.state === "rejected" ? "+" : "-";
    result.push(...hunk.lines.filter((line) => !line.startsWith(away)).map((line) => line.slice(1)));
    at = start + hunk.oldLines;
  }
  return [...result, ...before.slice(at)];
}

const lines = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}`);
const edited = (() => {
  const after = lines(40);
  after[2] = "third";
  after.splice(10, 0, "new one", "new two");
  after.splice(22, 3);
  after[30] = "later";
  return after;
})();
const proposal = () => hunksOf(`${lines(40).join("\n")}\n`, `${edited.join("\n")}\n`, 0);

describe("places of hunks", () => {
  test("in the proposed text with all of them", () => {
    expect(placeHunks(proposal(), edited.join("\n")).map(({ start, end }) => [start, end])).toEqual([
      [2, 3],
      [10, 12],
      [22, 22],
      [30, 31],
    ]);
  });

  test.each([
    [
      [1],
      [
        [2, 3],
        [10, 10],
        [20, 20],
        [28, 29],
      ],
    ],
    [
      [2],
      [
        [2, 3],
        [10, 12],
        [22, 25],
        [33, 34],
      ],
    ],
    [
      [0, 1, 2],
      [
        [2, 3],
        [10, 10],
        [20, 23],
        [31, 32],
      ],
    ],
  ])("after hunks %j were rejected", (rejected, places) => {
    const hunks = proposal().map((hunk) => (rejected.includes(hunk.index) ? { ...hunk, state: "rejected" as const } : hunk));
    const shown = textOf(lines(40), hunks).join("\n");
    expect(placeHunks(hunks, shown).map(({ start, end }) => [start, end])).toEqual(places);
  });

  test("any texts, any context, any decisions: a hunk's place holds its lines", () => {
    const file = fc.array(fc.constantFrom("a", "b", "c", "d"), { minLength: 1, maxLength: 25 });
    fc.assert(
      fc.property(
        file,
        file,
        fc.integer({ min: 0, max: 3 }),
        fc.infiniteStream(fc.constantFrom("pending", "accepted", "rejected")),
        (before, after, context, states) => {
          const hunks = hunksOf(`${before.join("\n")}\n`, `${after.join("\n")}\n`, context).map(
            (hunk): Hunk => ({ ...hunk, state: states.next().value as Hunk["state"] }),
          );
          const shown = textOf(before, hunks);
          for (const place of placeHunks(hunks, shown.join("\n"))) {
            const hunk = hunks.find(({ index }) => index === place.index);
            const away = place.state === "rejected" ? "+" : "-";
            const body = hunk?.lines ?? [];
            const first = body.findIndex((line) => !line.startsWith(" "));
            const last = body.findLastIndex((line) => !line.startsWith(" "));
            const wanted = body
              .slice(first, last + 1)
              .filter((line) => !line.startsWith(away))
              .map((line) => line.slice(1));
            expect(shown.slice(place.start, place.end)).toEqual(wanted);
          }
        },
      ),
    );
  });

  test("where the file moved beneath the proposal, the nearest place with its lines", () => {
    const shifted = ["a line of the owner", "and another", ...edited];
    expect(placeHunks(proposal(), shifted.join("\n")).map(({ start, end }) => [start, end])).toEqual([
      [4, 5],
      [12, 14],
      [24, 24],
      [32, 33],
    ]);
  });

  test("in a new file and in a deleted one", () => {
    expect(placeHunks(hunksOf("", "one\ntwo\n", 0), "one\ntwo\n")).toMatchObject([{ start: 0, end: 2, added: 2, removed: 0 }]);
    expect(placeHunks(hunksOf("one\ntwo\n", "", 0), "")).toMatchObject([{ start: 0, end: 0, added: 0, removed: 2 }]);
  });

  test("with Windows line ends", () => {
    const hunks = hunksOf("a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n", 0);
    expect(placeHunks(hunks, "a\r\nB\r\nc\r\n")).toMatchObject([{ start: 1, end: 2 }]);
  });
});

describe("moving between hunks", () => {
  const placed = () => placeHunks(proposal(), edited.join("\n"));

  test.each([
    [0, 0],
    [2, 0],
    [8, 1],
    [11, 1],
    [22, 2],
    [39, 3],
  ])("the hunk at line %i is %i", (line, index) => {
    expect(hunkAt(placed(), line)?.index).toBe(index);
  });

  test("decided hunks are passed over", () => {
    const some = placed().map((hunk) => (hunk.index === 1 ? { ...hunk, state: "accepted" as const } : hunk));
    expect(hunkAt(some, 10)?.index).toBe(0);
    expect(neighbour(some, 2, "next")?.index).toBe(2);
    expect(neighbour(some, 22, "previous")?.index).toBe(0);
    expect(neighbour(some, 30, "next")).toBeNull();
    expect(
      hunkAt(
        some.map((hunk) => ({ ...hunk, state: "accepted" as const })),
        3,
      ),
    ).toBeNull();
  });
});

test("a change is open while it has undecided hunks, until a later change replaces it", () => {
  const hunks = proposal();
  expect(isOpen({ status: "pending", hunks })).toBe(true);
  expect(isOpen({ status: "superseded", hunks })).toBe(false);
  expect(isOpen({ status: "mixed", hunks: hunks.map((hunk) => ({ ...hunk, state: "conflict" })) })).toBe(true);
  expect(isOpen({ status: "accepted", hunks: hunks.map((hunk) => ({ ...hunk, state: "accepted" })) })).toBe(false);
});

test("lines of a diff are counted without its headers", () => {
  expect(countDiff("--- a\n+++ b\n@@ -1,2 +1,2 @@\n one\n--- two\n+++ two\n+3\n")).toEqual({ added: 2, removed: 1 });
});
