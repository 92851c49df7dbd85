import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../agent-server/security/security.ts";
import { ordinaryFiles } from "../../support/ordinary-files.ts";
import { encodings, halves, isGone, type Sample, samples } from "../../support/secrets/contexts.ts";
import { runs } from "../../support/soak.ts";

const redactor = createRedactor();
const redact = (text: string): string => redactor.text(text).text;
const rounds = Array.from({ length: runs(1, 5) }, (_, round) => round);
const isFound = (sample: Sample): boolean => isGone(sample, redact(sample.before + sample.secret + sample.after));

describe("the set of secrets", () => {
  it("has at least 300 formats and contexts in each half, under different names", () => {
    const names = halves.map((half) => samples(half).map(({ name }) => name));
    for (const half of names) expect(half.length).toBeGreaterThanOrEqual(300);
    expect(new Set(names.flat()).size).toBe(names.flat().length);
  });

  it("notices what is left of a secret", () => {
    const sample = { name: "a", before: "password=", secret: "Tr0ub4dor&3", after: "" };
    expect(isGone(sample, "password=[redacted:password]")).toBe(true);
    for (const left of ["password=Tr0ub4dor&3", "password=[redacted:password]&3", "password=Tr0u[redacted:password]"])
      expect(isGone(sample, left)).toBe(false);
  });
});

// The rules were written with the tuning half in view, never with the other.
describe.each(halves)("of the %s half", (half) => {
  it.each(Object.entries(encodings))("at least 97 %% are replaced completely in %s", (_, encode) => {
    const all = rounds.flatMap((round) => samples(half, round).map(encode));
    const missed = all.filter((sample) => !isFound(sample));
    expect(1 - missed.length / all.length, missed.map(({ name }) => name).join(", ")).toBeGreaterThanOrEqual(0.97);
  });

  it("nearly all that stands around them stays", () => {
    const all = samples(half);
    const changed = all.filter(({ before, secret, after }) => {
      const clean = redact(before + secret + after);
      return !clean.startsWith(before.slice(0, 12)) || !clean.endsWith(after.slice(-12));
    });
    expect(changed.length / all.length, changed.map(({ name }) => name).join(", ")).toBeLessThan(0.06);
  });
});

describe("ordinary lines", () => {
  it("of sources, documentation and data of many packages stay: fewer than 2 in 1,000 change", () => {
    let lines = 0;
    let changed = 0;
    const kinds = new Set<string>();
    for (const { path, text } of ordinaryFiles(runs(64, 8))) {
      kinds.add(path.slice(path.lastIndexOf(".")));
      lines += text.split("\n").filter((line) => line.trim() !== "").length;
      changed += redactor.text(text).findings.length;
    }
    expect(lines).toBeGreaterThan(200_000);
    expect(kinds.size).toBeGreaterThanOrEqual(15);
    expect(changed / lines).toBeLessThan(0.002);
  });
});
