import type { Lane } from "../../contract/router.ts";
import type { UsageRow, UsageSavings, UsageSum, UsageSummary } from "../../contract/usage.ts";
import type { CapsFile } from "./caps.ts";
import { costOf, type Price, toUsd } from "./call-cost.ts";
import type { Prices } from "./prices.ts";
import { addSums, type Cell, noSum, type Scope, type Sum, type UsageStore } from "./usage-store.ts";

export interface SummaryDeps {
  store: UsageStore;
  prices: Prices;
  caps: CapsFile;
  today(): string;
  /** The display name of a provider of models.yaml. */
  providerName(provider: string): string;
  questName(questId: string): string | null;
  /** The baseline for savings: `provider/model` of the fast lane and its price. */
  comparison(): { name: string; price: Price } | null;
}

const laneNames: Record<Lane, string> = {
  local_redaction: "Redaction on this machine",
  local_utility: "Local",
  flagship_fast: "Fast",
  flagship_deep: "Deep",
};

const questsShown = 50;

export function summarize(deps: SummaryDeps, scope: Scope): UsageSummary {
  const { store, prices, caps, providerName, questName } = deps;
  const { caps: set, problem } = caps.read();
  const cells = store.cells(scope);
  const today = deps.today();
  const nameOfQuest = (id: string): string => (id === "" ? "Outside a task" : (questName(id) ?? "A deleted task"));
  const missing = groups(
    cells.filter(({ unpriced }) => unpriced > 0),
    modelOf,
  ).map(({ key }) => key);
  return {
    total: toUsageSum(sumOf(cells)),
    today: toUsageSum(sumOf(cells.filter(({ day }) => day === today))),
    byLane: lanesOf(cells),
    byProvider: groups(cells, ({ provider }) => provider).map((sum) => toRow(sum, providerName(sum.key))),
    byModel: groups(cells, modelOf).map((sum) => toRow(sum, sum.key.slice(sum.key.indexOf("/") + 1))),
    byQuest: groups(cells, ({ questId }) => questId)
      .slice(0, questsShown)
      .map((sum) => toRow(sum, nameOfQuest(sum.key))),
    byDay: daysOf(cells),
    savings: savingsOf(deps, cells),
    caps: set,
    capsProblem: problem,
    prices: { updated: prices.updated(), missing: missing.toSorted(), problem: prices.problem() },
    since: store.since(),
  };
}

export function lanesOf(cells: readonly Cell[]): UsageRow[] {
  return groups(cells, ({ lane }) => lane).map((sum) => toRow(sum, laneName(sum.key)));
}

/** Local tokens at the regular price of the baseline model: a low estimate. */
export function savingsOf({ comparison }: Pick<SummaryDeps, "comparison">, cells: readonly Cell[]): UsageSavings {
  const local = sumOf(cells.filter(({ free }) => free));
  const other = comparison();
  const { inputTokens, outputTokens } = local.usage;
  const plain = { ...local.usage, cachedInputTokens: 0, cacheWriteTokens: 0, longCacheWriteTokens: 0 };
  return {
    localCalls: local.calls,
    localTokens: inputTokens + outputTokens,
    savedUsd: other === null ? 0 : toUsd(costOf({ ...other.price, tiers: [] }, plain)),
    comparedWith: other?.name ?? null,
    cacheSavingsUsd: toUsd(sumOf(cells).cacheSavings),
  };
}

function daysOf(cells: readonly Cell[]): UsageSummary["byDay"] {
  const days = Map.groupBy(cells, ({ day }) => day);
  return [...days]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([day, ofDay]) => ({ ...toRow({ key: day, ...sumOf(ofDay) }, day), lanes: lanesOf(ofDay) }));
}

function modelOf({ provider, model }: Cell): string {
  return `${provider}/${model}`;
}

/** By cost, then by tokens, in descending order. */
function groups(cells: readonly Cell[], keyOf: (cell: Cell) => string): (Sum & { key: string })[] {
  const tokens = ({ usage }: Sum): number => usage.inputTokens + usage.outputTokens;
  return [...Map.groupBy(cells, keyOf)]
    .map(([key, of]) => ({ key, ...sumOf(of) }))
    .toSorted((one, other) => other.cost - one.cost || tokens(other) - tokens(one) || (one.key < other.key ? -1 : 1));
}

function sumOf(cells: readonly Cell[]): Sum {
  return cells.reduce<Sum>(addSums, noSum());
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
