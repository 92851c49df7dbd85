import type { Usage } from "../../contract/chat.ts";

/** Pico-dollars a token, whole: a dollar per million tokens is 1,000,000 of them. */
export interface Rates {
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  /** Of what the provider is asked to keep longer than it usually does. */
  readonly longCacheWrite: number;
  readonly output: number;
}

/** What a model's tokens cost. A prompt of more than `above` tokens pays the rates of that tier for all of its tokens. */
export interface Price extends Rates {
  /** From the lowest `above` to the highest. */
  readonly tiers: readonly (Rates & { readonly above: number })[];
}

/** Whole nano-dollars. */
export type Nanos = number;

/**
 * What a call cost, in nano-dollars rounded once. `usage` is as the contract has it: what was cached and what was written to a cache are
 * parts of the input and pay their own rate instead of the plain one; thinking is part of the output; tokens of tools are part of the input.
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

/** What the same call would have cost had the provider no cache. */
export function costWithoutCache(price: Price, usage: Usage): Nanos {
  return costOf(price, { ...usage, cachedInputTokens: 0, cacheWriteTokens: 0, longCacheWriteTokens: 0 });
}

/** The most a call can cost: every token of the prompt at the dearest rate an input token has, and the longest answer. */
export function mostOf(price: Price, inputTokens: number, maxTokens: number): Nanos {
  const rates = ratesFor(price, inputTokens);
  const dearest = Math.max(rates.input, rates.cachedInput, rates.cacheWrite, rates.longCacheWrite);
  return toNanos(BigInt(inputTokens) * BigInt(dearest) + BigInt(maxTokens) * BigInt(rates.output));
}

export function toUsd(nanos: Nanos): number {
  return nanos / 1e9;
}

/** Nano-dollars of an amount a person wrote. */
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

/** A server that counts wrongly (more cached than there was) is not paid less than nothing for it. */
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
