import type { Lane } from "../../contract/router.ts";
import type { UsageRow, UsageSavings, UsageSum, UsageSummary } from "../../contract/usage.ts";
import type { CapsFile } from "./caps.ts";
import { costOf, type Price, toUsd } from "./cost.ts";
import type { Prices } from "./prices.ts";
import { addSums, type GroupSum, noSum, type Scope, type Sum, type UsageStore } from "./store.ts";

export interface SummaryDeps {
  store: UsageStore;
  prices: Prices;
  caps: CapsFile;
  today(): string;
  /** The name of a provider of models.yaml as people know it. */
  providerName(provider: string): string;
  questName(questId: string): string | null;
  /** The dearest work that local work replaces: `provider/model` of the fast lane and its price. */
  comparison(): { name: string; price: Price } | null;
}

const laneNames: Record<Lane, string> = {
  local_redaction: "Redaction on this machine",
  local_utility: "Local",
  flagship_fast: "Fast",
  flagship_deep: "Deep",
};

export function summarize(deps: SummaryDeps, scope: Scope): UsageSummary {
  const { store, prices, caps } = deps;
  const { caps: set, problem } = caps.read();
  return {
    total: toUsageSum(store.total(scope)),
    today: toUsageSum(store.total({ fromDay: deps.today(), questId: scope.questId })),
    byLane: lanesOf(deps, scope),
    byProvider: store.by("provider", scope).map((sum) => toRow(sum, deps.providerName(sum.key))),
    byModel: store.by("model", scope).map((sum) => toRow(sum, sum.key.slice(sum.key.indexOf("/") + 1))),
    byQuest: store
      .by("quest", scope)
      .map((sum) => toRow(sum, sum.key === "" ? "Outside a task" : (deps.questName(sum.key) ?? "A deleted task"))),
    byDay: daysOf(store.by("day", scope)),
    savings: savingsOf(deps, scope),
    caps: set,
    capsProblem: problem,
    prices: { updated: prices.updated(), missing: store.unpricedModels(scope), problem: prices.problem() },
    since: store.since(),
  };
}

export function lanesOf({ store }: Pick<SummaryDeps, "store">, scope: Scope): UsageRow[] {
  return store.by("lane", scope).map((sum) => toRow(sum, laneName(sum.key)));
}

/** Local tokens at the plain short-prompt price of the model they are compared with: an estimate, on the low side. */
export function savingsOf({ store, comparison }: Pick<SummaryDeps, "store" | "comparison">, scope: Scope): UsageSavings {
  const local = store.local(scope);
  const other = comparison();
  const { inputTokens, outputTokens } = local.usage;
  const plain = { ...local.usage, cachedInputTokens: 0, cacheWriteTokens: 0, longCacheWriteTokens: 0 };
  return {
    localCalls: local.calls,
    localTokens: inputTokens + outputTokens,
    savedUsd: other === null ? 0 : toUsd(costOf({ ...other.price, tiers: [] }, plain)),
    comparedWith: other?.name ?? null,
    cacheSavingsUsd: toUsd(store.total(scope).cacheSavings),
  };
}

function daysOf(rows: readonly GroupSum[]): UsageSummary["byDay"] {
  const days = new Map<string, GroupSum[]>();
  for (const row of rows) days.set(row.key, [...(days.get(row.key) ?? []), row]);
  return [...days].map(([day, lanes]) => ({
    ...toRow({ key: day, ...lanes.reduce<Sum>(addSums, noSum()) }, day),
    lanes: lanes.map((lane) => toRow({ ...lane, key: lane.within }, laneName(lane.within))),
  }));
}

function laneName(lane: string): string {
  return laneNames[lane as Lane] ?? lane;
}

function toRow(sum: Sum & { key: string }, name: string): UsageRow {
  return { key: sum.key, name, ...toUsageSum(sum) };
}

function toUsageSum(sum: Sum): UsageSum {
  return {
    calls: sum.calls,
    usage: sum.usage,
    costUsd: toUsd(sum.cost),
    cacheSavingsUsd: toUsd(sum.cacheSavings),
    unpricedCalls: sum.unpriced,
  };
}
