import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { normalized, replacement, withLineEnds } from "../../../extension/editor/text.ts";

const text = fc
  .array(fc.constantFrom("a", "b", "\n", "\r\n", "é", "😀", "\uD83D\uDE01", "  ", "ab\n"), { maxLength: 40 })
  .map((parts) => parts.join(""));

describe("editing text", () => {
  test("a replacement makes the text it should, and cuts neither a character nor a line end in two", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { start, end, text: middle } = replacement(before, after);
        expect(before.slice(0, start) + middle + before.slice(end)).toBe(after);
        for (const cut of [start, end]) {
          expect(before.slice(cut - 1, cut + 1)).not.toBe("\r\n");
          expect(/^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(before.slice(cut - 1, cut + 1))).toBe(false);
        }
      }),
    );
  });

  test("a replacement keeps unchanged text", () => {
    expect(replacement("one\ntwo\nthree\n", "one\n2\nthree\n")).toEqual({ start: 4, end: 7, text: "2" });
    expect(replacement("same", "same")).toMatchObject({ text: "" });
    expect(replacement("a😀b", "a😁b")).toEqual({ start: 1, end: 3, text: "😁" });
  });

  test("line ends and a byte order mark make no difference when texts are compared", () => {
    expect(normalized("\uFEFFa\r\nb\rc\n")).toBe("a\nb\nc\n");
    expect(withLineEnds("a\nb\r\nc", "\r\n")).toBe("a\r\nb\r\nc");
    expect(withLineEnds("a\r\nb", "\n")).toBe("a\nb");
  });
});
