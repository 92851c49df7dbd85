import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import "../../../support/properties.ts";
import { openSearchFixture } from "../../../support/memory/search-fixture.ts";

let fixture: ReturnType<typeof openSearchFixture>;
beforeEach(() => {
  fixture = openSearchFixture();
});
afterEach(() => fixture.close());

describe("any string is a query", () => {
  const nasty = [
    "\0",
    '"',
    "'",
    "*",
    "^",
    "(",
    ")",
    "{",
    "}",
    ":",
    "-",
    "+",
    "NEAR(a b, 3)",
    "words : a",
    "AND OR NOT",
    "a AND",
    "\ud800",
    "\udfff",
    "\u{e000}w1",
    "\u{e001}",
    "%_",
    "--",
    "/*",
    ";DROP TABLE memory_items",
    "💥",
    "ﷺ",
  ];
  it.each(nasty)("%j", (query) => {
    fixture.put("a", `a harbour ${query} b`);
    expect(fixture.find(query).found.length).toBeLessThanOrEqual(1);
    expect(fixture.ids(`harbour ${query}`).length).toBeLessThanOrEqual(1);
    expect(fixture.search.meant(query, null).candidates.length).toBeLessThanOrEqual(1);
  });

  it("never throws, for any text and any query", () => {
    const unit = fc.oneof(
      fc.string({ unit: "binary", maxLength: 12 }),
      fc.constantFrom(...nasty),
      fc.constantFrom(" ", "port", "-port", '"a b"', "x*"),
    );
    const text = fc.array(unit, { maxLength: 12 }).map((some) => some.join(""));
    fc.assert(
      fc.property(text, text, fc.string({ maxLength: 5 }), (content, query, tag) => {
        fixture.put("a", content, { tags: [tag] });
        for (const filters of [{}, { tags: [tag] }, { namespace: tag }, { questId: tag }]) {
          for (const { snippet, score: points } of fixture.find(query, filters).found) {
            expect(snippet.length).toBeLessThan(260);
            expect(points).toBeGreaterThanOrEqual(0);
          }
        }
        fixture.search.meant(query, null);
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    ["ten million characters", "harbour ".repeat(1_300_000)],
    ["ten million quotes", ' "'.repeat(5_000_000)],
    ["one word without end", "a".repeat(10_000_000)],
    ["every word another", Array.from({ length: 500_000 }, (_, index) => `word${index}`).join(" ")],
  ])("%s", (_, query) => {
    fixture.put("a", "the harbour pilot");
    expect(fixture.find(query).found.length).toBeLessThanOrEqual(1);
    fixture.put("b", query);
    expect(fixture.ids("pilot")).toEqual(["a"]);
  });
});
