import type { LocalModel } from "../../../agent-server/contract/models.ts";
import type { BreakerState, Lane, RouterDecision } from "../../../agent-server/contract/router.ts";
import type { UsageRow, UsageSummary } from "../../../agent-server/contract/usage.ts";
import { laneText } from "../../shared/lanes.ts";
import type { StateProps } from "../../shared/components.tsx";
import { formatUsd, t } from "../../shared/l10n.ts";
import { type Column, type Part, totalOf } from "../charts.tsx";
import type { Measure } from "./usage-state.ts";

/** Lanes from the most expensive to the local ones: the order of charts and legends. */
const laneOrder: readonly Lane[] = ["flagship_deep", "flagship_fast", "local_utility", "local_redaction"];
const lanePatterns: Record<Lane, Part["pattern"]> = {
  flagship_deep: "lines",
  flagship_fast: "plain",
  local_utility: "dots",
  local_redaction: "cross",
};

/** Returns the display name of a lane, or the host's name for an unknown one. */
export function laneName(key: string, name: string): string {
  const lane = laneOrder.find((known) => known === key);
  return lane === undefined ? name : laneText(lane);
}

/** Returns the charted amount of a row. */
export function amountOf(row: Pick<UsageRow, "costUsd" | "usage">, measure: Measure): number {
  return measure === "cost" ? row.costUsd : row.usage.inputTokens + row.usage.outputTokens;
}

export function laneParts(rows: readonly UsageRow[], measure: Measure): Part[] {
  return laneOrder.map((lane) => {
    const row = rows.find(({ key }) => key === lane);
    return { key: lane, name: laneText(lane), pattern: lanePatterns[lane], value: row === undefined ? 0 : amountOf(row, measure) };
  });
}

/** Returns one column for each of the last days, including days without a call. @param today YYYY-MM-DD in the user's time zone. */
export function dayColumns(
  byDay: UsageSummary["byDay"],
  days: number,
  today: string,
  measure: Measure,
  format: (day: string) => string,
): Column[] {
  const known = new Map(byDay.map((row) => [row.key, row.lanes]));
  const [year = 0, month = 1, date = 1] = today.split("-").map(Number);
  return Array.from({ length: days }, (_, index) => {
    const day = new Date(Date.UTC(year, month - 1, date - (days - 1 - index))).toISOString().slice(0, 10);
    return { label: format(day), parts: laneParts(known.get(day) ?? [], measure) };
  });
}

/** Returns the last day of the chart: the user's day, or the host's if that is later (another time zone). */
export function lastDay(byDay: UsageSummary["byDay"], now: Date): string {
  const here = localDay(now);
  const counted = byDay.at(-1)?.key ?? here;
  return counted > here ? counted : here;
}

/** Returns the local day as YYYY-MM-DD. */
function localDay(at: Date): string {
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** Returns a cost as text; an unknown price is not zero. */
export function costText({ costUsd, unpricedCalls, calls }: { costUsd: number; unpricedCalls: number; calls: number }): string {
  if (unpricedCalls === 0) return formatUsd(costUsd);
  return unpricedCalls === calls ? t("unknown") : t("At least {0}", formatUsd(costUsd));
}

export function hasAmounts(parts: readonly Part[]): boolean {
  return totalOf(parts) > 0;
}

export function decisionState({ success, error }: Pick<RouterDecision, "success" | "error">): StateProps {
  if (success === null) return { icon: "circle-outline", text: t("Running") };
  return success ? { icon: "pass", text: t("Answered"), kind: "good" } : { icon: "error", text: error ?? t("Failed"), kind: "bad" };
}

export function breakerState({ state }: Pick<BreakerState, "state">): StateProps {
  switch (state) {
    case "closed":
      return { icon: "pass", text: t("Available"), kind: "good" };
    case "half_open":
      return { icon: "warning", text: t("Retrying"), kind: "warn" };
    case "open":
      return { icon: "error", text: t("Excluded for now"), kind: "bad" };
  }
}

export function localModelState({ status, paused }: Pick<LocalModel, "status" | "paused">): StateProps {
  switch (status) {
    case "absent":
      return paused === true ? { icon: "debug-pause", text: t("Download paused") } : { icon: "circle-outline", text: t("Not downloaded") };
    case "downloading":
      return { icon: "loading", text: t("Downloading"), spin: true };
    case "ready":
      return { icon: "pass", text: t("Ready"), kind: "good" };
    case "loading":
      return { icon: "loading", text: t("Loading"), spin: true };
    case "loaded":
      return { icon: "pass", text: t("Loaded"), kind: "good" };
    case "failed":
      return { icon: "error", text: t("Failed"), kind: "bad" };
  }
}

/** Describes the rule of config/router.yaml that made the decision. */
export function ruleText(rule: RouterDecision["rule"]): string {
  switch (rule) {
    case "override":
      return t("Your choice for this task");
    case "local_task":
      return t("Task fits the local model");
    case "redact":
      return t("Personal data is redacted locally");
    case "deep_task":
      return t("Task type needs the deep model");
    case "risk":
      return t("Risky request");
    case "complexity":
      return t("Long or complex request");
    case "default":
      return t("Simple request");
    case "failure":
      return t("The fast lane failed");
    case "failover":
      return t("Another provider failed");
    case "offline":
      return t("No network");
  }
}
