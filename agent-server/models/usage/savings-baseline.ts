import type { ProviderKind } from "../../contract/models.ts";
import type { LoadedConfig } from "../models-config.ts";
import type { Price } from "./call-cost.ts";
import type { Prices } from "./prices.ts";

/** Without an active provider, the first of these with a price. */
const order: readonly ProviderKind[] = ["anthropic", "openai", "gemini", "xai"];

/** The fast lane of the active provider, or of the first one with a price: the baseline for savings of local work. */
export function fastLaneWithPrice(
  { config }: LoadedConfig,
  wanted: string | undefined,
  prices: Prices,
  day: string,
): { name: string; price: Price } | null {
  const active = wanted === undefined || wanted === "" ? config.active : wanted;
  const names = Object.keys(config.providers);
  const rank = (name: string): number => {
    const at = order.indexOf(config.providers[name]?.kind ?? "local");
    return name === active ? -1 : at === -1 ? order.length : at;
  };
  for (const name of names.toSorted((one, other) => rank(one) - rank(other))) {
    const provider = config.providers[name];
    const model = provider?.fast?.model;
    if (provider === undefined || model === undefined) continue;
    const price = prices.of({ provider: name, kind: provider.kind, model, onThisMachine: false }, day);
    if (price !== null && price.input + price.output > 0) return { name: `${name}/${model}`, price };
  }
  return null;
}
