import type { Usage } from "../../contract/chat.ts";
import { LancelotError } from "../../contract/errors.ts";
import { createConfigFile } from "../models-config.ts";
import { admitCall } from "./admission.ts";
import { createCapsFile } from "./caps.ts";
import { fastLaneWithPrice } from "./savings-baseline.ts";
import { costOf, costWithoutCache, type Nanos, toUsd } from "./call-cost.ts";
import { createCalendar, daysBefore } from "./calendar.ts";
import { createPrices, type PricedModel } from "./prices.ts";
import { createUsageStore } from "./usage-store.ts";
import { lanesOf, savingsOf, summarize, type SummaryDeps } from "./usage-summary.ts";
import type { UsageBook, UsageDeps } from "./types.ts";
import { createUsageEvents } from "./usage-events.ts";

export { UsageSettings } from "./caps.ts";
export { PriceTable } from "./prices.ts";
export { usageHandlers } from "./usage-handlers.ts";
export type { CountedCall, NextCall, UsageBook, UsageDeps } from "./types.ts";
export { usageMigrations } from "./usage-migrations.ts";

/** Counts every call at the price of its day, and enforces caps before a call is made. */
export function createUsage(deps: UsageDeps): UsageBook {
  const now = deps.now ?? (() => new Date());
  const dayOf = createCalendar(deps.timeZone);
  const today = (): string => dayOf(now());
  const store = createUsageStore(deps.storage);
  const prices = createPrices(deps);
  const caps = createCapsFile(deps);
  const models = createConfigFile(deps);
  const telling = createUsageEvents(deps.emit);
  let pricedWith = -1;

  const valueOf = (model: PricedModel, usage: Usage, day: string): { cost: Nanos; cacheSavings: Nanos } | null => {
    const price = prices.of(model, day);
    if (price === null) return null;
    const cost = costOf(price, usage);
    return { cost, cacheSavings: costWithoutCache(price, usage) - cost };
  };
  /** A price that the user adds applies to calls without one. Calls with a price keep their cost. */
  const reprice = (): void => {
    const version = prices.version();
    if (version === pricedWith) return;
    store.transaction(() => store.reprice(({ day, usage, ...model }) => valueOf(model, usage, day)));
    pricedWith = version;
  };
  const scopeOf = ({ days, questId }: { days: number; questId?: string | undefined }) => ({
    fromDay: daysBefore(today(), days - 1),
    questId: questId ?? null,
  });
  const summaryDeps: SummaryDeps = {
    store,
    prices,
    caps,
    today,
    providerName: (provider) => models.read().config.providers[provider]?.display_name ?? (provider === "local" ? "Local model" : provider),
    questName: deps.questName,
    comparison: () => fastLaneWithPrice(models.read(), deps.env["LANCELOT_PROVIDER"], prices, today()),
  };
  const summary: UsageBook["summary"] = (params) => {
    reprice();
    return summarize(summaryDeps, scopeOf(params));
  };

  return {
    admit: (next) => {
      reprice();
      return admitCall({ store, prices, caps, today }, next);
    },
    count(call, admission) {
      const at = now();
      const day = dayOf(at);
      const onThisMachine = call.onThisMachine === true || call.kind === "local";
      const { provider, kind, model } = call;
      const value = valueOf({ provider, kind, model, onThisMachine }, call.usage, day);
      store.transaction(() => {
        store.add({ ...call, onThisMachine, at: at.toISOString(), day, cost: value?.cost ?? null, cacheSavings: value?.cacheSavings ?? 0 });
        admission?.release();
      });
      telling.changed(call.questId);
      return { costUsd: value === null ? null : toUsd(value.cost) };
    },
    questCost(questId) {
      const cost = store.questCost(questId);
      return cost === null ? null : toUsd(cost);
    },
    summary,
    lanes: (params) => ({ items: lanesOf(store.cells(scopeOf(params))) }),
    savings: (params) => savingsOf(summaryDeps, store.cells(scopeOf(params))),
    reset() {
      store.transaction(() => store.reset(now().toISOString()));
      telling.changed(null);
      return summary({ days: 30 });
    },
    setCaps(wanted) {
      caps.write(wanted);
      telling.changed(null);
      return caps.read().caps;
    },
    configProblems: () => ({ "usage.yaml": caps.read().problem, "prices.yaml": prices.problem() }),
    notice() {
      if (!caps.changed() && !prices.changed()) return;
      caps.read();
      try {
        reprice();
      } catch (error) {
        if (!(error instanceof LancelotError)) throw error;
        // The database is busy or full: the next summary prices the rest.
      }
      telling.changed(null);
    },
    close: () => telling.end(),
  };
}
