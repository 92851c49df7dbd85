import { randomUUID } from "node:crypto";
import { LancelotError } from "../../contract/errors.ts";
import type { CapsFile } from "./caps.ts";
import { fromUsd, mostOf, type Nanos, toUsd } from "./call-cost.ts";
import type { Prices } from "./prices.ts";
import type { UsageStore } from "./usage-store.ts";
import type { Admission, NextCall } from "./types.ts";

interface AdmissionDeps {
  store: UsageStore;
  prices: Prices;
  caps: CapsFile;
  today(): string;
}

/** `data.cap` of the error for a rejected call. */
type Why = "quest" | "day" | "unpriced" | "settings";

const nothingHeld: Admission = { id: "", release: () => undefined };

/**
 * Admits a call only if it cannot exceed a cap whatever it costs, and reserves that amount until it is counted, so that concurrent calls, also
 * of two windows, cannot exceed the cap together.
 * @throws LancelotError `denied`, `data.reason: "cap"`
 */
export function admitCall({ store, prices, caps, today }: AdmissionDeps, next: NextCall): Admission {
  const onThisMachine = next.onThisMachine === true || next.kind === "local";
  const day = today();
  const price = prices.of({ provider: next.provider, kind: next.kind, model: next.model, onThisMachine }, day);
  const most = price === null ? null : mostOf(price, next.inputTokens, next.maxTokens);
  if (most === 0) return nothingHeld;

  const { caps: set, allowUnpriced, problem } = caps.read();
  if (problem !== null) throw refused("settings", `Not sent: ${problem} Until it is corrected, no paid request is sent.`, null, null, most);
  const limits = { quest: next.questId === null ? null : set.questUsd, day: set.dayUsd };
  if (limits.quest === null && limits.day === null) return nothingHeld;
  if (prices.isUnknown()) throw refused("settings", `Not sent: ${prices.problem() ?? "The prices are unknown."}`, null, null, most);
  if (most === null) {
    if (allowUnpriced) return nothingHeld;
    throw refused(
      "unpriced",
      `Not sent: the price of ${next.provider}/${next.model} is unknown, so your spending cap cannot be enforced. Choose another model, add its price to config/prices.yaml, or set allow_unpriced: true in config/usage.yaml.`,
      null,
      null,
      null,
    );
  }

  const id = randomUUID();
  store.transaction(() => {
    const held = store.held(next.questId);
    if (limits.quest !== null && next.questId !== null)
      refuseBeyond("quest", limits.quest, store.questCost(next.questId) ?? 0, held.quest, most);
    if (limits.day !== null) refuseBeyond("day", limits.day, store.dayCost(day), held.all, most);
    store.hold(id, next.questId, most);
  });
  let isHeld = true;
  return {
    id,
    release() {
      if (!isHeld) return;
      isHeld = false;
      store.free(id);
    },
  };
}

function refuseBeyond(cap: "quest" | "day", limitUsd: number, spent: Nanos, held: Nanos, most: Nanos): void {
  if (spent + held + most <= fromUsd(limitUsd)) return;
  const whose = cap === "quest" ? "this task" : "today";
  const running = held === 0 ? "" : `, and running calls may cost ${usd(held)}`;
  const next =
    cap === "quest"
      ? "Raise the cap and resume, or choose a cheaper model."
      : "Raise the cap and resume, choose a cheaper model, or continue tomorrow.";
  throw refused(
    cap,
    `Not sent: the next call could cost up to ${usd(most)}. Of the cap of ${usd(fromUsd(limitUsd))} for ${whose}, ${usd(spent)} is spent${running}. ${next}`,
    spent,
    limitUsd,
    most,
  );
}

function refused(cap: Why, message: string, spent: Nanos | null, limitUsd: number | null, most: Nanos | null): LancelotError {
  return new LancelotError("denied", message, {
    data: {
      reason: "cap",
      cap,
      spentUsd: spent === null ? null : toUsd(spent),
      limitUsd,
      estimateUsd: most === null ? null : toUsd(most),
      action: cap === "unpriced" ? "choose_model" : "raise_cap",
    },
  });
}

/** Two decimal places, or as many as a small amount needs. */
function usd(nanos: Nanos): string {
  const value = toUsd(nanos);
  const places = value === 0 || value >= 0.1 ? 2 : Math.min(9, 1 - Math.floor(Math.log10(value)));
  return `$${value.toFixed(places)}`;
}
