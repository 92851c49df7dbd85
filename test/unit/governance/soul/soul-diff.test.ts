import { applyPatch } from "diff";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffSouls, withVersion } from "../../../../agent-server/governance/soul/soul-diff.ts";
import { readSoul } from "../../../../agent-server/governance/soul/soul-document.ts";
import { shippedSoul } from "../../../support/soul-fixture.ts";

describe("the difference between two souls", () => {
  const text = fc
    .array(fc.constantFrom("a", "b", "c: d", "", "- e", "+f", "@@ -1 +1 @@", "\\ x"), { maxLength: 12 })
    .map((lines) => lines.join("\n"));
  it.each([
    ["in time", 10_000],
    ["out of time, shown whole", -1],
  ])("makes the one of the other, %s", (_name, timeout) => {
    fc.assert(
      fc.property(text, text, fc.boolean(), fc.boolean(), (from, to, oneEnds, otherEnds) => {
        const [one, other] = [oneEnds ? `${from}\n` : from, otherEnds ? `${to}\n` : to];
        const patch = diffSouls({ version: "v1", yaml: one }, { version: "v2", yaml: other }, timeout);
        expect(patch).toMatch(/^--- soul_v1\.yaml.*\n\+\+\+ soul_v2\.yaml/);
        if (one !== other) expect(applyPatch(one, patch)).toBe(other);
      }),
    );
  });

  it("ends soon for texts that differ everywhere", () => {
    const random = (seed: string) => Array.from({ length: 20_000 }, (_, index) => `${seed}${(index * 7919) % 20_011}\n`).join("");
    const patch = diffSouls({ version: "v1", yaml: random("a") }, { version: "v2", yaml: random("b") }, 50);
    expect(patch.split("\n").filter((line) => line.startsWith("+b"))).toHaveLength(20_000);
  });
});

describe("setting the version", () => {
  it.each([
    ["version: v1", "version: v12"],
    ["version: 'v1'", "version: v12"],
    ["version: >-\n  v1\nx-note: y", "version: v12\nx-note: y"],
    ["version: v12 # kept", "version: v12 # kept"],
  ])("of %j", (from, to) => {
    const next = withVersion(shippedSoul.replace("version: v1", from), "v12");
    expect(readSoul(next).document?.version).toBe("v12");
    expect(next).toBe(shippedSoul.replace("version: v1", to));
  });

  it.each([
    ["a text that is no soul", "version: v1\n"],
    ["no version", shippedSoul.replace("version: v1\n", "")],
    ["two versions", `${shippedSoul}version: v3\n`],
  ])("is refused for %s", (_name, yaml) => {
    expect(() => withVersion(yaml, "v12")).toThrow(expect.objectContaining({ code: "conflict" }));
  });
});
