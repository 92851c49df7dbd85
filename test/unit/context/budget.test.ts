import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ContextMessage, fitConversation, headByTokens, shorten } from "../../../agent-server/context/budget.ts";
import { createDataFence } from "../../../agent-server/context/fence.ts";
import { estimateMessage, estimateTokens } from "../../../agent-server/context/tokens.ts";
import { runs } from "../../support/soak.ts";

const owner = (text: string): ContextMessage => ({ role: "user", content: [{ type: "text", text }] });
const call = (id: string, args: Record<string, unknown> = {}, name = "read_file"): ContextMessage => ({
  role: "assistant",
  content: [{ type: "tool_call", id, name, args }],
});
const result = (callId: string, text: string): ContextMessage => ({
  role: "tool",
  results: [{ callId, name: "read_file", text, isError: false }],
});
const marker = "0123456789abcdef";
const data = createDataFence(marker);
const fenced = (text: string): string => data.wrap("read_file", text);
const long = "a line of a file that was read\n".repeat(400);

describe("fitting a conversation into a window", () => {
  it("leaves what fits as it is", () => {
    const messages = [owner("Hi."), call("1"), result("1", long)];
    expect(fitConversation(messages, 1_000_000, data)).toMatchObject({
      messages: [messages[0], messages[1], result("1", fenced(long))],
      cut: 0,
      fits: true,
    });
  });

  it("shortens the oldest outputs first and keeps the latest whole", () => {
    const messages = [owner("Hi."), call("1"), result("1", long), call("2"), result("2", long)];
    const whole = estimateMessage(result("1", long));
    const { messages: fitted, cut, fits } = fitConversation(messages, whole + 500, data);
    expect({ cut, fits }).toEqual({ cut: 1, fits: true });
    expect(JSON.stringify(fitted[2])).toContain("[shortened; read again if needed]");
    expect(fitted[4]).toEqual(result("2", fenced(long)));
  });

  it("marks what came from elsewhere after cutting it, and not what is the product's or the owner's", () => {
    const own: ContextMessage = { role: "tool", results: [{ callId: "2", name: "ask_owner", text: "Blue.", isError: false, own: true }] };
    const messages = [owner("Hi."), call("1"), result("1", long), call("2", {}, "ask_owner"), own];
    const { messages: fitted, cut } = fitConversation(messages, 600, data);
    expect(cut).toBeGreaterThan(0);
    for (const message of fitted) {
      if (message.role !== "tool") continue;
      for (const { name, text } of message.results) {
        if (name === "ask_owner") expect(text).toBe("Blue.");
        else expect([text.startsWith(`[data ${marker} from read_file]`), text.endsWith(`[end ${marker}]`)]).toEqual([true, true]);
      }
    }
    expect(JSON.stringify(fitted)).toContain(`[end ${marker}]`);
  });

  it("shortens attached files, never the owner's words", () => {
    const sentence = "my own words ".repeat(300);
    const mixed: ContextMessage = {
      role: "user",
      content: [
        { type: "text", text: long, attached: true },
        { type: "text", text: sentence },
      ],
    };
    const { messages, fits } = fitConversation([mixed, call("1"), result("1", "x")], estimateTokens(sentence) + 800, data);
    expect(fits).toBe(true);
    expect(messages[0]).toMatchObject({ content: [{ text: expect.stringContaining("[shortened") as string }, { text: sentence }] });
  });

  it("keeps the arguments of the plan and drops the long ones of finished edits", () => {
    const steps = "a step ".repeat(100);
    const messages = [
      owner("Hi."),
      call("1", { content: long }, "write_file"),
      result("1", "ok"),
      call("2", { steps }, "update_plan"),
      result("2", "ok"),
    ];
    const { messages: fitted } = fitConversation([...messages, call("3"), result("3", "x")], 900, data);
    expect(JSON.stringify(fitted[1])).toContain("[shortened");
    expect(JSON.stringify(fitted)).toContain(steps);
  });

  it("says when even the owner's words are too much", () => {
    expect(fitConversation([owner(long)], 100, data).fits).toBe(false);
  });

  it("is within its limit or says so, keeps every word of the owner, and never leaves a result without its call", () => {
    const step = fc.oneof(
      fc.string({ maxLength: 300 }).map((text): ContextMessage[] => [owner(`«${text}»`)]),
      fc
        .record({ id: fc.uuid(), args: fc.string({ maxLength: 3000 }), text: fc.string({ maxLength: 9000 }) })
        .map(({ id, args, text }): ContextMessage[] => [call(id, { args }), result(id, text)]),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.integer({ min: 0, max: 4000 }), (steps, limit) => {
        const messages = [owner("first"), ...steps.flat()];
        const fitted = fitConversation(messages, limit, data);
        const total = fitted.messages.reduce((sum, message) => sum + estimateMessage(message), 0);
        if (fitted.fits) expect(total).toBeLessThanOrEqual(limit);
        const wordsOf = (all: readonly ContextMessage[]) =>
          all.flatMap((message) => (message.role === "user" ? message.content.map((item) => (item.type === "text" ? item.text : "")) : []));
        expect(wordsOf(fitted.messages)).toEqual(wordsOf(messages));
        fitted.messages.forEach((message, index) => {
          if (message.role === "tool") expect(fitted.messages[index - 1]?.role).toBe("assistant");
          if (message.role === "user") expect(fitted.messages[index - 1]?.role).not.toBe("user");
        });
      }),
      { numRuns: runs(100, 300) },
    );
  });

  it("shortens from the middle, never to something longer", () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 2000 }),
        fc.integer({ min: 10, max: 500 }),
        (text, size) => shorten(text, size).length <= Math.max(text.length, size + 40),
      ),
    );
  });

  it("takes as much of a text as tokens allow", () => {
    const head = headByTokens(long, 100);
    expect(long.startsWith(head)).toBe(true);
    expect(estimateTokens(head)).toBeLessThanOrEqual(100);
    expect(head.length).toBeGreaterThan(200);
  });
});
