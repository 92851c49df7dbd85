import type { Tier } from "../../contract/common.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Emit } from "../../contract/events.ts";
import type { Handlers } from "../../contract/table.ts";
import type { TrustProposal, TrustRecord } from "../../contract/trust.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import type { Storage } from "../../storage/storage.ts";
import type { TrustKey, TrustView } from "../decision-facts.ts";
import { createSnapshot } from "../database-snapshot.ts";
import { createTrustRecorder } from "./trust-recorder.ts";
import { countOutcome } from "./trust-outcomes.ts";
import { loadTrustConfig, type TrustConfig } from "./trust-config.ts";
import { decideTrustProposal, type TrustDecision } from "./trust-decision.ts";
import { isStricter, nextStep, type TrustResult } from "./trust-state.ts";
import { createTrustStore, type StoredRecord } from "./trust-store.ts";
import { suspendedMessage } from "./trust-messages.ts";

export { trustMigrations } from "./trust-migrations.ts";

/** The outcome of one action, as reported by the gate. */
export interface TrustOutcome {
  readonly key: TrustKey;
  /** The tier before trust changes it. */
  readonly defaultTier: Tier;
  /** The tier of the decision. */
  readonly decidedTier: Tier;
  /** Why soul or policy require approval; null when they do not. */
  readonly heldBy: string | null;
  readonly changesFiles: boolean;
  /** `rollback`: the owner undid the action. `refused`: the owner denied it. */
  readonly result: TrustResult;
  readonly questId: string | null;
  readonly receiptId: string;
}

/** The trust ledger: counts outcomes per kind of action and proposes lower tiers, which only the owner can accept. */
export interface Trust extends TrustView {
  /**
   * Counts an outcome once per receipt and key; a later, more severe result replaces an earlier one. Ignores T0.
   * Never throws: when a bad outcome cannot be written, this window no longer lowers the tier of that kind of action.
   */
  outcome(outcome: TrustOutcome): void;
  /** The owner undid these actions: their outcomes become rollbacks. Skips unknown receipts. */
  rolledBack(receiptIds: readonly string[]): void;
  /** Most recently seen first. */
  list(limit: number): TrustRecord[];
  /** Newest first. */
  proposals(status: TrustProposal["status"], limit: number): TrustProposal[];
  /**
   * Applies the owner's decision.
   * @throws LancelotError `not_found`, `conflict` (decided already, or no longer applicable), `unavailable` (unusable configuration).
   */
  decide(id: string, decision: TrustDecision): TrustProposal;
  /** Why its configuration is unusable; null when all is well. */
  problem(): string | null;
}

export interface TrustDeps {
  readonly storage: Storage;
  readonly ledger: Ledger;
  readonly emit: Emit;
  readonly configDir: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  readonly log: Log;
}

/** Maximum length of a key part; actions with longer ones are never trusted. */
const maxPart = 300;
/** With an unusable configuration it lowers and proposes no tiers, and keeps the stricter ones. */
export function createTrust(deps: TrustDeps): Trust {
  const { storage, ledger, emit, log } = deps;
  const now = deps.now ?? Date.now;
  const store = createTrustStore(storage);
  let config: TrustConfig | null = null;
  let problem: string | null = null;
  try {
    config = loadTrustConfig(deps.configDir);
  } catch (error) {
    problem = `Trust lowers no tiers: ${error instanceof Error ? error.message : String(error)}`;
    log("trust configuration unusable; no tier is lowered", error);
  }

  /** Records of every action with a tier that differs from its default, by key. */
  const moved = createSnapshot(storage, () => {
    const byKey = new Map<string, StoredRecord[]>();
    for (const record of store.moved()) {
      const name = keyText(record);
      byKey.set(name, [...(byKey.get(name) ?? []), record]);
    }
    return byKey;
  });
  /** Keys with a bad outcome that could not be written: this window no longer lowers their tier. */
  const unwritten = new Set<string>();

  const recorder = createTrustRecorder({ storage, ledger, emit, store, config, now, onSaved: moved.invalidate });

  let prunedAt = 0;
  function prune(): void {
    const at = now();
    if (config === null || Math.abs(at - prunedAt) < 86_400_000) return;
    prunedAt = at;
    store.forgetBefore(at - config.remember_days * 86_400_000);
  }

  function outcome({ key, defaultTier, ...seen }: TrustOutcome): void {
    if (defaultTier === "T0" || !isTracked(key)) return;
    const { capability, action, scope } = key;
    try {
      storage.transaction(() => {
        prune();
        countOutcome(recorder, { capability, action, scope, defaultTier }, seen);
      });
    } catch (error) {
      if (seen.result !== "success") unwritten.add(keyText(key));
      log("outcome not counted", error);
    }
  }

  return {
    tier(key, defaultTier) {
      const name = keyText(key);
      const records = moved.get().get(name);
      if (records === undefined) return null;
      const record = records.find((one) => one.defaultTier === defaultTier);
      if (record === undefined || record.tier === defaultTier) return null;
      const isLifted = isStricter(defaultTier, record.tier);
      if (isLifted && (config === null || record.heldBy !== null || unwritten.has(name))) return null;
      return record.tier;
    },

    outcome,

    rolledBack(receiptIds) {
      for (const receiptId of receiptIds) {
        let outcomes: ReturnType<typeof store.ofReceipt> = [];
        try {
          outcomes = store.ofReceipt(receiptId);
          storage.transaction(() => {
            for (const { defaultTier, result, lifted, ...key } of outcomes) {
              if (result === "refused") continue;
              const record = store.record({ ...key, defaultTier });
              if (record === null) continue;
              const { heldBy, changesFiles } = record;
              // Only matters whether the decision's tier was below the default.
              const decidedTier = lifted ? "T0" : defaultTier;
              countOutcome(recorder, { ...key, defaultTier }, { receiptId, result: "rollback", decidedTier, heldBy, changesFiles });
            }
          });
        } catch (error) {
          for (const key of outcomes) unwritten.add(keyText(key));
          log("rollback not counted", error);
        }
      }
    },

    list(limit) {
      const suspended = new Set(store.confirmations().map((one) => `${keyText(one.proposal)}\0${one.defaultTier}`));
      return store.list(limit).map((record): TrustRecord => {
        const step = suspended.has(`${keyText(record)}\0${record.defaultTier}`) ? { heldBy: suspendedMessage } : nextStep(record, config);
        const isLifted = isStricter(record.defaultTier, record.tier);
        return {
          capability: record.capability,
          action: record.action,
          scope: record.scope,
          defaultTier: record.defaultTier,
          tier: isLifted && (config === null || record.heldBy !== null) ? record.defaultTier : record.tier,
          successes: record.successes,
          failures: record.failures,
          rollbacks: record.rollbacks,
          coolDown: record.coolDown,
          nextAt: "to" in step ? step.needs : null,
          heldBy: "to" in step ? null : step.heldBy,
          updatedAt: new Date(record.updatedAt).toISOString(),
        };
      });
    },

    proposals: (status, limit) => store.proposals(status, limit),

    decide(id, decision) {
      const decided = storage.transaction(() => decideTrustProposal(recorder, id, decision, problem));
      if (decided instanceof LancelotError) throw decided;
      return decided;
    },

    problem: () => problem,
  };
}

function keyText({ capability, action, scope }: TrustKey): string {
  return `${capability}\0${action}\0${scope}`;
}

function isTracked({ capability, action, scope }: TrustKey): boolean {
  return [capability, action, scope].every((part) => part.length <= maxPart && !part.includes("\0"));
}

/** The contract's trust methods. */
export function trustHandlers(trust: Trust): Pick<Handlers, "trust.list" | "trust.proposals" | "trust.decide"> {
  return {
    "trust.list": ({ limit }) => ({ items: trust.list(limit) }),
    "trust.proposals": ({ status, limit }) => ({ items: trust.proposals(status ?? "pending", limit) }),
    "trust.decide": ({ id, decision }) => trust.decide(id, decision),
  };
}
