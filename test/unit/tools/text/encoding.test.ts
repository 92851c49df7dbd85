import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeText, encodeText } from "../../../../agent-server/tools/text/encoding.ts";

describe("encodings", () => {
  it("write back what they read, byte for byte", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const decoded = decodeText(bytes);
        if (decoded === null) return;
        expect(encodeText(decoded.text, decoded.encoding).equals(Buffer.from(bytes))).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  it.each<[string, Buffer, string, string]>([
    ["UTF-8", Buffer.from("héllo\n"), "utf8", "héllo\n"],
    ["UTF-8 with BOM", Buffer.from("\ufeffhéllo\n"), "utf8", "héllo\n"],
    ["UTF-16 LE", Buffer.from("\ufeffhéllo\n", "utf16le"), "utf16le", "héllo\n"],
    ["UTF-16 BE", Buffer.from("\ufeffhéllo\n", "utf16le").swap16(), "utf16be", "héllo\n"],
    ["Latin-1", Buffer.from("h\u00e9llo\n", "latin1"), "latin1", "héllo\n"],
    ["nothing", Buffer.alloc(0), "utf8", ""],
  ])("tell %s", (_name, bytes, name, text) => {
    expect(decodeText(bytes)).toMatchObject({ text, encoding: { name } });
  });

  it.each([
    ["NUL", Buffer.from([65, 0, 66])],
    ["half a UTF-16 unit", Buffer.from([0xff, 0xfe, 65])],
    ["control bytes", Buffer.from([1, 2, 3, 4, 0xff, 0xfe, 5, 6])],
  ])("take %s for binary", (_name, bytes) => {
    expect(decodeText(bytes)).toBeNull();
  });

  it("make UTF-8 of a Latin-1 file rather than lose a character", () => {
    expect(encodeText("é→", { name: "latin1", bom: false })).toEqual(Buffer.from("é→", "utf8"));
  });
});
