import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { addUsage, noUsage } from "../../../../agent-server/contract/chat.ts";
import { providerKinds } from "../../../../agent-server/contract/models.ts";
import { lanes } from "../../../../agent-server/contract/router.ts";
import { type UsageRow, UsageSummary } from "../../../../agent-server/contract/usage.ts";
import { createCalendar, daysBefore } from "../../../../agent-server/models/usage/calendar.ts";
import { type Books, call, openBooks } from "./book.ts";

let books: Books;
beforeEach(() => {
  books = openBooks({ titles: { q1: "Fix the tests" } });
});
afterEach(() => {
  vi.useRealTimers();
  books.remove();
});

const nanosOf = (usd: number): number => Math.round(usd * 1e9);
const anyCall = fc.record({
  questId: fc.constantFrom(null, "q1", "q2", "q3"),
  provider: fc.constantFrom("anthropic", "openai", "work", "local"),
  kind: fc.constantFrom(...providerKinds),
  model: fc.constantFrom("claude-sonnet-5-5", "gpt-6.1-sol", "grok-4.20", "nobody-knows"),
  lane: fc.constantFrom(...lanes),
  usage: fc.record({
    inputTokens: fc.nat(400_000),
    cachedInputTokens: fc.nat(400_000),
    cacheWriteTokens: fc.nat(1000),
    outputTokens: fc.nat(30_000),
    reasoningTokens: fc.nat(30_000),
  }),
  onThisMachine: fc.boolean(),
  daysAgo: fc.nat(29),
});

describe("the sums", () => {
  it("by lane, provider, model, quest and day each add up to the total, to the token and the nano-dollar", () => {
    const { book } = books.open();
    const noon = Date.parse("2026-11-22T12:00:00Z");
    fc.assert(
      fc.property(fc.array(anyCall, { maxLength: 20 }), (calls) => {
        books.clock.at = new Date(noon);
        book.reset();
        let usage = noUsage();
        for (const { daysAgo, ...one } of calls) {
          books.clock.at = new Date(noon - daysAgo * 86_400_000);
          const counted = call(one);
          usage = addUsage(usage, counted.usage);
          book.count(counted);
        }
        books.clock.at = new Date(noon);
        const summary = UsageSummary.parse(book.summary({ days: 30 }));
        expect(summary.total).toMatchObject({ calls: calls.length, usage });
        const partitions: UsageRow[][] = [
          summary.byLane,
          summary.byProvider,
          summary.byModel,
          summary.byQuest,
          summary.byDay,
          summary.byDay.flatMap((day) => day.lanes),
        ];
        for (const rows of partitions) {
          expect(rows.reduce((sum, row) => sum + row.calls, 0)).toBe(calls.length);
          expect(rows.reduce((sum, row) => addUsage(sum, row.usage), noUsage())).toEqual(usage);
          expect(rows.reduce((sum, row) => sum + nanosOf(row.costUsd), 0)).toBe(nanosOf(summary.total.costUsd));
          expect(rows.reduce((sum, row) => sum + nanosOf(row.cacheSavingsUsd), 0)).toBe(nanosOf(summary.total.cacheSavingsUsd));
          expect(rows.reduce((sum, row) => sum + row.unpricedCalls, 0)).toBe(summary.total.unpricedCalls);
        }
      }),
      { numRuns: 25 },
    );
  });

  it("name what they are of, and can be narrowed to a quest and to days", () => {
    const { book } = books.open();
    book.count(call({ usage: { outputTokens: 1_000 } }));
    book.count(call({ questId: "gone", lane: "flagship_deep", model: "claude-opus-5-5", usage: { outputTokens: 1_000 } }));
    book.count(
      call({ questId: null, provider: "local", kind: "local", model: "Qwen3", lane: "local_utility", usage: { outputTokens: 50 } }),
    );
    books.clock.at = new Date("2026-11-24T12:00:00Z");
    const { byLane, byProvider, byModel, byQuest, today } = book.summary({ days: 3 });
    const names = (rows: UsageRow[]) => rows.map(({ key, name, costUsd }) => [key, name, costUsd]);
    expect(names(byLane)).toEqual([
      ["flagship_deep", "Deep", 0.02],
      ["flagship_fast", "Fast", 0.01],
      ["local_utility", "Local", 0],
    ]);
    expect(names(byProvider)).toEqual([
      ["anthropic", "Anthropic", 0.03],
      ["local", "Local model", 0],
    ]);
    expect(names(byModel).map(([key]) => key)).toEqual(["anthropic/claude-opus-5-5", "anthropic/claude-sonnet-5-5", "local/Qwen3"]);
    expect(names(byQuest)).toEqual([
      ["gone", "A deleted task", 0.02],
      ["q1", "Fix the tests", 0.01],
      ["", "Outside a task", 0],
    ]);
    expect(today.calls).toBe(0);
    expect(book.summary({ days: 2 }).total.calls).toBe(0);
    expect(book.summary({ days: 3, questId: "q1" }).total).toMatchObject({ calls: 1, costUsd: 0.01 });
    expect(book.lanes({ days: 3 }).items).toEqual(byLane);
    expect(book.questCost("q1")).toBe(0.01);
    expect(book.questCost("never")).toBeNull();
  });

  it("say what caches and local work saved", () => {
    const { book } = books.open();
    // 9,000×2 without a cache; with it 1,000×2 + 8,000×0.10
    book.count(call({ usage: { inputTokens: 9_000, cachedInputTokens: 8_000 } }));
    // writing costs 1,000×0.50 more than reading
    book.count(call({ usage: { inputTokens: 1_000, cacheWriteTokens: 1_000 } }));
    book.count(
      call({
        provider: "local",
        kind: "local",
        model: "Qwen3",
        lane: "local_utility",
        usage: { inputTokens: 10_000, outputTokens: 1_000 },
      }),
    );
    expect(book.savings({ days: 1 })).toEqual({
      localCalls: 1,
      localTokens: 11_000,
      savedUsd: 0.03,
      comparedWith: "anthropic/claude-sonnet-5-5",
      cacheSavingsUsd: 0.0147,
    });
    books.write("models.yaml", "active: openai\n");
    expect(book.savings({ days: 1 })).toMatchObject({ savedUsd: 0.015, comparedWith: "openai/gpt-6.1-terra" });
    books.write(
      "models.yaml",
      'active: work\nproviders:\n  work: { kind: openai_compatible, base_url: "http://10.0.0.1/v1", fast: { model: m } }\n',
    );
    expect(book.savings({ days: 1 }).comparedWith).toBe("anthropic/claude-sonnet-5-5");
  });

  it("count nothing as saved that a proxy on this machine was paid for", () => {
    const { book } = books.open();
    books.write("prices.yaml", "prices:\n  - { provider: proxy, models: ['*'], input: 1, output: 1 }\n");
    book.count(call({ provider: "proxy", kind: "openai_compatible", model: "m", onThisMachine: true, usage: { inputTokens: 1_000 } }));
    expect(book.savings({ days: 1 })).toMatchObject({ localCalls: 0, localTokens: 0, savedUsd: 0 });
  });

  it("price afterwards what had no price, and leave alone what had one", () => {
    const { book } = books.open();
    book.count(call({ provider: "work", kind: "openai_compatible", model: "new", usage: { inputTokens: 1_000_000 } }));
    book.count(call({ usage: { outputTokens: 1_000 } }));
    expect(book.summary({ days: 1 })).toMatchObject({ total: { costUsd: 0.01, unpricedCalls: 1 }, prices: { missing: ["work/new"] } });
    books.write(
      "prices.yaml",
      "prices:\n  - { provider: work, models: [new], input: 1, output: 1 }\n  - { kind: anthropic, models: ['*'], input: 50, output: 50 }\n",
    );
    book.notice();
    expect(book.summary({ days: 1 })).toMatchObject({ total: { costUsd: 1.01, unpricedCalls: 0 }, prices: { missing: [] } });
  });

  it("start again with a reset", () => {
    const { book } = books.open();
    book.count(call({ usage: { outputTokens: 1_000 } }));
    expect(book.summary({ days: 1 }).since).toBe("2026-11-22T12:00:00.000Z");
    books.clock.at = new Date("2026-11-22T13:00:00Z");
    expect(book.reset()).toMatchObject({ total: { calls: 0, costUsd: 0 }, byQuest: [], since: "2026-11-22T13:00:00.000Z" });
    expect(book.questCost("q1")).toBeNull();
    book.count(call({ usage: { outputTokens: 1_000 } }));
    expect(books.open().book.summary({ days: 1 })).toMatchObject({ total: { calls: 1 }, since: "2026-11-22T13:00:00.000Z" });
  });
});

describe("a day", () => {
  it.each([
    ["Europe/Berlin", "2026-03-28T23:30:00Z", "2026-03-29"], // the night the clocks go forward
    ["Europe/Berlin", "2026-03-29T21:59:59Z", "2026-03-29"], // 23 hours long
    ["Europe/Berlin", "2026-03-29T22:00:00Z", "2026-03-30"],
    ["Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25"], // 25 hours long
    ["Europe/Berlin", "2026-10-25T22:59:59Z", "2026-10-25"],
    ["Europe/Berlin", "2026-10-25T23:00:00Z", "2026-10-26"],
    ["America/St_Johns", "2026-07-01T02:29:59Z", "2026-06-30"],
    ["America/St_Johns", "2026-07-01T02:30:00Z", "2026-07-01"],
    ["Pacific/Kiritimati", "2026-12-31T10:00:00Z", "2027-01-01"],
    ["UTC", "2024-02-29T23:59:59Z", "2024-02-29"],
  ])("in %s at %s is %s", (zone, at, day) => {
    expect(createCalendar(zone)(new Date(at))).toBe(day);
  });

  it("back is one of the calendar, over a change of the clocks and of the year too", () => {
    expect(daysBefore("2026-03-30", 1)).toBe("2026-03-29");
    expect(daysBefore("2026-10-26", 2)).toBe("2026-10-24");
    expect(daysBefore("2026-01-01", 1)).toBe("2025-12-31");
    expect(daysBefore("2024-03-01", 1)).toBe("2024-02-29");
    expect(daysBefore("2026-11-22", 0)).toBe("2026-11-22");
  });

  it("of the owner is the one a call is counted to", () => {
    books.remove();
    books = openBooks({ timeZone: "Europe/Berlin", at: "2026-10-25T22:59:00Z" });
    const { book } = books.open();
    book.count(call({ usage: { outputTokens: 1_000 } }));
    books.clock.at = new Date("2026-10-25T23:00:00Z");
    book.count(call({ usage: { outputTokens: 1_000 } }));
    const { byDay, today } = book.summary({ days: 2 });
    expect(byDay.map(({ key, calls }) => [key, calls])).toEqual([
      ["2026-10-25", 1],
      ["2026-10-26", 1],
    ]);
    expect(today.calls).toBe(1);
  });
});

describe("the event", () => {
  it("comes at once, and for many calls in a moment once more, naming the quest when it is one", () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { book } = books.open();
    for (let n = 0; n < 5; n++) book.count(call({ usage: { outputTokens: 1 } }));
    expect(books.reported).toEqual(["q1"]);
    vi.runAllTimers();
    expect(books.reported).toEqual(["q1", "q1"]);
    vi.runAllTimers();
    expect(books.reported).toHaveLength(2);
    book.count(call({ usage: { outputTokens: 1 } }));
    book.count(call({ usage: { outputTokens: 1 } }));
    book.count(call({ questId: "q2", usage: { outputTokens: 1 } }));
    vi.runAllTimers();
    expect(books.reported).toEqual(["q1", "q1", "q1", null]);
    book.close();
  });

  it("reports caps and prices that another window or the owner's editor changed", () => {
    const { book } = books.open();
    book.summary({ days: 1 });
    book.notice();
    expect(books.reported).toEqual([]);
    books.open().book.setCaps({ questUsd: 2, dayUsd: null });
    const reported = books.reported.length;
    book.notice();
    expect(books.reported).toHaveLength(reported + 1);
    book.notice();
    expect(books.reported).toHaveLength(reported + 1);
  });
});
