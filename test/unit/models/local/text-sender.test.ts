import * as fc from "fast-check";
import { expect, it, vi } from "vitest";
import { createTextSender } from "../../../../agent-server/models/local/text-sender.ts";

it("sends the first piece at once, joins what comes quickly, and loses nothing", () => {
  vi.useFakeTimers();
  try {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ minLength: 1 }), fc.integer({ min: 0, max: 60 })), { minLength: 1 }), (pieces) => {
        const sent: { text: string; at: number }[] = [];
        const began = performance.now();
        const sender = createTextSender((text) => sent.push({ text, at: performance.now() - began }));
        for (const [text, pause] of pieces) {
          sender.push(text);
          vi.advanceTimersByTime(pause);
        }
        const last = performance.now() - began;
        sender.end();
        expect(sent.map(({ text }) => text).join("")).toBe(pieces.map(([text]) => text).join(""));
        expect(sent[0]).toEqual({ text: pieces[0]?.[0], at: 0 });
        for (const [index, { at }] of sent.entries())
          if (index > 0 && at < last) expect(at - (sent[index - 1]?.at ?? 0)).toBeGreaterThanOrEqual(33);
        vi.runAllTimers();
        expect(sent.at(-1)?.at).toBeLessThanOrEqual(last);
      }),
    );
  } finally {
    vi.useRealTimers();
  }
});

it("sends what waits when its time has come, also when nothing follows", () => {
  vi.useFakeTimers();
  try {
    const sent: string[] = [];
    const sender = createTextSender((text) => sent.push(text));
    sender.push("a");
    sender.push("b");
    expect(sent).toEqual(["a"]);
    vi.advanceTimersByTime(33);
    expect(sent).toEqual(["a", "b"]);
    sender.end();
    expect(sent).toEqual(["a", "b"]);
  } finally {
    vi.useRealTimers();
  }
});
