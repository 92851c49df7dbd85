import type { LocalModel } from "../../../agent-server/contract/models.ts";
import type { BreakerState, Lane, RouterDecision } from "../../../agent-server/contract/router.ts";
import type { UsageRow, UsageSummary } from "../../../agent-server/contract/usage.ts";
import { laneText } from "../../shared/lanes.ts";
import { formatUsd, t } from "../../shared/l10n.ts";
import { type Column, type Part, totalOf } from "../charts.tsx";
import type { Measure } from "./state.ts";

/** Lanes from the dearest to what stays here: the order of charts and legends. */
const laneOrder: readonly Lane[] = ["flagship_deep", "flagship_fast", "local_utility", "local_redaction"];
const laneLooks: Record<Lane, Part["look"]> = {
  flagship_deep: "lines",
  flagship_fast: "plain",
  local_utility: "dots",
  local_redaction: "cross",
};

/** A lane of the host in the owner's words; one that this view does not know as the host names it. */
export function laneName(key: string, name: string): string {
  const lane = laneOrder.find((known) => known === key);
  return lane === undefined ? name : laneText(lane);
}

/** What a chart draws of a row. */
export function amountOf(row: Pick<UsageRow, "costUsd" | "usage">, measure: Measure): number {
  return measure === "cost" ? row.costUsd : row.usage.inputTokens + row.usage.outputTokens;
}

export function laneParts(rows: readonly UsageRow[], measure: Measure): Part[] {
  return laneOrder.map((lane) => {
    const row = rows.find(({ key }) => key === lane);
    return { key: lane, name: laneText(lane), look: laneLooks[lane], value: row === undefined ? 0 : amountOf(row, measure) };
  });
}

/** One column for each of the last days, also for those without a call. @param today YYYY-MM-DD of the owner's day. */
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

/** The last day to draw: the owner's, or the host's where that is ahead of it (another time zone). */
export function lastDay(byDay: UsageSummary["byDay"], now: Date): string {
  const here = localDay(now);
  const counted = byDay.at(-1)?.key ?? here;
  return counted > here ? counted : here;
}

/** The day at the owner, YYYY-MM-DD. */
function localDay(at: Date): string {
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** What a sum cost, in words: nothing is not the same as not known. */
export function costText({ costUsd, unpricedCalls, calls }: { costUsd: number; unpricedCalls: number; calls: number }): string {
  if (unpricedCalls === 0) return formatUsd(costUsd);
  return unpricedCalls === calls ? t("not known") : t("{0} and more", formatUsd(costUsd));
}

export function hasAmounts(parts: readonly Part[]): boolean {
  return totalOf(parts) > 0;
}

interface Look {
  icon: string;
  text: string;
  kind?: string;
  spin?: boolean;
}

export function decisionLook({ success, error }: Pick<RouterDecision, "success" | "error">): Look {
  if (success === null) return { icon: "circle-outline", text: t("not ended") };
  return success ? { icon: "pass", text: t("answered"), kind: "good" } : { icon: "error", text: error ?? t("failed"), kind: "bad" };
}

export function breakerLook({ state }: Pick<BreakerState, "state">): Look {
  switch (state) {
    case "closed":
      return { icon: "pass", text: t("in use"), kind: "good" };
    case "half_open":
      return { icon: "warning", text: t("being tried again"), kind: "warn" };
    case "open":
      return { icon: "error", text: t("left out for now"), kind: "bad" };
  }
}

export function localLook({ status, paused }: Pick<LocalModel, "status" | "paused">): Look {
  switch (status) {
    case "absent":
      return paused === true ? { icon: "debug-pause", text: t("download paused") } : { icon: "circle-outline", text: t("not downloaded") };
    case "downloading":
      return { icon: "loading", text: t("downloading"), spin: true };
    case "ready":
      return { icon: "pass", text: t("ready"), kind: "good" };
    case "loading":
      return { icon: "loading", text: t("loading"), spin: true };
    case "loaded":
      return { icon: "pass", text: t("loaded"), kind: "good" };
    case "failed":
      return { icon: "error", text: t("failed"), kind: "bad" };
  }
}

/** Which rule of config/router.yaml decided, in words. */
export function ruleText(rule: RouterDecision["rule"]): string {
  switch (rule) {
    case "override":
      return t("your choice for this task");
    case "local_task":
      return t("a task this machine can do");
    case "redact":
      return t("personal data is taken out here");
    case "deep_task":
      return t("a kind of task that wants thought");
    case "risk":
      return t("words of risk");
    case "complexity":
      return t("a long or tangled request");
    case "default":
      return t("nothing asks for more");
    case "failure":
      return t("the fast lane failed");
    case "failover":
      return t("another provider failed");
    case "offline":
      return t("there is no network");
  }
}
