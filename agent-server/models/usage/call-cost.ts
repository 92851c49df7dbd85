import type { Usage } from "../../contract/chat.ts";

/** Whole pico-dollars per token: a dollar per million tokens is 1,000,000 of them. */
export interface Rates {
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  /** For content with an extended cache lifetime. */
  readonly longCacheWrite: number;
  readonly output: number;
}

/** The price of a model's tokens. A prompt of more than `above` tokens pays the rates of that tier for all its tokens. */
export interface Price extends Rates {
  /** In ascending order of `above`. */
  readonly tiers: readonly (Rates & { readonly above: number })[];
}

/** Whole nano-dollars. */
export type Nanos = number;

/**
 * The cost of a call in nano-dollars, rounded once. Cached and cache-write tokens are part of the input and have their own rates; reasoning
 * tokens are part of the output.
 */
export function costOf(price: Price, usage: Usage): Nanos {
  const { plain, cached, writes, longWrites, output } = partsOf(usage);
  const rates = ratesFor(price, usage.inputTokens);
  return toNanos(
    plain * BigInt(rates.input) +
      cached * BigInt(rates.cachedInput) +
      writes * BigInt(rates.cacheWrite) +
      longWrites * BigInt(rates.longCacheWrite) +
      output * BigInt(rates.output),
  );
}

/** The cost of the same call without a cache. */
export function costWithoutCache(price: Price, usage: Usage): Nanos {
  return costOf(price, { ...usage, cachedInputTokens: 0, cacheWriteTokens: 0, longCacheWriteTokens: 0 });
}

/** The maximum cost of a call: every input token at the highest rate, and the longest answer. */
export function mostOf(price: Price, inputTokens: number, maxTokens: number): Nanos {
  const rates = ratesFor(price, inputTokens);
  const dearest = Math.max(rates.input, rates.cachedInput, rates.cacheWrite, rates.longCacheWrite);
  return toNanos(BigInt(inputTokens) * BigInt(dearest) + BigInt(maxTokens) * BigInt(rates.output));
}

export function toUsd(nanos: Nanos): number {
  return nanos / 1e9;
}

/** Nano-dollars of an amount in US dollars. */
export function fromUsd(usd: number): Nanos {
  return Math.round(usd * 1e9);
}

/** A rate from dollars per million tokens. */
export function rateOf(usdPerMillion: number): number {
  return Math.round(usdPerMillion * 1e6);
}

function ratesFor(price: Price, promptTokens: number): Rates {
  return price.tiers.findLast(({ above }) => promptTokens > above) ?? price;
}

/** A server that reports more cached than input tokens must not cause a negative cost. */
function partsOf(usage: Usage) {
  const cached = Math.min(usage.cachedInputTokens, usage.inputTokens);
  const allWrites = Math.min(usage.cacheWriteTokens, usage.inputTokens - cached);
  const longWrites = Math.min(usage.longCacheWriteTokens ?? 0, allWrites);
  return {
    plain: BigInt(usage.inputTokens - cached - allWrites),
    cached: BigInt(cached),
    writes: BigInt(allWrites - longWrites),
    longWrites: BigInt(longWrites),
    output: BigInt(usage.outputTokens),
  };
}

function toNanos(picos: bigint): Nanos {
  return Number((picos + 500n) / 1000n);
}
