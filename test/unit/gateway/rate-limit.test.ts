import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRateLimit, parseRateLimit } from "../../../agent-server/gateway/rate-limit.ts";

describe("rate limit", () => {
  it("never lets more than the limit through in any window", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.array(fc.integer({ min: 0, max: 700 }), { maxLength: 60 }), (limit, gaps) => {
        const windowMs = 1000;
        const rate = createRateLimit(limit, windowMs);
        let now = 0;
        const accepted: number[] = [];
        for (const gap of gaps) {
          now += gap;
          if (rate.take(now) === null) accepted.push(now);
        }
        for (const time of accepted)
          expect(accepted.filter((other) => other > time - windowMs && other <= time).length).toBeLessThanOrEqual(limit);
      }),
    );
  });

  it("accepts the next request after the announced wait", () => {
    const rate = createRateLimit(2, 10_000);
    expect([rate.take(0), rate.take(1000)]).toEqual([null, null]);
    const wait = rate.take(2000);
    expect(wait).toBe(8);
    expect(rate.take(2000 + (wait ?? 0) * 1000)).toBeNull();
  });

  it.each([
    [undefined, 60, 60_000],
    ["", 60, 60_000],
    ["5", 5, 60_000],
    ["600/10", 600, 10_000],
    ["60/60 s", 60, 60_000],
  ])("reads %j", (text, limit, windowMs) => expect(parseRateLimit(text)).toEqual({ limit, windowMs }));

  it.each(["0", "-1", "many", "5/0", "5/", "1e9"])("refuses %j with what to write", (text) =>
    expect(() => parseRateLimit(text)).toThrow(/60\/60/),
  );
});
