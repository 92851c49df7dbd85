import { describe, expect, it } from "vitest";
import { createPiiDetector, piiKinds } from "../../../../agent-server/security/security.ts";
import { type Half, languages, negatives, positives, type Sample, type Score, score } from "../../../support/pii/labelled.ts";

const detector = createPiiDetector(null);
await detector.ready();
const halves: readonly Half[] = ["dev", "held-out"];
const all = (half: Half): Sample[] => languages.flatMap((language) => positives(half, language));
const clean = (half: Half): Sample[] => negatives(half).map((text) => ({ text, labels: [] }));
const recall = ({ exact, labels }: Score): number => exact / labels;
const precision = ({ exact, false: wrong }: Score): number => exact / (exact + wrong);

describe("the labelled set", () => {
  it("has at least 520 samples with and 520 without personal data, in six languages alike", () => {
    const samples = halves.flatMap(all);
    expect(samples.length).toBeGreaterThanOrEqual(520);
    expect(samples.every(({ labels }) => labels.length > 0)).toBe(true);
    const without = halves.flatMap(negatives);
    expect(without.length).toBeGreaterThanOrEqual(520);
    expect(new Set(without).size).toBe(without.length);
    const sizes = languages.map((language) => halves.flatMap((half) => positives(half, language)).length);
    expect(Math.max(...sizes) / Math.min(...sizes)).toBeLessThan(1.1);
    const kinds = new Set(samples.flatMap(({ labels }) => labels.map(({ kind }) => kind)));
    expect([...piiKinds].filter((kind) => !kinds.has(kind))).toEqual(["custom"]);
  });

  it("shares no sample between its halves", () => {
    const dev = new Set([...all("dev").map(({ text }) => text), ...negatives("dev")]);
    expect([...all("held-out").map(({ text }) => text), ...negatives("held-out")].filter((text) => dev.has(text))).toEqual([]);
  });
});

describe.each(halves)("rules alone, %s half", (half) => {
  const found = score(detector, [...all(half), ...clean(half)]);

  it("find at least 95 % with the exact place and kind, and 98 % of what they find is personal", () => {
    expect(recall(found)).toBeGreaterThanOrEqual(0.95);
    expect(precision(found)).toBeGreaterThanOrEqual(0.98);
  });

  it.each(languages)("find at least 92 %% in %s", (language) => {
    expect(recall(score(detector, positives(half, language)))).toBeGreaterThanOrEqual(0.92);
  });

  it.each(piiKinds.filter((kind) => kind !== "custom"))("%s", (kind) => {
    const samples = all(half).flatMap(({ text, labels }) => {
      const own = labels.filter((label) => label.kind === kind);
      return own.length === 0 ? [] : [{ text, labels: own }];
    });
    // Names that nothing announces are the hard part; the others are told by their form or by a word.
    expect(recall(score(detector, samples))).toBeGreaterThanOrEqual(kind === "person" ? 0.7 : 0.9);
  });

  it("leave at least 99 % of texts without personal data alone", () => {
    const touched = negatives(half).filter((text) => detector.find(text).length > 0);
    expect(touched.length / negatives(half).length).toBeLessThan(0.01);
  });
});

describe("before the numbering plans are loaded", () => {
  it("as much is found", () => {
    const samples = halves.flatMap(all);
    const early = score(createPiiDetector(null), [...samples, ...halves.flatMap(clean)]);
    expect(recall(early)).toBeGreaterThanOrEqual(0.95);
    expect(precision(early)).toBeGreaterThanOrEqual(0.97);
  });
});
