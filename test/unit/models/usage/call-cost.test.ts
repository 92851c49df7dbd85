import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ProviderKind } from "../../../../agent-server/contract/models.ts";
import type { Usage } from "../../../../agent-server/contract/chat.ts";
import { costOf, costWithoutCache, fromUsd, mostOf, type Price, toUsd } from "../../../../agent-server/models/usage/call-cost.ts";
import { createPrices } from "../../../../agent-server/models/usage/prices.ts";
import { usageOf } from "./book.ts";

const prices = createPrices({ configDir: join(import.meta.dirname, "../../../../config"), dataDir: "/nowhere" });
const day = "2026-11-22";
function priceOf(kind: ProviderKind, model: string, on = day): Price {
  const price = prices.of({ provider: kind, kind, model, onThisMachine: false }, on);
  if (price === null) throw new Error(`no price of ${model}`);
  return price;
}

/** Worked out by hand from the providers' published prices, in US dollars. */
const bills: { name: string; kind: ProviderKind; model: string; usage: Partial<Usage>; usd: number }[] = [
  // 900×2 + 100×10, per million
  { name: "plain", kind: "anthropic", model: "claude-sonnet-5-5", usage: { inputTokens: 900, outputTokens: 100 }, usd: 0.0028 },
  // 1,000×2 + 8,000×0.10 + 500×10: the cached part is not paid for twice
  {
    name: "cache read",
    kind: "anthropic",
    model: "claude-sonnet-5-5",
    usage: { inputTokens: 9_000, cachedInputTokens: 8_000, outputTokens: 500 },
    usd: 0.0078,
  },
  // 1,000×2 + 4,000×2.50 + 5,000×0.10 + 200×10
  {
    name: "cache write for five minutes beside a read",
    kind: "anthropic",
    model: "claude-sonnet-5-5",
    usage: { inputTokens: 10_000, cachedInputTokens: 5_000, cacheWriteTokens: 4_000, outputTokens: 200 },
    usd: 0.0145,
  },
  // 1,000×4 + 3,000×5 + 1,000×8 + 100×20
  {
    name: "writes for five minutes and for an hour",
    kind: "anthropic",
    model: "claude-opus-5-5",
    usage: { inputTokens: 5_000, cacheWriteTokens: 4_000, longCacheWriteTokens: 1_000, outputTokens: 100 },
    usd: 0.029,
  },
  // 100,000×0.10 + 1,000×0.50: at the edge the lower rate holds
  {
    name: "short prompt, at the edge",
    kind: "anthropic",
    model: "claude-haiku-5-5",
    usage: { inputTokens: 100_000, outputTokens: 1_000 },
    usd: 0.0105,
  },
  // 1 token more: 50,001×0.50 + 50,000×0.05 + 1,000×2.50, all of it
  {
    name: "long prompt pays the higher rate for all of it",
    kind: "anthropic",
    model: "claude-haiku-5-5",
    usage: { inputTokens: 100_001, cachedInputTokens: 50_000, outputTokens: 1_000 },
    usd: 0.030_000_5,
  },
  // 3,000×1 + 1,000×0.05 + 2,000×5: 1,500 tokens of thinking are inside the 2,000
  {
    name: "thinking inside the output",
    kind: "openai",
    model: "gpt-6.1-terra",
    usage: { inputTokens: 4_000, cachedInputTokens: 1_000, outputTokens: 2_000, reasoningTokens: 1_500 },
    usd: 0.013_05,
  },
  // 300,000 > 272,000: 200,000×4 + 100,000×0.20 + 1,000×15
  {
    name: "long context",
    kind: "openai",
    model: "gpt-6.1-sol-2026-09-29",
    usage: { inputTokens: 300_000, cachedInputTokens: 100_000, outputTokens: 1_000 },
    usd: 0.835,
  },
  // 10,000×0.75 (700 of them brought by tools) + 2,000×0.075 + 600×3.75
  {
    name: "tokens of tools inside the input",
    kind: "gemini",
    model: "gemini-3.8-flash",
    usage: { inputTokens: 12_000, cachedInputTokens: 2_000, toolTokens: 700, outputTokens: 600, reasoningTokens: 400 },
    usd: 0.0099,
  },
  // 1,000×1.25 + 500×2.50
  { name: "plain", kind: "xai", model: "grok-4.20", usage: { inputTokens: 1_000, outputTokens: 500 }, usd: 0.0025 },
  // reaches 200,000: 200,000×2.50 + 100×5
  {
    name: "at the edge the higher rate holds",
    kind: "xai",
    model: "grok-4.20",
    usage: { inputTokens: 200_000, outputTokens: 100 },
    usd: 0.5005,
  },
];

describe("what a call costs", () => {
  it.each(bills)("$kind, $model: $name", ({ kind, model, usage, usd }) => {
    expect(toUsd(costOf(priceOf(kind, model), usageOf(usage)))).toBe(usd);
  });

  it("is the price of its day", () => {
    const usage = usageOf({ inputTokens: 1_000_000 });
    expect(toUsd(costOf(priceOf("gemini", "gemini-3.8-flash", "2026-12-31"), usage))).toBe(0.75);
    expect(toUsd(costOf(priceOf("gemini", "gemini-3.8-flash", "2027-01-01"), usage))).toBe(1.5);
  });

  it("is nothing for what is computed here, and not known for a model nobody priced", () => {
    const of = (kind: ProviderKind, model: string, onThisMachine: boolean) => prices.of({ provider: "x", kind, model, onThisMachine }, day);
    expect(costOf(of("local", "Qwen3", false) ?? priceOf("xai", "grok-4.20"), usageOf({ inputTokens: 5, outputTokens: 5 }))).toBe(0);
    expect(of("openai_compatible", "qwen3", true)).toMatchObject({ input: 0, output: 0 });
    expect(of("openai_compatible", "qwen3", false)).toBeNull();
    expect(of("openai", "gpt-5.4-mini-of-tomorrow", false)).toBeNull();
    expect(of("gemini", "gpt-6.1-sol", false)).toBeNull();
  });
});

const tokens = fc.integer({ min: 0, max: 3_000_000 });
const rate = fc.integer({ min: 0, max: 100_000_000 });
const anyRates = fc
  .record({ input: rate, cached: fc.double({ min: 0, max: 1, noNaN: true }), write: rate, long: rate, output: rate })
  .map(({ input, cached, write, long, output }) => ({
    input,
    cachedInput: Math.floor(input * cached),
    cacheWrite: write,
    longCacheWrite: long,
    output,
  }));
const anyPrice: fc.Arbitrary<Price> = fc
  .tuple(anyRates, fc.array(fc.tuple(anyRates, fc.integer({ min: 1, max: 2_000_000 })), { maxLength: 3 }))
  .map(([rates, tiers]) => ({
    ...rates,
    tiers: tiers.map(([tier, above]) => ({ ...tier, above })).toSorted((one, other) => one.above - other.above),
  }));
const anyUsage = fc
  .record({
    plain: tokens,
    cached: tokens,
    write: tokens,
    long: tokens,
    output: tokens,
    reasoning: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ plain, cached, write, long, output, reasoning }) =>
    usageOf({
      inputTokens: plain + cached + write + long,
      cachedInputTokens: cached,
      cacheWriteTokens: write + long,
      longCacheWriteTokens: long,
      outputTokens: output,
      reasoningTokens: Math.floor(output * reasoning),
    }),
  );

describe("for any price and any call", () => {
  it("reading from a cache never makes it dearer; only writing to one can", () => {
    fc.assert(
      fc.property(anyPrice, anyUsage, (price, usage) => {
        const readsOnly = { ...usage, cacheWriteTokens: 0, longCacheWriteTokens: 0 };
        expect(costOf(price, readsOnly)).toBeLessThanOrEqual(costWithoutCache(price, usage));
      }),
    );
  });

  it("thinking and tokens of tools are not paid for beside the output and the input they are parts of", () => {
    fc.assert(
      fc.property(anyPrice, anyUsage, tokens, (price, usage, tool) => {
        const without = { ...usage, reasoningTokens: 0, toolTokens: 0 };
        expect(costOf(price, { ...usage, toolTokens: Math.min(tool, usage.inputTokens) })).toBe(costOf(price, without));
      }),
    );
  });

  it("the most it can cost is never less than what it costs", () => {
    fc.assert(
      fc.property(anyPrice, anyUsage, (price, usage) => {
        expect(mostOf(price, usage.inputTokens, usage.outputTokens)).toBeGreaterThanOrEqual(costOf(price, usage));
      }),
    );
  });

  it("a server that reports more cached tokens than there were is not believed", () => {
    fc.assert(
      fc.property(anyPrice, anyUsage, tokens, (price, usage, more) => {
        const odd = { ...usage, cachedInputTokens: usage.inputTokens + more, cacheWriteTokens: more, longCacheWriteTokens: more * 2 };
        expect(costOf(price, odd)).toBe(
          costOf(price, { ...usage, cachedInputTokens: usage.inputTokens, cacheWriteTokens: 0, longCacheWriteTokens: 0 }),
        );
      }),
    );
  });
});

describe("amounts", () => {
  it("a person writes come back as they were", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000_000 }), (cents) => {
        expect(toUsd(fromUsd(cents / 100))).toBe(cents / 100);
      }),
    );
  });
});
