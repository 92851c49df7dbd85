import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { experienceText, shortLine, summaryByRules, transcript, durationText } from "../../../agent-server/memory/episode-texts.ts";
import type { TimelineMessage } from "../../../agent-server/memory/item-types.ts";

const message = (role: "user" | "assistant", text: string, at = 0): TimelineMessage => ({
  ...{ id: `m${String(at)}`, questId: "q", workspace: "/projects/a", role, text, createdAt: at },
});

describe("a time in words", () => {
  it.each([
    [0, "1 second"],
    [1_400, "1 second"],
    [8_000, "8 seconds"],
    [59_499, "59 seconds"],
    [60_000, "1 minute"],
    [170_000, "3 minutes"],
    [3_600_000, "1 hour"],
    [3_900_000, "1 hour 5 minutes"],
    [7_260_000, "2 hours 1 minute"],
  ])("%i ms: %s", (ms, expectedText) => expect(durationText(ms)).toBe(expectedText));
});

describe("an experience", () => {
  it("says what was asked, what was done, how it ended and how long it took", () => {
    const end = {
      outcome: "done" as const,
      actions: ["read_file src/cart.ts", "edit_file src/cart.ts", "read_file src/cart.ts"],
      durationMs: 8_000,
    };
    expect(experienceText(end, "Fix the\n total.")).toBe(
      "Asked: Fix the total.\nDid: read_file src/cart.ts, edit_file src/cart.ts.\nOutcome: done, after 8 seconds.",
    );
    expect(experienceText(end, null)).not.toContain("Asked");
  });

  it("does not call a question that needed no tools a failure", () => {
    expect(experienceText({ outcome: "done", actions: [], durationMs: 500 }, "What is a monad?")).toBe(
      "Asked: What is a monad?\nDone without tools.\nOutcome: done, after 1 second.",
    );
  });

  it("names twelve actions and counts the others", () => {
    const actions = Array.from({ length: 40 }, (_, index) => `run_command ${"x".repeat(300)} ${String(index)}`).map(
      (text, index) => `${String(index)} ${text}`,
    );
    const text = experienceText({ outcome: "failed", actions, durationMs: 1_000 }, "y ".repeat(5_000));
    expect(text).toContain(" and 28 more.");
    expect(text.length).toBeLessThan(2_000);
  });
});

describe("a summary by rules", () => {
  it("reports the first request, later ones, and the last answer", () => {
    const messages = [
      message("user", "Add a cart."),
      message("assistant", "Which currency?"),
      message("user", "Euro."),
      message("assistant", "Done: the cart shows euro."),
    ];
    expect(summaryByRules(messages, 1_000)).toBe("Asked: Add a cart.\nThen: Euro.\nLast answer: Done: the cart shows euro.");
  });

  it("reports the first and the last of many requests", () => {
    const messages = Array.from({ length: 20 }, (_, index) => message("user", `request ${String(index)}`, index));
    const text = summaryByRules(messages, 1_000);
    expect(text).toContain("Asked: request 0\nThen: request 1\nThen: request 2\nThen: request 3\nThen: request 17");
    expect(text).toContain("(13 more requests between them)");
  });

  const anyMessages = fc.array(fc.tuple(fc.constantFrom("user" as const, "assistant" as const), fc.string({ unit: "binary" })), {
    maxLength: 30,
  });

  it("is the same for the same messages, well-formed and no longer than asked", () => {
    fc.assert(
      fc.property(anyMessages, fc.integer({ min: 10, max: 500 }), (said, most) => {
        const messages = said.map(([role, text], index) => message(role, text, index));
        const text = summaryByRules(messages, most);
        expect(text.length).toBeLessThanOrEqual(most);
        expect(text.isWellFormed() || said.some(([, expectedText]) => !expectedText.isWellFormed())).toBe(true);
        expect(summaryByRules(structuredClone(messages), most)).toBe(text);
        expect(transcript(messages, most).length).toBeLessThanOrEqual(most + 5);
      }),
    );
  });

  it("shortens a line at a border of words", () => {
    expect(shortLine("one  two\nthree", 50)).toBe("one two three");
    expect(shortLine("one two three", 9)).toBe("one two…");
    expect(shortLine("abcdefghij", 5)).toBe("abcd…");
  });
});
