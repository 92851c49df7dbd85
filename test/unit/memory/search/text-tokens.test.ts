import * as fc from "fast-check";
import { runs } from "../../../support/soak.ts";
import { describe, expect, it } from "vitest";
import "../../../support/properties.ts";
import { editDistance } from "../../../../agent-server/memory/search/edit-distance.ts";
import { fold, written } from "../../../../agent-server/memory/search/text-tokens.ts";

const parts = (text: string): string[] => written(text).flatMap((word) => word.parts.map((part) => part.word));
const joined = (text: string): string[] => [...new Set(written(text).flatMap((word) => word.joined.map((whole) => whole.word)))];

describe("words of a text", () => {
  it.each<[string, string[]]>([
    ["getUserById", ["get", "user", "by", "id"]],
    ["XMLHttpRequest", ["xml", "http", "request"]],
    ["MAX_GROUP_SIZE", ["max", "group", "size"]],
    ["use-timetable", ["use", "timetable"]],
    ["src/cart.js", ["src", "cart", "js"]],
    ["sha256", ["sha", "256"]],
    ["10.0.0.1:8443", ["10", "0", "0", "1", "8443"]],
    ["C++ and C# but not F#m", ["cpp", "and", "csharp", "but", "not", "f", "m"]],
    ["Größe ÆON Ørsted Łódź", ["grosse", "aeon", "orsted", "lodz"]],
    ["ＦＵＬＬ ｗｉｄｔｈ", ["full", "width"]],
    ["测试环境", ["测试", "试环", "环境"]],
    ["库", ["库"]],
    ["env测试", ["env", "测试"]],
    ["מסד נתונים", ["מסד", "נתונים"]],
    ["\0\ud800 \udfff''\"(*)^:-", []],
  ])("%j", (text, expected) => {
    expect(parts(text)).toEqual(expected);
  });

  it.each<[string, string[]]>([
    ["getUserById", ["getuserbyid"]],
    ["user-name", ["username"]],
    ["snake_case_name", ["snakecasename"]],
    ["user name", []],
    ["a - b", []],
  ])("%j is also written as one word", (text, expected) => {
    expect(joined(text)).toEqual(expect.arrayContaining(expected));
    if (expected.length === 0) expect(joined(text)).toEqual([]);
  });

  it("gives letters, digits and marks alone, and where they stand, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        for (const { parts: tokens } of written(text)) {
          for (const { stem, word, start, end } of tokens) {
            expect(word).toMatch(/^[\p{L}\p{N}\p{M}]+$/u);
            expect(stem.length).toBeGreaterThan(0);
            expect(start).toBeGreaterThanOrEqual(0);
            expect(end).toBeGreaterThan(start);
            expect(end).toBeLessThanOrEqual(text.length);
          }
        }
      }),
      {
        numRuns: runs(300, 3000),
        examples: [["\u0300"], ["\u2150"], ["a\u3220b"], ["x\u00bd"], ["a \u0300 b"], ["1\u0300a"], ["\u65e5\u0300"], ["x-\u0300-y"]],
      },
    );
  });

  it("folds to the same in any case and form", () => {
    fc.assert(
      fc.property(fc.constantFrom("É", "ü", "Straße", "ÇA", "İzmir", "ｶﾞ", "Й"), (word) => {
        const once = fold(word);
        expect(fold(word.normalize("NFD"))).toBe(once);
        expect(fold(once)).toBe(once);
      }),
    );
  });
});

describe("distance of two words", () => {
  it.each([
    ["port", "port", 0],
    ["prot", "port", 1],
    ["postgress", "postgres", 1],
    ["elasticsaerch", "elasticsearch", 1],
    ["cat", "dog", 3],
    ["", "ab", 2],
  ])("%s, %s: %i", (a, b, distance) => {
    expect(editDistance(a, b, 5)).toBe(distance);
    expect(editDistance(b, a, 5)).toBe(distance);
    expect(editDistance(a, b, 1)).toBe(Math.min(distance, 2));
  });
});
