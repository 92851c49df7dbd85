import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diskPath, displayPath, fromBytes, toBytes } from "../../../agent-server/workspace/byte-path.ts";
import { anyName } from "../../support/tools/byte-tree.ts";
import { runs } from "../../support/soak.ts";

const numRuns = runs(500, 20_000);

describe("a path of any bytes", () => {
  it("is the same bytes again", () => {
    fc.assert(
      fc.property(anyName, (bytes) => {
        expect(toBytes(fromBytes(bytes)).equals(bytes)).toBe(true);
        expect(Buffer.from(diskPath(fromBytes(bytes))).equals(bytes)).toBe(true);
      }),
      { numRuns },
    );
  });

  it("is itself when it is text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const path = text.replaceAll("\0", "");
        expect(fromBytes(Buffer.from(path))).toBe(path);
        expect(diskPath(path)).toBe(path);
      }),
      { numRuns },
    );
  });

  it("is shown in visible characters, and two paths are never shown alike", () => {
    const alike = fc.tuple(anyName, anyName).filter(([a, b]) => !a.equals(b));
    fc.assert(
      fc.property(alike, ([a, b]) => {
        const [one, other] = [displayPath(fromBytes(a)), displayPath(fromBytes(b))];
        expect(one).not.toBe(other);
        expect(one).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\0]/u);
      }),
      { numRuns },
    );
  });

  it.each<[bytes: Buffer | string, path: string, shown: string]>([
    ["a b/é.txt", "a b/é.txt", "a b/é.txt"],
    ["a\nb\tc", "a\nb\tc", "a\\nb\\tc"],
    ["a\\nb", "a\\nb", "a\\\\nb"],
    [Buffer.from([0x66, 0xff, 0xfe]), "f\0ff\0fe", "f\\xff\\xfe"],
    [Buffer.from([0xed, 0xa0, 0x80]), "\u0000ed\u0000a0\u000080", "\\xed\\xa0\\x80"],
    ["\u{202e}txt", "\u{202e}txt", "\\u{202e}txt"],
    ["\u{1f468}\u{200d}\u{1f467}", "\u{1f468}\u{200d}\u{1f467}", "\u{1f468}\u{200d}\u{1f467}"],
    ["a\u{200d}b", "a\u{200d}b", "a\\u{200d}b"],
    ["\ufffd", "\ufffd", "\ufffd"],
    ["\\xff", "\\xff", "\\\\xff"],
  ])("%j", (bytes, path, shown) => {
    expect(fromBytes(Buffer.from(bytes))).toBe(path);
    expect(displayPath(path)).toBe(shown);
  });
});
