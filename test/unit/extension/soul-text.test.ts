import { describe, expect, it, test } from "vitest";
import { changedLines, nextVersion, withVersion } from "../../../extension/review/soul-text.ts";

describe("a copy of the soul to work on", () => {
  it.each([
    [[], "v1"],
    [["v1"], "v2"],
    [["v1", "v10", "v9"], "v11"],
  ])("after %j comes %s", (versions, next) => {
    expect(nextVersion(versions)).toBe(next);
  });

  it.each([
    ["version: v1\nmission: x\n", "version: v7\nmission: x\n"],
    ["# version: v1 is the first\nversion:   'v1' # keep\n", "# version: v1 is the first\nversion:   'v7' # keep\n"],
    ["mission: about version v1\n", "mission: about version v1\n"],
    ["self:\n  version: v1\nversion: v2\n", "self:\n  version: v1\nversion: v7\n"],
  ])("%j gets its version and keeps the rest", (yaml, wanted) => {
    expect(withVersion(yaml, "v7")).toBe(wanted);
  });
});

test("a dialog shows removed and added lines, and marks when there are more", () => {
  const diff = "--- soul_v1.yaml\n+++ soul_v2.yaml\n@@ -1,3 +1,3 @@\n-version: v1\n+version: v2\n mission: x\n--- a list item\n";
  expect(changedLines(diff)).toBe("-version: v1\n+version: v2");
  const long = Array.from({ length: 40 }, (_, line) => `+  - term_${line}`);
  expect(changedLines(long.join("\n")).split("\n")).toEqual([...long.slice(0, 22), "…"]);
});
