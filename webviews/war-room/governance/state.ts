import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { GovernanceStats } from "../../../agent-server/contract/governance.ts";
import type { Bridge } from "../../shared/bridge.ts";
import { t } from "../../shared/l10n.ts";
import type { Store } from "../../shared/store.ts";
import type { Column, Part } from "../charts.tsx";
import { createLive, type Live } from "../live.ts";

export const spans = [7, 30, 90] as const;

export interface GovernanceState {
  /** How many days back the numbers go. */
  readonly days: Signal<number>;
  readonly stats: Live<GovernanceStats>;
}

/** Milliseconds between two reads: a task at work closes many receipts a second. */
const restMs = 1500;

export function createGovernanceState(bridge: Bridge, store: Pick<Store, "generation">, shown: ReadonlySignal<boolean>): GovernanceState {
  const days = signal<number>(spans[0]);
  const stats = createLive({
    bridge,
    store,
    shown,
    topics: ["approval", "receipt", "soul", "flags"],
    read: (abort) => bridge.call("governance.stats", { days: days.peek() }, abort),
    restMs,
  });
  let before = days.peek();
  days.subscribe((next) => {
    if (next === before) return;
    before = next;
    stats.refresh();
  });
  return { days, stats };
}

type Counts = Readonly<Record<string, number>>;

export function tierParts(counts: Counts): Part[] {
  return [
    { key: "T0", name: t("T0 inert"), look: "plain", value: counts["T0"] ?? 0 },
    { key: "T1", name: t("T1 reversible"), look: "dots", value: counts["T1"] ?? 0 },
    { key: "T2", name: t("T2 controlled"), look: "lines", value: counts["T2"] ?? 0 },
    { key: "T3", name: t("T3 irreversible"), look: "cross", value: counts["T3"] ?? 0 },
  ];
}

export function verdictParts(counts: Counts): Part[] {
  return [
    { key: "allow", name: t("allowed"), look: "plain", value: counts["allow"] ?? 0 },
    { key: "ask", name: t("asked you"), look: "lines", value: counts["ask"] ?? 0 },
    { key: "deny", name: t("denied"), look: "cross", value: counts["deny"] ?? 0 },
  ];
}

const day = /^\d{4}-\d{2}-\d{2}$/;

/** A column for each of the last `days` days up to `today` (YYYY-MM-DD, UTC), those without a decision too. */
export function dayColumns(byDay: GovernanceStats["byDay"], days: number, today: string, name: (day: string) => string): Column[] {
  const known = new Map(byDay.filter((entry) => day.test(entry.day)).map((entry) => [entry.day, entry]));
  const last = Date.parse(`${today}T00:00:00Z`);
  return Array.from({ length: days }, (_, index) => {
    const date = new Date(last - (days - 1 - index) * 86_400_000).toISOString().slice(0, 10);
    return { label: name(date), parts: verdictParts(known.get(date)?.byVerdict ?? {}) };
  });
}
