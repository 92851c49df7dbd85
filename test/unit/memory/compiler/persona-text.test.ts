import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateTokens } from "../../../../agent-server/context/context.ts";
import { readSoul } from "../../../../agent-server/governance/soul/soul-document.ts";
import { soulPrompt } from "../../../../agent-server/governance/soul/soul-prompt.ts";
import { compilePersona } from "../../../../agent-server/memory/compiler/persona-text.ts";
import { shorten } from "../../../../agent-server/memory/compiler/shorten-to-tokens.ts";
import { runs } from "../../../support/soak.ts";

const shipped = (): { text: string; version: string } => {
  const { document } = readSoul(readFileSync("soul/soul_versions/soul_v1.yaml", "utf8"));
  if (document === null) throw new Error("the shipped soul cannot be read");
  return { text: soulPrompt({ version: document.version, document }), version: document.version };
};

describe("the persona", () => {
  it("of the shipped soul fits its 500 tokens, with mission, allegiance and what is asked first, and says that there is more", () => {
    const soul = shipped();
    const text = compilePersona(soul, 500, estimateTokens);
    expect(estimateTokens(text)).toBeLessThanOrEqual(500);
    expect(text).toMatch(/^Your constitution \(soul v1\)/);
    expect(text).toContain("\nMission: Do the owner's engineering work");
    expect(text).toContain("\nAllegiance: Lancelot serves one owner");
    expect(text).toContain("\nThe owner is asked every time before: delete,");
    expect(text).toMatch(/\nThere is more in the soul itself \(v1\)\.$/);
    for (const line of text.split("\n").slice(0, -1)) expect(soul.text.split("\n")).toContain(line);
  });

  it("is the whole soul where there is room, and empty without one", () => {
    const soul = shipped();
    expect(compilePersona(soul, 20_000, estimateTokens)).toBe(soul.text);
    expect(compilePersona(null, 500, estimateTokens)).toBe("");
  });

  it("keeps the order of the soul, whatever is kept first", () => {
    const soul = shipped();
    for (const max of [60, 120, 250, 500, 800]) {
      const lines = compilePersona(soul, max, estimateTokens).split("\n").slice(0, -1);
      const places = lines.map((line) => soul.text.split("\n").indexOf(line));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
    }
  });
});

describe("a text that is too long", () => {
  const more = "There is more.";
  const line = fc
    .array(fc.constantFrom("alpha", "beta", "gamma-delta", "naïve", "größe", "x", "a_very_long_name_of_something", "数据", "👩‍👩‍👧"), {
      minLength: 1,
      maxLength: 25,
    })
    .map((all) => all.join(" "));
  const text = fc
    .array(fc.tuple(fc.constantFrom("", "- ", "# ", "  ", "1. ", "Title: "), line), { minLength: 1, maxLength: 25 })
    .map((lines) => lines.map(([start, rest]) => start + rest).join("\n"));

  it("is shortened within its tokens to whole lines, in their order, and never inside a word", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 400 }), (whole, max) => {
        const short = shorten(whole, { max, estimateTokens, more });
        if (short === whole.trim()) return;
        if (short === "") return;
        expect(estimateTokens(short)).toBeLessThanOrEqual(max);
        expect(short.endsWith(`\n${more}`)).toBe(true);
        const lines = short.slice(0, -more.length - 1).split("\n");
        const given = whole.split("\n").map((one) => one.trimEnd());
        let from = 0;
        for (const kept of lines) {
          const at = given.findIndex(
            (one, index) =>
              index >= from && (one.trim() === kept.trim() || (kept.endsWith(" …") && one.trim().startsWith(kept.trim().slice(0, -2)))),
          );
          expect(at, kept).toBeGreaterThanOrEqual(from);
          const all = (given[at] ?? "").trim().split(" ");
          for (const word of kept.replace(/ …$/, "").trim().split(" ")) expect(all).toContain(word);
          from = at + 1;
        }
      }),
      { numRuns: runs(100, 300) },
    );
  });

  it("is the same each time", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 10, max: 100 }), (whole, max) => {
        expect(shorten(whole, { max, estimateTokens, more })).toBe(shorten(whole, { max, estimateTokens, more }));
      }),
      { numRuns: 50 },
    );
  });

  it("keeps a title only with something below it", () => {
    const whole = `# Style\n- ${"one ".repeat(60)}\n- two\n# Place\n- Berlin`;
    const short = shorten(whole, { max: 22, estimateTokens, more });
    expect(short).toBe(`# Place\n- Berlin\n${more}`);
  });

  it("that is one line is cut after a word", () => {
    const short = shorten("alpha beta gamma delta epsilon zeta eta theta ".repeat(20), { max: 15, estimateTokens, more });
    expect(short).toMatch(/^(?:(?:alpha|beta|gamma|delta|epsilon|zeta|eta|theta) )+…\nThere is more\.$/);
    expect(estimateTokens(short)).toBeLessThanOrEqual(15);
  });
});
