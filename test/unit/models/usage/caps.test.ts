import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LancelotError } from "../../../../agent-server/contract/errors.ts";
import { createCapsFile } from "../../../../agent-server/models/usage/caps.ts";
import { type Books, call, next, openBooks } from "./book.ts";

let books: Books;
beforeEach(() => {
  books = openBooks();
});
afterEach(() => books.remove());

function refusal(work: () => unknown): LancelotError {
  try {
    work();
  } catch (error) {
    if (error instanceof LancelotError) return error;
    throw error;
  }
  throw new Error("It was admitted.");
}

// claude-sonnet-5-5: the dearest input rate is 4 (a write for an hour), output 10. 100,000 in and 10,000 out: at most 0.50.
describe("a call before it is made", () => {
  it("is let through without a cap", () => {
    const { book } = books.open();
    expect(() => book.admit(next({ inputTokens: 1_000_000 }))).not.toThrow();
  });

  it.each([
    ["quest", { questUsd: 0.6, dayUsd: null }],
    ["day", { questUsd: null, dayUsd: 0.6 }],
  ] as const)("is refused where it could pass the cap of the %s, and not before", (cap, caps) => {
    const { book } = books.open();
    book.setCaps(caps);
    book.admit(next()).release();
    // 0.10 spent, 0.50 at most: exactly the cap
    book.count(call({ usage: { outputTokens: 10_000 } }));
    book.admit(next()).release();
    book.count(call({ usage: { outputTokens: 1 } }));
    const error = refusal(() => book.admit(next()));
    expect(error.code).toBe("denied");
    expect(error.data).toEqual({ reason: "cap", cap, spentUsd: 0.100_01, limitUsd: 0.6, estimateUsd: 0.5, action: "raise_cap" });
    expect(error.message).toContain("could cost up to $0.50");
    expect(error.message).toContain("Raise the cap");
  });

  it("counts against the cap of its own quest and of its own day alone", () => {
    const { book } = books.open();
    book.setCaps({ questUsd: 0.6, dayUsd: 1 });
    book.count(call({ questId: "other", usage: { outputTokens: 50_000 } }));
    book.admit(next()).release();
    book.count(call({ questId: "other", usage: { outputTokens: 1 } }));
    expect(refusal(() => book.admit(next())).data).toMatchObject({ cap: "day" });
    books.clock.at = new Date("2026-11-23T00:00:00Z");
    book.admit(next()).release();
  });

  it("holds its room until it is counted or given up: two at once cannot pass the cap together, in two windows neither", () => {
    const here = books.open().book;
    const there = books.open().book;
    here.setCaps({ questUsd: null, dayUsd: 0.9 });
    const first = here.admit(next());
    expect(refusal(() => there.admit(next({ questId: "q2" }))).message).toContain("$0.50");
    expect(() => here.admit(next())).toThrow();
    first.release();
    first.release();
    const second = there.admit(next({ questId: "q2" }));
    there.count(call({ questId: "q2", usage: { inputTokens: 1_000, outputTokens: 100 } }), second);
    second.release();
    expect(() => here.admit(next())).not.toThrow();
  });

  it("is not held up by the room of a host that died", () => {
    const { book, storage } = books.open();
    book.setCaps({ questUsd: null, dayUsd: 0.9 });
    storage.db.prepare("INSERT INTO usage_reservations VALUES ('left', 'host-that-died', NULL, 900000000)").run();
    expect(() => book.admit(next())).not.toThrow();
  });

  it("is free on this machine, whatever the caps", () => {
    const { book } = books.open();
    book.setCaps({ questUsd: 0.01, dayUsd: 0.01 });
    book.admit(next({ provider: "local", kind: "local", model: "Qwen3", inputTokens: 1_000_000 }));
    book.admit(next({ provider: "ollama", kind: "openai_compatible", model: "qwen3", onThisMachine: true, inputTokens: 1_000_000 }));
  });

  it("without a price is refused under a cap, unless the owner allows it", () => {
    const { book } = books.open();
    const unknown = next({ provider: "work", kind: "openai_compatible", model: "new" });
    book.admit(unknown);
    book.setCaps({ questUsd: 1, dayUsd: null });
    const error = refusal(() => book.admit(unknown));
    expect(error.data).toMatchObject({ reason: "cap", cap: "unpriced", spentUsd: null, limitUsd: null });
    expect(error.message).toMatch(/the price of work\/new.*prices\.yaml.*allow_unpriced: true/);
    books.write("usage.yaml", "caps: { quest_usd: 1 }\nallow_unpriced: true\n");
    expect(() => book.admit(unknown)).not.toThrow();
  });

  it("never lets what was spent pass the cap, however calls overlap", () => {
    const step = fc.record({
      questId: fc.constantFrom("q1", "q2"),
      input: fc.nat(200_000),
      max: fc.integer({ min: 1, max: 20_000 }),
      used: fc.double({ min: 0, max: 1, noNaN: true }),
      ends: fc.boolean(),
    });
    const { book } = books.open();
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        book.reset();
        book.setCaps({ questUsd: 1, dayUsd: 1.5 });
        const running: (() => void)[] = [];
        for (const { questId, input, max, used, ends } of steps) {
          try {
            const admission = book.admit(next({ questId, inputTokens: input, maxTokens: max }));
            running.push(() => {
              const usage = { inputTokens: input, cacheWriteTokens: Math.floor(input * used), outputTokens: Math.floor(max * used) };
              if (used > 0.1) book.count(call({ questId, usage }), admission);
              admission.release();
            });
          } catch (error) {
            expect(error).toBeInstanceOf(LancelotError);
          }
          if (ends) running.shift()?.();
        }
        for (const end of running) end();
        expect(book.summary({ days: 1 }).today.costUsd).toBeLessThanOrEqual(1.5);
        for (const questId of ["q1", "q2"]) expect(book.questCost(questId) ?? 0).toBeLessThanOrEqual(1);
        expect(() => book.admit(next({ inputTokens: 0, maxTokens: 0 }))).not.toThrow();
      }),
      { numRuns: 30 },
    );
  });
});

describe("config/usage.yaml", () => {
  it("is written by setCaps with the owner's comments kept, and null takes a cap away", () => {
    const { book } = books.open();
    books.write("usage.yaml", "# mine\ncaps:\n  day_usd: 5 # a coffee\nallow_unpriced: true # yes\n");
    expect(book.setCaps({ questUsd: 1.25, dayUsd: null })).toEqual({ questUsd: 1.25, dayUsd: null });
    const text = readFileSync(join(books.dataDir, "config/usage.yaml"), "utf8");
    expect(text).toContain("# mine");
    expect(text).toContain("# yes");
    expect(text).toContain("quest_usd: 1.25");
    expect(book.summary({ days: 1 }).caps).toEqual({ questUsd: 1.25, dayUsd: null });
  });

  it("is laid over the shipped one cap by cap, and read again after an edit of the same length", () => {
    writeFileSync(join(books.dataDir, "usage.yaml"), "caps: { quest_usd: 1, day_usd: 5 }\n");
    const file = createCapsFile({ configDir: books.dataDir, dataDir: books.dataDir });
    books.write("usage.yaml", "caps: { day_usd: 3 }\n");
    expect(file.read().caps).toEqual({ questUsd: 1, dayUsd: 3 });
    books.write("usage.yaml", "caps: { day_usd: 2 }\n");
    utimesSync(join(books.dataDir, "config/usage.yaml"), 1, 1);
    expect(file.read().caps).toEqual({ questUsd: 1, dayUsd: 2 });
  });

  it.each([
    ["caps:\n  day_usd: five\n", /line 2: caps\.day_usd must be number/],
    ["caps:\n  quest_usd: 0\n", /line 2: caps\.quest_usd must be more than 0/],
    ["cap: { day_usd: 1 }\n", /line 1/],
    ["caps: [", /not YAML/],
  ])("that cannot be used stops what costs money, and says where: %j", (text, problem) => {
    const { book } = books.open();
    books.write("usage.yaml", text);
    const error = refusal(() => book.admit(next()));
    expect(error.data).toMatchObject({ reason: "cap", cap: "settings" });
    expect(error.message).toMatch(problem);
    expect(book.summary({ days: 1 }).capsProblem).toMatch(problem);
    book.admit(next({ provider: "local", kind: "local", model: "Qwen3" }));
    expect(refusal(() => book.setCaps({ questUsd: 1, dayUsd: 1 })).code).toBe("conflict");
  });
});
