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
import { createBook } from "./trust-recorder.ts";
import { countOutcome } from "./trust-outcomes.ts";
import { loadTrustNumbers, type TrustNumbers } from "./trust-config.ts";
import { decideStep, type TrustDecision } from "./trust-decision.ts";
import { isStricter, nextStep, type TrustResult } from "./trust-state.ts";
import { createTrustStore, type StoredRecord } from "./trust-store.ts";
import { suspendedWords } from "./trust-messages.ts";

export { trustMigrations } from "./trust-migrations.ts";

/** What came of one action, as the gate tells it. */
export interface TrustOutcome {
  readonly key: TrustKey;
  /** Without trust. */
  readonly defaultTier: Tier;
  /** The tier it was decided at. */
  readonly decidedTier: Tier;
  /** Why soul or policy hold this; null when they do not. */
  readonly held: string | null;
  readonly changesFiles: boolean;
  /** `rollback`: the owner undid it. `refused`: the owner said no. */
  readonly result: TrustResult;
  readonly questId: string | null;
  readonly receiptId: string;
}

/** The trust ledger: what each kind of action has earned. It proposes; the owner accepts. */
export interface Trust extends TrustView {
  /**
   * Counts an outcome, once for each receipt and key (a worse result that comes later replaces the better one). T0 is not counted.
   * Never throws: where a bad outcome cannot be written, this window stops lifting that kind of action.
   */
  outcome(outcome: TrustOutcome): void;
  /** The owner undid these actions: what was told of them becomes a rollback. Receipts that were never told are passed over. */
  rolledBack(receiptIds: readonly string[]): void;
  /** Most recently seen first. */
  list(limit: number): TrustRecord[];
  /** Newest first. */
  proposals(status: TrustProposal["status"], limit: number): TrustProposal[];
  /**
   * The owner's answer.
   * @throws LancelotError `not_found`, `conflict` (decided already, or its reason has gone), `unavailable` (the numbers cannot be used).
   */
  decide(id: string, decision: TrustDecision): TrustProposal;
  /** What is wrong with its numbers, in words for the owner; null when all is well. */
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

/** Longest part of a key that is kept; longer ones are never trusted. */
const maxPart = 300;
/** With numbers that cannot be used nothing is lifted and nothing proposed; what was lost stays lost. */
export function createTrust(deps: TrustDeps): Trust {
  const { storage, ledger, emit, log } = deps;
  const now = deps.now ?? Date.now;
  const store = createTrustStore(storage);
  let numbers: TrustNumbers | null = null;
  let problem: string | null = null;
  try {
    numbers = loadTrustNumbers(deps.configDir);
  } catch (error) {
    problem = `Trust lifts nothing: ${error instanceof Error ? error.message : String(error)}`;
    log("trust lifts nothing", error);
  }

  /** Tiers that differ from the default, by key. Kinds of action that stand only at their default are not in it. */
  const moved = createSnapshot(storage, () => {
    const byKey = new Map<string, StoredRecord[]>();
    for (const record of store.moved()) {
      const name = keyText(record);
      byKey.set(name, [...(byKey.get(name) ?? []), record]);
    }
    return byKey;
  });
  /** Keys whose bad outcome could not be written: they are not lifted any more while this window is open. */
  const unwritten = new Set<string>();

  const book = createBook({ storage, ledger, emit, store, numbers, now, touched: moved.touched });

  let forgotAt = 0;
  function forget(): void {
    const at = now();
    if (numbers === null || Math.abs(at - forgotAt) < 86_400_000) return;
    forgotAt = at;
    store.forgetBefore(at - numbers.remember_days * 86_400_000);
  }

  function outcome({ key, defaultTier, ...seen }: TrustOutcome): void {
    if (defaultTier === "T0" || !isKept(key)) return;
    const { capability, action, scope } = key;
    try {
      storage.transaction(() => {
        forget();
        countOutcome(book, { capability, action, scope, defaultTier }, seen);
      });
    } catch (error) {
      if (seen.result !== "success") unwritten.add(keyText(key));
      log("an outcome could not be counted", error);
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
      if (isLifted && (numbers === null || record.heldBy !== null || unwritten.has(name))) return null;
      return record.tier;
    },

    outcome,

    rolledBack(receiptIds) {
      for (const receiptId of receiptIds) {
        let told: ReturnType<typeof store.ofReceipt> = [];
        try {
          told = store.ofReceipt(receiptId);
          storage.transaction(() => {
            for (const { defaultTier, result, lifted, ...key } of told) {
              if (result === "refused") continue;
              const record = store.record({ ...key, defaultTier });
              if (record === null) continue;
              const { heldBy: held, changesFiles } = record;
              // Of the tier it was decided at only whether it was lifted matters now.
              const decidedTier = lifted ? "T0" : defaultTier;
              countOutcome(book, { ...key, defaultTier }, { receiptId, result: "rollback", decidedTier, held, changesFiles });
            }
          });
        } catch (error) {
          for (const key of told) unwritten.add(keyText(key));
          log("a rollback could not be counted", error);
        }
      }
    },

    list(limit) {
      const suspended = new Set(store.confirmations().map((one) => `${keyText(one.proposal)}\0${one.defaultTier}`));
      return store.list(limit).map((record): TrustRecord => {
        const step = suspended.has(`${keyText(record)}\0${record.defaultTier}`) ? { heldBy: suspendedWords } : nextStep(record, numbers);
        const isLifted = isStricter(record.defaultTier, record.tier);
        return {
          capability: record.capability,
          action: record.action,
          scope: record.scope,
          defaultTier: record.defaultTier,
          tier: isLifted && (numbers === null || record.heldBy !== null) ? record.defaultTier : record.tier,
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
      const decided = storage.transaction(() => decideStep(book, id, decision, problem));
      if (decided instanceof LancelotError) throw decided;
      return decided;
    },

    problem: () => problem,
  };
}

function keyText({ capability, action, scope }: TrustKey): string {
  return `${capability}\0${action}\0${scope}`;
}

function isKept({ capability, action, scope }: TrustKey): boolean {
  return [capability, action, scope].every((part) => part.length <= maxPart && !part.includes("\0"));
}

/** What each kind of action has earned, and the owner's word on it. */
export function trustHandlers(trust: Trust): Pick<Handlers, "trust.list" | "trust.proposals" | "trust.decide"> {
  return {
    "trust.list": ({ limit }) => ({ items: trust.list(limit) }),
    "trust.proposals": ({ status, limit }) => ({ items: trust.proposals(status ?? "pending", limit) }),
    "trust.decide": ({ id, decision }) => trust.decide(id, decision),
  };
}
