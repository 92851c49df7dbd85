import * as fc from "fast-check";
import { expect, it } from "vitest";
import { wildcard } from "../../../../agent-server/tools/repl/wildcard.ts";
import { runs } from "../../../support/soak.ts";

it.each([
  ["*.ts", "a.ts", true],
  ["*.ts", "a.tsx", false],
  ["*", "", true],
  ["*", "any/thing", true],
  ["?.ts", "a.ts", true],
  ["?.ts", ".ts", false],
  ["[ab]*", "b", true],
  ["[!ab]*", "b", false],
  ["[a-c]", "b", true],
  ["[]x]", "]", true],
  ["[", "[", true],
  [String.raw`\*`, "*", true],
  [String.raw`\*`, "x", false],
  ["./src/*", "./src/deep/b.ts", true],
  ["*a*b*", "xxaxxbxx", true],
  ["*a*b*", "xxbxxaxx", false],
  ["{a,b}", "a", false],
  ["{a,b}", "{a,b}", true],
  ["😀?", "😀x", true],
])("%s on %s: %s", (pattern, text, matches) => expect(wildcard(pattern, false)(text)).toBe(matches));

it("ignores case on request", () => expect([wildcard("READ*", true)("readme"), wildcard("READ*", false)("readme")]).toEqual([true, false]));

it("agrees with the plain expression of it", () => {
  const letters = fc.stringMatching(/^[abc]{0,8}$/);
  const pattern = fc.array(fc.oneof(letters, fc.constantFrom("*", "?")), { maxLength: 6 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(pattern, letters, (glob, text) => {
      const plain = new RegExp(`^${glob.replaceAll("?", ".").replaceAll("*", ".*")}$`);
      expect(wildcard(glob, false)(text)).toBe(plain.test(text));
    }),
    { numRuns: runs(500, 2_000) },
  );
});

it("ends in time on what makes expressions explode", () => {
  expect(wildcard(`${"*a".repeat(200)}b`, false)("a".repeat(4_000))).toBe(false);
});
