import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { replaceText } from "../../../../agent-server/workspace/text/match.ts";
import { type Intent, intentsOf } from "../../../support/edits/cases.ts";
import { type Drift, dishonest, type Given, honest } from "../../../support/edits/drifts.ts";
import { chooser, minifiedSources, missingSources, sources } from "../../../support/edits/sources.ts";
import { editTraps, oldVersionTraps } from "../../../support/edits/traps.ts";
import { runs } from "../../../support/soak.ts";

/** Edits of each file that every drift is tried on. */
const each = 3;

interface Tally {
  applied: number;
  refused: number;
}

const files = sources();
const intents = files.flatMap((source) => intentsOf(source, each));
const edit = (text: string, oldText: string, newText: string) => replaceText(text, { oldText, newText, replaceAll: false });

/** Makes the edit and says what came of it. @throws where the file is not exactly what it should be. */
function outcomeOf(intent: Intent, given: Given, name: string): "applied" | "refused" {
  const outcome = edit(intent.source.text, given.old.join("\n"), given.made.join("\n"));
  if (!outcome.ok) {
    expect(outcome.problem).toMatch(/Nothing was changed/);
    return "refused";
  }
  if (outcome.text !== intent.expected) {
    let at = 0;
    while (outcome.text[at] === intent.expected[at]) at++;
    const around = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 80), at + 80));
    throw new Error(
      `${name}: ${intent.source.path} line ${intent.start + 1} (${intent.kind}): ${around(outcome.text)} and not ${around(intent.expected)}`,
    );
  }
  return "applied";
}

function tally(name: string, drift: Drift): Tally {
  const count: Tally = { applied: 0, refused: 0 };
  for (const intent of intents) {
    const given = drift({ old: intent.old, made: intent.made }, intent, chooser(`${intent.source.path} ${name}`));
    if (given === null || given.old.join("\n") === given.made.join("\n")) continue;
    // Drifted text that stands letter by letter at another place asks for that place.
    if (name !== "none" && intent.source.text.includes(given.old.join("\n")) && name in dishonest) continue;
    count[outcomeOf(intent, given, name)] += 1;
  }
  return count;
}

describe("a corpus of edits of published sources", () => {
  it("uses installed packages", () => {
    expect(missingSources()).toEqual([]);
    expect(files.length).toBeGreaterThan(60);
    expect(intents.length).toBeGreaterThan(180);
    expect(new Set(files.map(({ kind }) => kind)).size).toBe(13);
  });

  const tallies = new Map<string, Tally>();

  it.each(Object.entries(honest))("edits only the right place, byte for byte: %s", (name, drift) => {
    const count = tally(name, drift);
    tallies.set(name, count);
    const all = count.applied + count.refused;
    expect(all, "occasions for it").toBeGreaterThan(0);
    // Of lines left out, parts that stand at several places are refused.
    expect(count.applied / all).toBeGreaterThan(name === "lines left out" ? 0.75 : name === "flatter steps" ? 0.95 : 0.99);
  });

  it.each(Object.entries(dishonest))("refuses different words: %s", (name, drift) => {
    const count = tally(name, drift);
    tallies.set(name, count);
    expect(count.refused).toBeGreaterThan(50);
    expect(count.applied / (count.applied + count.refused)).toBeLessThan(0.05);
  });

  it("reaches the expected totals", () => {
    const sum = (names: readonly string[], of: keyof Tally) => names.reduce((all, name) => all + (tallies.get(name)?.[of] ?? 0), 0);
    const [good, bad] = [Object.keys(honest), Object.keys(dishonest)];
    console.log(
      `edit corpus: ${intents.length} edits of ${files.length} files; drifted ${sum(good, "applied") + sum(good, "refused")}, applied ${sum(good, "applied")}, refused ${sum(good, "refused")}; with other words ${sum(bad, "applied") + sum(bad, "refused")}, refused ${sum(bad, "refused")}; wrong places 0`,
    );
    expect(sum(good, "applied")).toBeGreaterThan(2000);
  });

  it("tolerates several differences at the same time", () => {
    const drifts = Object.keys(honest).filter((name) => name !== "none" && !/numbers|left out|other line ends/.test(name));
    // One text is indented in one way, however wrong.
    const indents = drifts.filter((name) => /indent|tab|steps/.test(name));
    let applied = 0;
    let refused = 0;
    fc.assert(
      fc.property(
        fc.nat(intents.length - 1),
        fc.constantFrom(...indents),
        fc.shuffledSubarray(
          drifts.filter((name) => !indents.includes(name)),
          { minLength: 1, maxLength: 3 },
        ),
        fc.constantFrom("none", "other line ends", "line numbers"),
        (number, indent, others, last) => {
          const intent = intents[number];
          if (intent === undefined) return;
          let given: Given = { old: intent.old, made: intent.made };
          for (const one of [...others, indent, last]) given = honest[one]?.(given, intent, chooser(intent.source.path)) ?? given;
          if (given.old.join("\n") === given.made.join("\n")) return;
          const name = [...others, indent, last].join(", ");
          if (outcomeOf(intent, given, name) === "applied") applied += 1;
          else refused += 1;
        },
      ),
      { numRuns: runs(200, 800) },
    );
    console.log(`edit corpus, drifts combined: applied ${applied}, refused ${refused}`);
    expect(applied).toBeGreaterThan(refused * 9);
  });
});

describe("traps in real files", () => {
  const traps = [...editTraps(files, 2), ...oldVersionTraps()];
  const names = [...new Set(traps.map(({ name }) => name))];

  it("cover ten kinds", () => {
    console.log(`edit traps: ${names.map((name) => `${name} ${traps.filter((trap) => trap.name === name).length}`).join("; ")}`);
    expect(names).toHaveLength(10);
    expect(traps.length).toBeGreaterThan(500);
  });

  it.each(names)("are refused: %s", (name) => {
    let named = 0;
    let asked = 0;
    for (const trap of traps.filter((one) => one.name === name)) {
      const outcome = edit(trap.text, trap.oldText, trap.newText);
      if (trap.expected !== null) {
        expect([trap.path, outcome.ok && outcome.text === trap.expected]).toEqual([trap.path, true]);
        continue;
      }
      expect([trap.path, trap.oldText, outcome.ok]).toEqual([trap.path, trap.oldText, false]);
      if (outcome.ok) continue;
      asked += trap.lines.length;
      for (const line of trap.lines) if (new RegExp(`(?:^|\\D)${line}(?:\\D|$)`).test(outcome.problem)) named += 1;
      expect(outcome.problem).toMatch(/nearest text|matches \d+ places|nothing similar|Part of it|Write every line/);
    }
    // Where one file holds many blocks alike, another of them may be the nearest.
    expect(named).toBeGreaterThanOrEqual(asked * (name.startsWith("a near copy is left") ? 0.95 : 1));
  });
});

describe("minified files", () => {
  const cases = minifiedSources().flatMap((source) => {
    const choose = chooser(source.path);
    return Array.from({ length: 12 }, () => {
      const from = choose.below(source.text.length - 400);
      const cut = source.text.slice(from, from + 40 + choose.below(60));
      // From word to word, as whoever quotes does.
      const part = cut.replace(/^[\w$]*\s*/, "").replace(/\s*[\w$]*$/, "");
      return { source, at: from + cut.indexOf(part), part };
    }).filter(
      ({ part }) =>
        !part.includes("\n") &&
        part.trim() === part &&
        /[a-z]{3}/.test(part) &&
        source.text.split(part).length === 2 &&
        !/[\ud800-\udfff]/.test(part),
    );
  });

  it("are edited within lines, with surrounding whitespace or different quotes", () => {
    expect(cases.length).toBeGreaterThan(30);
    for (const { source, at, part } of cases) {
      const word = /[a-z]{3,}/.exec(part);
      const made = part.slice(0, word?.index) + "xyz" + part.slice((word?.index ?? 0) + (word?.[0].length ?? 0));
      if (made === part) continue;
      const expected = source.text.slice(0, at) + made + source.text.slice(at + part.length);
      const typographic = (text: string) => text.replaceAll('"', "\u201d").replaceAll("'", "\u2019");
      for (const change of [(text: string) => text, (text: string) => `${text}\n`, (text: string) => `  ${text}`, typographic]) {
        const outcome = edit(source.text, change(part), change(made));
        if (!outcome.ok) expect(outcome.problem).toMatch(/matches \d+ places/);
        else expect([source.path, outcome.text === expected]).toEqual([source.path, true]);
      }
      const missed = edit(source.text, `${part.slice(0, -8)}QQQQQQQQ`, "x");
      expect(missed.ok).toBe(false);
    }
  });
});
