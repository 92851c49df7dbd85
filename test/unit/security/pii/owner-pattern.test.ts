import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkCustomPattern } from "../../../../agent-server/security/pii/custom-pattern.ts";

describe("patterns of the owner", () => {
  it.each([
    String.raw`\bKD-\d{6}\b`,
    String.raw`(?:AB|CD)\d{4,8}`,
    String.raw`[A-Z]{2}-?\d{1,5}(?:/\d{2})?`,
    String.raw`(?<year>20\d{2})-CASE-\p{L}{3}`,
    String.raw`^Projekt [A-Z][a-z]{2,20}$`,
    String.raw`[^\]]x\.\u{1f600}`,
  ])("%s is taken", (source) => {
    const { problem, pattern } = checkCustomPattern(source);
    expect([problem, pattern?.source]).toEqual([null, new RegExp(source, "u").source]);
  });

  it.each([
    [String.raw`(a+)+b`, "unbounded repetition"],
    [String.raw`\d+`, "unbounded repetition"],
    [String.raw`.*x`, "unbounded repetition"],
    [String.raw`a{2,}`, "unbounded repetition"],
    [String.raw`(?:a{1,20}){1,20}b`, "very slow"],
    [String.raw`(?:a|a|b){12}c`, "very slow"],
    [String.raw`a?a?a?a?a?a?a?a?a?a?a?a?a?aaaa`, "very slow"],
    [String.raw`(?=a)b`, "lookaround"],
    [String.raw`(?<!a)b`, "lookaround"],
    [String.raw`(a)\1`, "backreference"],
    [String.raw`(?<q>a)\k<q>`, "backreference"],
    [String.raw`a?`, "empty text"],
    [String.raw`\b`, "empty text"],
    [String.raw`a{600}`, "more than 512"],
    [String.raw`(a`, "not a regular expression"],
    [String.raw`[a`, "not a regular expression"],
  ])("%s is refused: it %s", (source, why) => {
    const { problem, pattern } = checkCustomPattern(source);
    expect(pattern).toBeNull();
    expect(problem).toContain(why);
  });

  it("whatever is taken is done with a hostile text of a hundred thousand characters", () => {
    const atom = fc.constantFrom("a", "[ab]", "(?:a|b)", "(?:aa?)", ".", String.raw`\w`);
    const repeat = fc.constantFrom("", "?", "{3}", "{1,8}", "{2,40}", "+", "*");
    const source = fc
      .array(fc.tuple(atom, repeat), { minLength: 1, maxLength: 5 })
      .map((parts) => `${parts.map((part) => part.join("")).join("")}z`);
    let taken = 0;
    fc.assert(
      fc.property(source, (text) => {
        const { problem, pattern } = checkCustomPattern(text);
        if (/[+*]/.test(text.replaceAll(/\\./g, ""))) expect(problem).not.toBeNull();
        if (pattern === null) return;
        taken += 1;
        if (taken <= 20) expect([..."a".repeat(100_000).matchAll(pattern)]).toEqual([]);
      }),
      { numRuns: 200 },
    );
    expect(taken).toBeGreaterThan(5);
  });
});
