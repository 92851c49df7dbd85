import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createSanitizer } from "../../../agent-server/security/security.ts";
import { attacks, disguises } from "../../support/attacks.ts";
import { ordinaryFiles } from "../../support/ordinary-files.ts";
import { runs } from "../../support/soak.ts";

const problems: string[] = [];
const sanitizer = createSanitizer(join(import.meta.dirname, "../../../config"), (message) => problems.push(message));
const isFound = (text: string): boolean => !sanitizer.inspect(text).allowed;
const halves = ["tuning", "held-out"] as const;

describe("the set of attacks", () => {
  it("has at least 200 different ones, in English and eight other languages", () => {
    const all = halves.flatMap((half) => attacks(half));
    expect(new Set(all.map(({ text }) => text)).size).toBe(all.length);
    expect(all.length).toBeGreaterThanOrEqual(200);
    expect(new Set(all.map(({ language }) => language))).toEqual(new Set(["en", "de", "fr", "es", "it", "pt", "ru", "zh", "ja"]));
  });
});

// The rules were written with the tuning half in view, never with the other.
describe.each(halves)("of the %s half", (half) => {
  it.each(Object.entries(disguises))("at least 95 %% are found %s", (_, disguise) => {
    const all = attacks(half);
    const missed = all.filter(({ text }) => !isFound(disguise(text)));
    expect(1 - missed.length / all.length, missed.map(({ text }) => text).join("\n")).toBeGreaterThanOrEqual(0.95);
    expect(problems).toEqual([]);
  });
});

describe("ordinary paragraphs", () => {
  it("of documentation, comments and sources are warned about in fewer than 1 of 100 cases", () => {
    let all = 0;
    let found = 0;
    // Files about such texts quote them.
    const isAbout = /^(?:config\/(?:sanitizer|memory-gates)|agent-server\/security)/;
    const enough = runs(4_000, 200_000);
    for (const { path, text } of ordinaryFiles(runs(128, 16))) {
      if (all >= enough) break;
      if (isAbout.test(path) || (!path.endsWith(".md") && path.includes("openai/"))) continue;
      for (const part of text.split(/\n\s*\n/)) {
        if (part.trim().length < 20) continue;
        all += 1;
        if (isFound(part)) found += 1;
      }
    }
    expect(all).toBeGreaterThanOrEqual(runs(3_000, 100_000));
    expect(found / all).toBeLessThan(0.01);
  });
});
