import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { providerKinds, type ProviderKind } from "../../contract/models.ts";
import { type Price, rateOf, type Rates } from "./call-cost.ts";
import { createSettingsFile, parseSettings } from "./settings-file.ts";

const Day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/, "must be a day, YYYY-MM-DD");
/** US dollars per million tokens. */
const Usd = z.number().min(0).max(100_000);

const ratesShape = {
  input: Usd,
  cached_input: Usd.optional(),
  cache_write: Usd.optional(),
  cache_write_long: Usd.optional(),
  output: Usd,
};
const cachedIsCheaper = ({ input, cached_input }: { input: number; cached_input?: number | undefined }): boolean =>
  cached_input === undefined || cached_input <= input;
const dearer = { message: "must not be more than input", path: ["cached_input"] };

const Tier = z.strictObject({ above: z.int().min(1), ...ratesShape }).refine(cachedIsCheaper, dearer);
const PriceRow = z
  .strictObject({
    /** Provider kinds, or names in models.yaml. */
    kind: z.enum(providerKinds).optional(),
    provider: z.string().min(1).max(100).optional(),
    /** Model names; `*` matches anything. */
    models: z.array(z.string().min(1).max(300)).min(1),
    ...ratesShape,
    /** The rates of a longer prompt, for all its tokens. */
    tiers: z.array(Tier).max(10).default([]),
    /** First and last day of validity. */
    from: Day.optional(),
    until: Day.optional(),
    source: z.string().max(500).optional(),
  })
  .refine(({ kind, provider }) => kind !== undefined || provider !== undefined, "must have a kind or a provider")
  .refine(cachedIsCheaper, dearer);

export const PriceTable = z.strictObject({
  version: z.literal("1.0").optional(),
  updated: Day.optional(),
  currency: z.literal("USD").optional(),
  prices: z.array(PriceRow).max(5000).default([]),
});
type PriceTable = z.infer<typeof PriceTable>;

/** The model whose price is requested. */
export interface PricedModel {
  provider: string;
  kind: ProviderKind;
  model: string;
  /** Runs on this machine: free, unless the user sets a price for this provider. */
  onThisMachine: boolean;
}

export interface Prices {
  /** The price on a day; null when unknown. Free is a price of 0. */
  of(model: PricedModel, day: string): Price | null;
  /** YYYY-MM-DD. */
  updated(): string;
  problem(): string | null;
  /** True while the user's file is invalid and has no last valid version, so that what a call costs is unknown. */
  isUnknown(): boolean;
  /** Increases with each change of the table. */
  version(): number;
  changed(): boolean;
}

interface Row {
  readonly kind: ProviderKind | undefined;
  readonly provider: string | undefined;
  readonly models: RegExp;
  readonly from: string;
  readonly until: string;
  readonly price: Price;
}

const file = { name: "prices.yaml", schema: PriceTable };
const free: Price = { input: 0, cachedInput: 0, cacheWrite: 0, longCacheWrite: 0, output: 0, tiers: [] };

/** `config/prices.yaml`: the user's table, then the shipped one. The first matching row applies. */
export function createPrices(deps: { configDir: string; dataDir: string }): Prices {
  let shipped: { updated: string; rows: Row[] } | null = null;
  const owners = createSettingsFile({ dataDir: deps.dataDir, ...file });
  let known: { table: PriceTable | null; rows: Row[]; version: number } = { table: null, rows: [], version: 0 };

  const shippedTable = () => {
    if (shipped === null) {
      const table = parseSettings(readFileSync(join(deps.configDir, "prices.yaml"), "utf8"), file);
      shipped = { updated: table.updated ?? "", rows: table.prices.map(toRow) };
    }
    return shipped;
  };
  const ownersTable = () => {
    const { value } = owners.read();
    if (value !== known.table) known = { table: value, rows: (value?.prices ?? []).map(toRow), version: known.version + 1 };
    return known;
  };

  return {
    of(model, day) {
      const fits = (row: Row): boolean =>
        (row.kind === undefined || row.kind === model.kind) &&
        (row.provider === undefined || row.provider === model.provider) &&
        row.from <= day &&
        day <= row.until &&
        row.models.test(model.model);
      const mine = ownersTable().rows;
      // A proxy on this machine may forward to a paid provider: only the user knows, and can name it.
      if (model.kind === "local" || model.onThisMachine) return mine.find((row) => row.provider !== undefined && fits(row))?.price ?? free;
      return (mine.find(fits) ?? shippedTable().rows.find(fits))?.price ?? null;
    },
    updated() {
      const { table } = ownersTable();
      return table?.updated ?? shippedTable().updated;
    },
    problem() {
      const { problem } = owners.read();
      return problem === null
        ? null
        : `${problem} Its last valid version applies until you correct it; without one, no paid request is sent while a cap is set.`;
    },
    isUnknown() {
      const { value, problem } = owners.read();
      return problem !== null && value === null;
    },
    version: () => ownersTable().version,
    changed: () => owners.changed(),
  };
}

function toRow(row: PriceTable["prices"][number]): Row {
  return {
    kind: row.kind,
    provider: row.provider,
    models: new RegExp(`^(?:${row.models.map(toPattern).join("|")})$`, "i"),
    from: row.from ?? "0000-00-00",
    until: row.until ?? "9999-99-99",
    price: {
      ...toRates(row),
      tiers: row.tiers.map((tier) => ({ above: tier.above, ...toRates(tier) })).toSorted((one, other) => one.above - other.above),
    },
  };
}

function toPattern(name: string): string {
  return name.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll("*", ".*");
}

function toRates(row: z.infer<typeof Tier> | PriceTable["prices"][number]): Rates {
  const cacheWrite = row.cache_write ?? row.input;
  return {
    input: rateOf(row.input),
    cachedInput: rateOf(row.cached_input ?? row.input),
    cacheWrite: rateOf(cacheWrite),
    longCacheWrite: rateOf(row.cache_write_long ?? cacheWrite),
    output: rateOf(row.output),
  };
}
