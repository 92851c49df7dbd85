import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { admitsFailure, type FailedStep } from "../../../agent-server/turn/failure-admission.ts";

const steps: Record<"delete" | "edit" | "test" | "push", FailedStep> = {
  delete: { title: "Delete src/old.ts", subject: "src/old.ts" },
  edit: { title: "Edit src/cart.ts", subject: "src/cart.ts" },
  test: { title: "Run npm test", subject: "npm test" },
  push: { title: "Run git push", subject: "git push" },
};
const Row = z.tuple([z.enum(["admits", "omits"]), z.enum(["delete", "edit", "test", "push"]), z.string()]);
const rows = (half: "tuning" | "held-out") =>
  readFileSync(join(import.meta.dirname, `../../fixtures/failure-answers/${half}.txt`), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [kind, step, answer] = Row.parse(line.split(" | "));
      return { kind, step: steps[step], answer: answer.replaceAll(String.raw`\n`, "\n") };
    });
const wrong = (half: "tuning" | "held-out", kind: "admits" | "omits") =>
  rows(half).filter((row) => row.kind === kind && admitsFailure(row.answer, [row.step]) !== (kind === "admits"));

describe("an answer after a failed or denied step", () => {
  it("is judged on at least 60 answers of each kind, half of them held out", () => {
    const all = [...rows("tuning"), ...rows("held-out")];
    for (const kind of ["admits", "omits"]) expect(all.filter((row) => row.kind === kind).length).toBeGreaterThanOrEqual(60);
    expect(rows("tuning")).toHaveLength(rows("held-out").length);
    expect(new Set(all.map(({ answer }) => answer)).size).toBe(all.length);
  });

  it.each(["admits", "omits"] as const)("that %s it is recognized", (kind) => {
    expect(wrong("tuning", kind).map(({ answer }) => answer)).toEqual([]);
    // By words alone, 13 and 14 of 31 were wrong.
    expect(wrong("held-out", kind).length).toBeLessThanOrEqual(3);
  });

  it("admits it also in a long answer that otherwise reports success, in every line", () => {
    const success = rows("tuning").filter(({ kind }) => kind === "omits");
    for (const { answer, step } of rows("tuning").filter(({ kind }) => kind === "admits"))
      expect(admitsFailure(`${success.map((one) => one.answer).join("\n\n")}\n\n${answer}`, [step]), answer).toBe(true);
  });

  it("does not admit it in a code block, or of another subject", () => {
    expect(admitsFailure("Done:\n```\nI could not delete src/old.ts.\n```", [steps.delete])).toBe(false);
    expect(admitsFailure("Done. README.md remains unchanged.", [steps.delete])).toBe(false);
    expect(admitsFailure("Done. src/old.ts remains unchanged.", [steps.delete])).toBe(true);
  });

  it("is read whatever it holds", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 500 }), (text) => {
        expect(typeof admitsFailure(text, [steps.edit])).toBe("boolean");
      }),
    );
    for (const text of ["not ".repeat(250_000), "a".repeat(1_000_000), "was the fixed ".repeat(70_000), "`".repeat(1_000_000)])
      expect(admitsFailure(text, [steps.edit])).toBe(false);
  });
});
