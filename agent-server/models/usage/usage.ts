import type { Usage } from "../../contract/chat.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Emit } from "../../contract/events.ts";
import type { ProviderKind } from "../../contract/models.ts";
import type { Lane } from "../../contract/router.ts";
import type { Params, Result } from "../../contract/table.ts";
import type { Storage } from "../../storage/storage.ts";
import { createConfigFile } from "../config.ts";
import { admitCall } from "./admission.ts";
import { createCapsFile } from "./caps.ts";
import { fastLaneWithPrice } from "./comparison.ts";
import { costOf, costWithoutCache, type Nanos, toUsd } from "./cost.ts";
import { createCalendar, daysBefore } from "./day.ts";
import { createPrices, type PricedModel } from "./prices.ts";
import { createUsageStore } from "./store.ts";
import { lanesOf, savingsOf, summarize, type SummaryDeps } from "./summary.ts";
import { createUsageTelling } from "./telling.ts";

export { UsageSettings } from "./caps.ts";
export { PriceTable } from "./prices.ts";
export { usageHandlers } from "./handlers.ts";
export { usageMigrations } from "./schema.ts";

/** A call of a model before it is made, as far as it can be known. */
export interface NextCall {
  questId: string | null;
  /** Name in models.yaml. */
  provider: string;
  kind: ProviderKind;
  model: string;
  /** Tokens of the prompt, estimated on the high side, and the most the answer may take. */
  inputTokens: number;
  maxTokens: number;
  /** It is computed on this machine (embedded, or a server at a loopback address): it costs nothing unless the owner's price table says so. */
  onThisMachine?: boolean;
}

/** The room a call holds under the caps from the moment it was admitted until it was counted or came to nothing. */
export interface Admission {
  readonly id: string;
  /** Gives the room back. To be called in any case (`finally`); after `count`, and a second time, it does nothing. */
  release(): void;
}

/** A call of a model that was made, with the provider's own figures. */
export interface CountedCall {
  questId: string | null;
  provider: string;
  kind: ProviderKind;
  model: string;
  lane: Lane;
  usage: Usage;
  receiptId: string | null;
  onThisMachine?: boolean;
}

/** What models used and what it cost (M7). */
export interface UsageBook {
  /**
   * Holds room for a call under the caps, across windows, at the most it can cost.
   * @throws LancelotError `denied`, `data.reason: "cap"`, when the call could pass a cap: it must not be made.
   */
  admit(next: NextCall): Admission;
  /** Counts a call that was made and gives the room it held back. `costUsd` is null for a model without a price. */
  count(call: CountedCall, admission?: Admission): { costUsd: number | null };
  /** US dollars of a quest so far; null before its first call. */
  questCost(questId: string): number | null;
  summary(params: Params<"usage.summary">): Result<"usage.summary">;
  lanes(params: Params<"usage.lanes">): Result<"usage.lanes">;
  savings(params: Params<"usage.savings">): Result<"usage.savings">;
  reset(): Result<"usage.reset">;
  setCaps(caps: Params<"usage.setCaps">): Result<"usage.setCaps">;
  /** Tells of what another window or the owner's editor changed in the caps or the prices. Cheap: two looks at the disk. */
  notice(): void;
  close(): void;
}

export interface UsageDeps {
  storage: Pick<Storage, "db" | "transaction" | "hostId" | "hostAlive">;
  /** The shipped `config/` folder. */
  configDir: string;
  dataDir: string;
  env: Readonly<Record<string, string | undefined>>;
  emit: Emit;
  /** The title of a quest; null when it is gone. */
  questName(questId: string): string | null;
  /** IANA name; this machine's where absent. */
  timeZone?: string;
  now?: () => Date;
}

/** The books: every call counted at the price of its day, caps that hold before a call is made. */
export function createUsage(deps: UsageDeps): UsageBook {
  const now = deps.now ?? (() => new Date());
  const dayOf = createCalendar(deps.timeZone);
  const today = (): string => dayOf(now());
  const store = createUsageStore(deps.storage);
  const prices = createPrices(deps);
  const caps = createCapsFile(deps);
  const models = createConfigFile(deps);
  const telling = createUsageTelling(deps.emit);
  let pricedWith = -1;

  const valueOf = (model: PricedModel, usage: Usage, day: string): { cost: Nanos; cacheSavings: Nanos } | null => {
    const price = prices.of(model, day);
    if (price === null) return null;
    const cost = costOf(price, usage);
    return { cost, cacheSavings: costWithoutCache(price, usage) - cost };
  };
  /** A price the owner added counts for what had none. What was counted at a price stays as it was. */
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
    notice() {
      if (!caps.changed() && !prices.changed()) return;
      caps.read();
      try {
        reprice();
      } catch (error) {
        if (!(error instanceof LancelotError)) throw error;
        // The database is busy or full: the next summary prices what is left.
      }
      telling.changed(null);
    },
    close: () => telling.end(),
  };
}
