import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ContextMessage } from "../../../agent-server/context/budget.ts";
import { applyStates, chooseEvictions, type Piece, renderPiece } from "../../../agent-server/context/eviction.ts";
import { estimateTokens } from "../../../agent-server/context/tokens.ts";

const long = (word: string): string => `${word} stands in a long text that a tool gave back. `.repeat(60);
const piece = (key: string, lastUsed: number, more: Partial<Piece> = {}): Piece => ({
  key,
  text: long(key),
  state: "whole",
  lastUsed,
  kept: false,
  ...more,
});
const gain = (one: Piece): number => estimateTokens(one.text) - estimateTokens(renderPiece(one.text, "summarized"));

describe("freeing context", () => {
  it("is what was used longest ago, shortened before anything leaves", () => {
    const pieces = [piece("c", 9), piece("a", 1), piece("b", 5)];
    const [, first] = pieces;
    expect(chooseEvictions(pieces, 1)).toEqual([{ key: "a", state: "summarized" }]);
    expect(chooseEvictions(pieces, gain(first ?? piece("a", 1)) + 1)).toEqual([
      { key: "a", state: "summarized" },
      { key: "b", state: "summarized" },
    ]);
    expect(chooseEvictions(pieces, 1_000_000)).toEqual(["a", "b", "c"].map((key) => ({ key, state: "left_out" })));
  });

  it("is never what is pinned or about to be read, nor what is short", () => {
    expect(chooseEvictions([piece("a", 1, { kept: true }), piece("b", 2, { text: "short" })], 1_000_000)).toEqual([]);
  });

  it("is nothing while there is room", () => {
    expect(chooseEvictions([piece("a", 1)], 0)).toEqual([]);
    expect(chooseEvictions([piece("a", 1)], -5)).toEqual([]);
  });

  const pieces = fc.uniqueArray(
    fc.record({
      key: fc.stringMatching(/^[a-z]{1,6}$/),
      text: fc.nat({ max: 3_000 }).map((length) => "word ".repeat(length / 5)),
      state: fc.constantFrom("whole" as const, "summarized" as const, "left_out" as const),
      lastUsed: fc.nat({ max: 20 }),
      kept: fc.boolean(),
    }),
    { selector: ({ key }) => key, maxLength: 15 },
  );

  it("depends on the pieces alone, not on their order, and makes the room asked for wherever it can", () => {
    fc.assert(
      fc.property(pieces, fc.nat({ max: 6_000 }), fc.nat(), (given, excess, seed) => {
        const chosen = chooseEvictions(given, excess);
        const shuffled = given.toSorted((a, b) => ((a.key.charCodeAt(0) * (seed + 7)) % 13) - ((b.key.charCodeAt(0) * (seed + 7)) % 13));
        expect(chooseEvictions(shuffled, excess)).toEqual(chosen);
        const states = new Map(chosen.map(({ key, state }) => [key, state]));
        const cost = (one: Piece, state: Piece["state"]): number => estimateTokens(renderPiece(one.text, state));
        const freed = given.reduce((sum, one) => sum + cost(one, one.state) - cost(one, states.get(one.key) ?? one.state), 0);
        const movable = given.filter(({ kept, text, state }) => !kept && text.length > 400 && state !== "left_out");
        const most = movable.reduce((sum, one) => sum + Math.max(cost(one, one.state) - cost(one, "left_out"), 0), 0);
        expect(freed >= excess || freed >= most).toBe(true);
        for (const { key } of chosen) expect(movable.some((one) => one.key === key)).toBe(true);
        // Nobody who is shortened was used later than anyone who stays whole.
        const whole = movable.filter((one) => one.state === "whole" && cost(one, "whole") > cost(one, "summarized"));
        const gone = whole.flatMap(({ key, lastUsed }) => (states.has(key) ? [lastUsed] : []));
        const staying = whole.flatMap(({ key, lastUsed }) => (states.has(key) ? [] : [lastUsed]));
        if (gone.length > 0 && staying.length > 0) expect(Math.max(...gone)).toBeLessThanOrEqual(Math.min(...staying));
      }),
    );
  });
});

describe("a conversation with shortened pieces", () => {
  it("is the same but for them, and the same states give the same bytes", () => {
    const messages: ContextMessage[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "My words.", attached: false },
          { type: "text", text: long("file"), attached: true, key: "m#1" },
        ],
      },
      { role: "assistant", content: [{ type: "tool_call", id: "1", name: "read_file", args: {} }] },
      { role: "tool", results: [{ callId: "1", name: "read_file", text: long("output"), isError: false, key: "m/1" }] },
    ];
    const states = new Map([
      ["m#1", "left_out"],
      ["m/1", "summarized"],
    ] as const);
    const shortened = applyStates(messages, states);
    expect(JSON.stringify(shortened)).toContain("My words.");
    expect(JSON.stringify(shortened[0])).toContain("[left out to make room; read again if needed]");
    expect(JSON.stringify(shortened[2])).toContain("[shortened; read again if needed]");
    expect(shortened[1]).toBe(messages[1]);
    expect(JSON.stringify(applyStates(messages, states))).toBe(JSON.stringify(shortened));
  });
});
