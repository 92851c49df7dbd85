import * as fc from "fast-check";
import { expect, it } from "vitest";
import { type ChatItem, fitChat } from "../../../../agent-server/models/local/context-fit.ts";
import type { Turn } from "../../../../agent-server/models/local/model-protocol.ts";

/** A token for each character, and three for each message. */
const count = (chat: readonly ChatItem[]) => chat.reduce((sum, { text }) => sum + text.length + 3, 0);
const user = (text: string): Turn => ({ role: "user", text });
const assistant = (text: string): Turn => ({ role: "assistant", text });
const tool = (text: string): Turn => ({ role: "tool", results: [{ name: "read_file", text, isError: false }] });
const textOf = (chat: readonly ChatItem[]) => chat.map(({ text }) => text).join("\n");

const fit = (turns: Turn[], limit: number) => fitChat({ system: "system", example: [], turns }, limit, count);

it("leaves a chat that fits as it is, with results as words of the user", () => {
  const { chat, leftOut } = fit([user("What is in a.ts?"), assistant("call"), tool("content")], 1_000);
  expect(chat).toEqual([
    { role: "system", text: "system" },
    { role: "user", text: "What is in a.ts?" },
    { role: "assistant", text: "call" },
    { role: "user", text: "Result of read_file:\ncontent" },
  ]);
  expect(leftOut).toEqual({ toolOutputs: 0, turns: 0 });
});

it("shortens the oldest tool outputs first, marks the cut, and keeps the newest", () => {
  const turns = [
    user("question"),
    assistant("one"),
    tool("1".repeat(900)),
    assistant("two"),
    tool("2".repeat(900)),
    assistant("three"),
    tool("3".repeat(900)),
  ];
  const { chat, leftOut } = fit(turns, 2_400);
  expect(textOf(chat)).toContain(`${"1".repeat(240)}\n[cut: 660 characters left out]`);
  expect(textOf(chat)).toContain("3".repeat(900));
  expect(leftOut.toolOutputs).toBeGreaterThan(0);
  expect(leftOut.turns).toBe(0);
});

it("then leaves out old turns, says how many, and keeps the owner's first and last words", () => {
  const old = Array.from({ length: 10 }, (_, index) => [
    user(`old question ${index} ${"x".repeat(100)}`),
    assistant(`old answer ${index}`),
  ]).flat();
  const { chat, leftOut } = fit([user("first"), assistant("yes"), ...old, user("last")], 700);
  expect(textOf(chat)).toContain(`[cut: ${leftOut.turns} earlier messages left out]`);
  expect(textOf(chat)).toContain("first");
  expect(chat.at(-1)?.text).toMatch(/last$/);
  expect(textOf(chat)).not.toContain("old question 0");
});

it("then cuts the newest output by what is too much", () => {
  const { chat, tokens, leftOut } = fit([user("question"), assistant("call"), tool("y".repeat(5_000))], 1_000);
  expect(tokens).toBeGreaterThan(950);
  expect(textOf(chat)).toMatch(/y{500,}\n\[cut: \d+ characters left out\]$/);
  expect(leftOut).toEqual({ toolOutputs: 1, turns: 0 });
});

it("says with figures that the owner's words alone are too long, rather than cutting them", () => {
  expect(() => fit([user("z".repeat(2_000))], 1_000)).toThrow(
    expect.objectContaining({ code: "too_large", data: { tokens: 2_012, limit: 1_000 } }),
  );
});

it("never goes over the limit, never loses the last words, and marks whatever it left out", () => {
  const turn = fc.oneof(
    fc.record({ role: fc.constant("user" as const), text: fc.string({ minLength: 1, maxLength: 300 }) }),
    fc.record({ role: fc.constant("assistant" as const), text: fc.string({ minLength: 1, maxLength: 300 }) }),
    fc.string({ maxLength: 2_000 }).map(tool),
  );
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 15 }), fc.integer({ min: 400, max: 4_000 }), (turns, limit) => {
      const all = [user("first words"), ...turns, user("last words")];
      const { chat, tokens, leftOut } = fit(all, limit);
      expect(tokens).toBe(count(chat));
      expect(tokens).toBeLessThanOrEqual(limit);
      expect(textOf(chat)).toContain("last words");
      expect(chat.every(({ role }, index) => index === 0 || role !== chat[index - 1]?.role)).toBe(true);
      if (leftOut.turns > 0 || leftOut.toolOutputs > 0) expect(textOf(chat)).toContain("[cut: ");
    }),
  );
});
