import { expect, it } from "vitest";
import { trimEnd } from "../../../agent-server/contract/trim-end.ts";

it.each([
  ["a/b//", "/", "a/b"],
  ["a.,b.,", ".,", "a.,b"],
  ["...", ".", ""],
  ["", ".", ""],
  ["a", "", "a"],
])("%j without %j at its end is %j", (text, ending, expected) => {
  expect(trimEnd(text, ending)).toBe(expected);
});
