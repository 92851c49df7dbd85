import { type ReadonlySignal, signal } from "@preact/signals";
import type { Approval, ApprovalRule, GovernanceStats } from "../../../agent-server/contract/governance.ts";
import type { Bridge } from "../../shared/bridge.ts";
import { verdictText } from "../../shared/components.tsx";
import { t } from "../../shared/l10n.ts";
import type { Store } from "../../shared/store.ts";
import type { Column, Part } from "../charts.tsx";
import { createLiveQuery, type LiveQuery } from "../live-query.ts";

export const dayOptions = [7, 30, 90] as const;

/** Answers of the user that still hold. */
export interface SavedAnswers {
  readonly rules: readonly ApprovalRule[];
  /** The latest denials that hold for the rest of their task. */
  readonly denials: readonly Approval[];
}

const maxDenials = 10;

export interface GovernanceState {
  /** Number of days that the statistics cover. */
  readonly days: ReadonlySignal<number>;
  setDays(days: number): void;
  readonly stats: LiveQuery<GovernanceStats>;
  readonly saved: LiveQuery<SavedAnswers>;
}

/** Minimum milliseconds between two reads, because a running task closes many receipts per second. */
const minIntervalMs = 1500;

export function createGovernanceState(bridge: Bridge, store: Pick<Store, "generation">, shown: ReadonlySignal<boolean>): GovernanceState {
  const days = signal<number>(dayOptions[0]);
  const stats = createLiveQuery({
    bridge,
    store,
    shown,
    topics: ["approval", "receipt", "soul", "flags"],
    read: (abort) => bridge.call("governance.stats", { days: days.peek() }, abort),
    minIntervalMs,
  });
  const saved = createLiveQuery({
    bridge,
    store,
    shown,
    topics: ["approval", "approvalRules", "receipt"],
    async read(abort): Promise<SavedAnswers> {
      const [rules, denied] = await Promise.all([
        bridge.call("approvals.rules", {}, abort),
        bridge.call("approvals.list", { status: "denied" }, abort),
      ]);
      return { rules: rules.items, denials: denied.items.filter(({ isRemembered }) => isRemembered).slice(0, maxDenials) };
    },
    minIntervalMs,
  });
  const setDays = (next: number): void => {
    days.value = next;
    stats.refresh();
  };
  return { days, setDays, stats, saved };
}

type Counts = Readonly<Record<string, number>>;

export function tierParts(counts: Counts): Part[] {
  return [
    { key: "T0", name: t("T0 inert"), pattern: "plain", value: counts["T0"] ?? 0 },
    { key: "T1", name: t("T1 reversible"), pattern: "dots", value: counts["T1"] ?? 0 },
    { key: "T2", name: t("T2 controlled"), pattern: "lines", value: counts["T2"] ?? 0 },
    { key: "T3", name: t("T3 irreversible"), pattern: "cross", value: counts["T3"] ?? 0 },
  ];
}

export function verdictParts(counts: Counts): Part[] {
  return [
    { key: "allow", name: verdictText("allow"), pattern: "plain", value: counts["allow"] ?? 0 },
    { key: "ask", name: verdictText("ask"), pattern: "lines", value: counts["ask"] ?? 0 },
    { key: "deny", name: verdictText("deny"), pattern: "cross", value: counts["deny"] ?? 0 },
  ];
}

const day = /^\d{4}-\d{2}-\d{2}$/;

/** Returns a column for each of the last `days` days up to `today` (YYYY-MM-DD, UTC), including days without a decision. */
export function dayColumns(byDay: GovernanceStats["byDay"], days: number, today: string, name: (day: string) => string): Column[] {
  const known = new Map(byDay.filter((entry) => day.test(entry.day)).map((entry) => [entry.day, entry]));
  const last = Date.parse(`${today}T00:00:00Z`);
  return Array.from({ length: days }, (_, index) => {
    const date = new Date(last - (days - 1 - index) * 86_400_000).toISOString().slice(0, 10);
    return { label: name(date), parts: verdictParts(known.get(date)?.byVerdict ?? {}) };
  });
}
