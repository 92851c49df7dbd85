import { expect, it } from "vitest";
import { patternOf } from "../../../../agent-server/governance/policy/commands/shell-fields.ts";

it.each([
  ["*.env", "a.env", true],
  ["*.env", "A.ENV", true],
  ["*.env", "a.env.bak", false],
  ["id_?sa", "id_rsa", true],
  // A set can be any character: a pattern may match more than the shell's, never less.
  ["[[:alpha:]_]nv", "env", true],
  ["[!a]nv", "anv", true],
  ["[]a]nv", "env", true],
  ["[env", "[env", true],
  [String.raw`\*nv`, "*nv", true],
  [String.raw`\*nv`, "env", false],
  ["a\\", "a", true],
  ["{a,b}", "{a,b}", true],
])("%s and %s: %s", (glob, name, matches) => expect(patternOf(glob)?.(name)).toBe(matches));

it.each(["!(a)", "(a|b)", "x@(a)"])("%s is no pattern that is understood", (glob) => expect(patternOf(glob)).toBeNull());

it("ends in time for a pattern and a name that are made to be hard to match", () => {
  expect(patternOf(`${"*a".repeat(150)}b`)?.("a".repeat(255))).toBe(false);
  expect(patternOf(`evil.ex${"*".repeat(500)}!`)?.(`evil.ex${"x".repeat(248)}`)).toBe(false);
});
