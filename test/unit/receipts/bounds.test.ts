import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundFields, boundText, maxFieldsBytes } from "../../../agent-server/receipts/bounds.ts";
import { createRedactor } from "../../../agent-server/security/redactor.ts";

const redactor = createRedactor();
const bound = (fields: Record<string, unknown> | undefined) => boundFields(fields, redactor);
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** `{ a, b }` of exactly so many bytes of JSON, made of `unit`. */
function ofBytes(wanted: number, unit = "x"): Record<string, unknown> {
  const fields: Record<string, string> & { b: string } = { a: unit.repeat(2_000), b: "" };
  fields.b = unit.repeat(Math.floor((wanted - bytes(fields)) / (bytes(unit) - 2)));
  fields.b += "x".repeat(wanted - bytes(fields));
  return fields;
}

describe("what a receipt holds of its fields", () => {
  it("is nothing of nothing", () => {
    expect(bound(undefined)).toEqual({});
    expect(bound({})).toEqual({});
  });

  it.each([
    ["plain letters", "x"],
    ["letters of two bytes", "ä"],
    ["quotes", '"'],
    ["what is escaped with six bytes", "\u0001"],
    ["emoji", "🙂"],
  ])("is all of it up to 32,768 bytes of JSON: %s", (_, unit) => {
    const whole = ofBytes(maxFieldsBytes, unit);
    expect(bytes(whole)).toBe(maxFieldsBytes);
    expect(bound(whole)).toEqual(whole);
    const more = { ...whole, b: `${String(whole["b"])}x` };
    const cut = bound(more);
    expect(cut).not.toEqual(more);
    expect(cut["a"]).toBe(whole["a"]);
    expect(bytes(cut)).toBeLessThanOrEqual(maxFieldsBytes);
  });

  const many = 20_000;
  const list = (item: (index: number) => unknown) => Array.from({ length: many }, (_, index) => item(index));
  it.each<[what: string, item: (index: number) => unknown, least: number]>([
    ["numbers", (index) => index, 1_000],
    ["long numbers", () => -1.234567890123456e-300, 1_000],
    ["true and false", (index) => index % 2 === 0, 4_000],
    ["nothing", () => null, 5_000],
    ["what JSON has no word for", () => Number.NaN, 1_000],
    ["empty lists", () => [], 9_000],
    ["empty objects", () => ({}), 9_000],
    ["short texts", () => "ab", 5_000],
    ["texts of control characters", () => "\u0001\u0002", 1_500],
    ["small objects", () => ({ a: 1 }), 600],
    ["lists in lists", () => [[[true]]], 1_500],
  ])("is the beginning of a list of %s, and how many were cut", (_, item, least) => {
    const { items } = bound({ items: list(item) }) as { items: unknown[] };
    const kept = items.length - 1;
    expect(kept).toBeGreaterThanOrEqual(least);
    expect(items.at(-1)).toBe(`… [${many - kept} items cut]`);
    // The last may itself be cut.
    expect(items.slice(0, kept - 1)).toEqual(JSON.parse(JSON.stringify(list(item).slice(0, kept - 1))));
    expect(bytes({ items })).toBeLessThanOrEqual(maxFieldsBytes);
  });

  it.each([
    ["a number each", (index: number) => index, 500],
    ["a text each", () => "text ".repeat(20), 150],
    ["a list each", () => [true, null], 900],
  ])("is the beginning of many fields, and how many were cut: %s", (_, field, least) => {
    const fields = Object.fromEntries(list((index) => [`key${index}`, field(index)]) as [string, unknown][]);
    const found = bound(fields);
    const names = Object.keys(found);
    expect(names.at(-1)).toBe("…");
    expect(names.length - 1).toBeGreaterThanOrEqual(least);
    expect(found["…"]).toBe(`[${many - (names.length - 1)} fields cut]`);
    // The last may itself be cut.
    for (const name of names.slice(0, -2)) expect(found[name]).toEqual(fields[name]);
    expect(bytes(found)).toBeLessThanOrEqual(maxFieldsBytes);
  });

  it("does not count as cut what JSON leaves out of the beginning", () => {
    const fields = Object.fromEntries(
      list((index) => [`key${index}`, index % 2 === 0 ? undefined : "text ".repeat(20)]) as [string, unknown][],
    );
    const found = bound(fields);
    const kept = Object.keys(found).length - 1;
    expect(found["…"]).toBe(`[${many - 2 * kept - 1} fields cut]`);
  });

  it("is the beginning of a text that does not fit beside others, and how many bytes were cut", () => {
    const fields = { first: "a".repeat(10_000), second: "ä".repeat(12_000), third: "c".repeat(3_000) };
    const found = bound(fields) as Record<string, string>;
    expect(found["first"]).toBe(fields.first);
    const [, kept = "", cut] = /^(ä*)… \[(\d+) bytes cut\]$/.exec(found["second"] ?? "") ?? [];
    expect(kept.length).toBeGreaterThan(2_000);
    expect(Buffer.byteLength(kept) + Number(cut)).toBe(24_000);
    expect(bytes(found)).toBeLessThanOrEqual(maxFieldsBytes);
    expect(bytes(found)).toBeGreaterThan(maxFieldsBytes / 2);
  });

  it("does not cut an emoji into half a character", () => {
    for (let shift = 0; shift < 12; shift += 1) {
      const found = bound({ pad: "x".repeat(16_000 + shift), emoji: "🙂".repeat(7_000) }) as { emoji: string };
      expect(found.emoji).toMatch(/^(?:🙂)+\ufffd?… \[\d+ bytes cut\]$/u);
      expect(found.emoji.isWellFormed()).toBe(true);
    }
  });

  it("is a value of its own where an object turns into something else", () => {
    expect(bound({ toJSON: () => 7 })).toEqual({ value: 7 });
    expect(bound({ toJSON: () => [1, 2] })).toEqual({ value: [1, 2] });
    expect(bound({ toJSON: () => null })).toEqual({ value: null });
  });

  it("keeps half characters and a key called __proto__ as plain fields", () => {
    const odd = JSON.parse('{"__proto__":{"deep":"x"},"\\ud800":"\\udc00"}') as Record<string, unknown>;
    const found = bound({ odd, list: [Number.NaN] });
    expect(JSON.stringify(found)).toBe('{"odd":{"__proto__":{"deep":"x"},"\ufffd":"\ufffd"},"list":[null]}');
    expect(Object.getOwnPropertyDescriptor(found["odd"], "__proto__")).toMatchObject({
      configurable: true,
      enumerable: true,
      writable: true,
    });
    expect(({} as Record<string, unknown>)["deep"]).toBeUndefined();
  });

  it("is plain JSON that fits, whatever is given", () => {
    const leaf = fc.oneof(
      fc.string({ unit: "binary", maxLength: 3_000, size: "large" }),
      // JSON has no -0.
      fc.double().map((number) => number + 0),
      fc.boolean(),
      fc.constantFrom(null, undefined, () => 1, Symbol("s")),
    );
    const { any } = fc.letrec<{ any: unknown }>((tie) => ({
      any: fc.oneof({ maxDepth: 3 }, leaf, fc.array(tie("any")), fc.dictionary(fc.string(), tie("any"))),
    }));
    fc.assert(
      fc.property(fc.dictionary(fc.string(), any), (fields) => {
        const found = bound(fields);
        expect(bytes(found)).toBeLessThanOrEqual(maxFieldsBytes);
        expect(JSON.stringify(found).isWellFormed()).toBe(true);
        expect(JSON.parse(JSON.stringify(found))).toEqual(found);
      }),
      { numRuns: 15 },
    );
  });
});

describe("what a receipt holds of a text", () => {
  it("is its beginning, redacted and well-formed", () => {
    expect(boundText("short", redactor, 500)).toBe("short");
    const long = boundText("x".repeat(600), redactor, 500);
    expect(long).toMatch(/^x{400,500}… \[\d+ bytes cut\]$/);
    expect(boundText("a\ud800b", redactor, 500)).toBe("a\ufffdb");
    expect(boundText(`token ${["ghp", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fXaB3d"].join("_")}`, redactor, 500)).not.toContain("aB3dE6");
  });
});
