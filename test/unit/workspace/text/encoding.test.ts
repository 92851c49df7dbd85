import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeText, encodeText } from "../../../../agent-server/workspace/text/encoding.ts";
import { runs } from "../../../support/soak.ts";

describe("encodings", () => {
  it("round-trip byte for byte", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const decoded = decodeText(bytes);
        if (decoded === null) return;
        expect(encodeText(decoded.text, decoded.encoding).equals(Buffer.from(bytes))).toBe(true);
      }),
      { numRuns: runs(750, 3000) },
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
  ])("treat %s as binary", (_name, bytes) => {
    expect(decodeText(bytes)).toBeNull();
  });

  it("round-trip every byte value", () => {
    const all = Buffer.concat([Buffer.from("text ".repeat(2000)), Buffer.from(Array.from({ length: 255 }, (_, index) => index + 1))]);
    const decoded = decodeText(all);
    expect(decoded?.encoding).toEqual({ name: "latin1", bom: false });
    expect(encodeText(decoded?.text ?? "", { name: "latin1", bom: false })).toEqual(all);
    // As browsers and editors read Windows-1252.
    expect(decoded?.text).toBe(new TextDecoder("windows-1252").decode(all));
    expect(encodeText("\u20ac \u201cso\u201d \u2013 \u0161", { name: "latin1", bom: false })).toEqual(
      Buffer.from([0x80, 0x20, 0x93, 0x73, 0x6f, 0x94, 0x20, 0x96, 0x20, 0x9a]),
    );
  });

  it("round-trip any encodable text", () => {
    const letters = fc.string({ unit: "grapheme", maxLength: 60 }).map((text) => `${text.replaceAll("\0", "")}\nplain words\n`);
    fc.assert(
      fc.property(letters, fc.constantFrom("utf8", "utf16le", "utf16be"), (text, name) => {
        const bytes = encodeText(text, { name, bom: true });
        const decoded = decodeText(bytes);
        // Control characters beside those of text make it binary.
        if (decoded === null) return expect(text).toMatch(/\p{Cc}/u);
        expect(decoded).toEqual({ text, encoding: { name, bom: true } });
      }),
      { numRuns: runs(250, 1000) },
    );
  });

  it.each<["utf16le" | "utf16be"]>([["utf16le"], ["utf16be"]])("detect %s without a byte order mark", (name) => {
    const bytes = encodeText("plain words, h\u00e9llo\r\n", { name, bom: false });
    expect(decodeText(bytes)).toEqual({ text: "plain words, h\u00e9llo\r\n", encoding: { name, bom: false } });
  });

  it.each<[string, Buffer]>([
    ["UTF-32", Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0])],
    ["half a character in UTF-16", Buffer.from([0xff, 0xfe, 0x61, 0, 0x00, 0xd8, 0x62, 0])],
    ["a program", Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0])],
    ["numbers of two bytes", Buffer.from(Array.from({ length: 64 }, (_, index) => (index % 2 === 0 ? index : 0)))],
  ])("treat %s as binary, since it would not round-trip", (_name, bytes) => {
    expect(decodeText(bytes)).toBeNull();
  });

  it.each<[string, string, Parameters<typeof encodeText>[1], RegExp]>([
    [
      "an arrow in Windows-1252",
      "\u00e9\n\u2192",
      { name: "latin1", bom: false },
      /Windows-1252, which cannot hold \u201c\u2192\u201d \(line 2\)/,
    ],
    ["an emoji in Windows-1252", "\u{1f600}", { name: "latin1", bom: false }, /cannot hold \u201c\u{1f600}\u201d \(line 1\)/u],
    ["half a character in UTF-8", "a\nb\ud800", { name: "utf8", bom: false }, /UTF-8, which cannot hold half a character \(line 2\)/],
  ])("refuse %s with a message", (_name, text, encoding, message) => {
    expect(() => encodeText(text, encoding)).toThrow(message);
  });
});
