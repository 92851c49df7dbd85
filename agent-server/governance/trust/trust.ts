import { randomUUID } from "node:crypto";
import type { Tier } from "../../contract/common.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Emit } from "../../contract/events.ts";
import type { Handlers } from "../../contract/table.ts";
import type { TrustProposal, TrustRecord } from "../../contract/trust.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import type { Storage } from "../../storage/storage.ts";
import type { TrustKey, TrustView } from "../facts.ts";
import { createSnapshot } from "../snapshot.ts";
import { loadTrustNumbers, type TrustNumbers } from "./numbers.ts";
import { after, dueStep, firstStanding, isStricter, nextStep, type TrustResult } from "./standing.ts";
import { createTrustStore, type RecordKey, type StoredProposal, type StoredRecord } from "./store.ts";
import { confirmationWords, nameOf, proposalWords, suspendedWords } from "./words.ts";

export { trustMigrations } from "./schema.ts";

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
  decide(id: string, decision: "accept" | "decline" | "revoke"): TrustProposal;
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
/** How bad a result is: told twice, the worse one counts. */
const badness: Readonly<Record<TrustResult, number>> = { success: 0, refused: 1, failure: 2, rollback: 3 };

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
  /** Keys whose bad outcome could not be written. */
  const unwritten = new Set<string>();

  /** Opened and closed inside the running transaction, so that it is undone with it. */
  function receipt(
    name: string,
    of: { key: TrustKey; from: Tier; to: Tier; id?: string; parentId?: string | null; byOwner?: boolean; why?: string },
  ): string {
    const { capability, action, scope } = of.key;
    const id = ledger.open({
      actionType: of.byOwner === true ? "user_interaction" : "system",
      actionName: `trust.${name}`,
      inputs: {
        title: nameOf(of.key),
        capability,
        action,
        scope,
        from: of.from,
        to: of.to,
        ...(of.id === undefined ? {} : { proposalId: of.id }),
      },
      riskTier: isStricter(of.from, of.to) ? of.from : of.to,
      parentId: of.parentId ?? null,
    });
    ledger.close(id, { status: "success", outputs: of.why === undefined ? {} : { why: of.why } });
    return id;
  }

  function changed(): void {
    storage.afterTransaction((committed) => {
      if (committed) emit("trust", {});
    });
  }

  function put(record: StoredRecord): void {
    store.put(record);
    moved.touched();
  }

  /** Ends proposals of a record that stand no more. */
  function withdraw(record: RecordKey, stale: readonly StoredProposal[], why: string): void {
    for (const { proposal, receiptId } of stale) {
      if (!store.settle(proposal.id, proposal.status, "withdrawn", now())) continue;
      const accepted = proposal.status === "accepted";
      receipt(accepted ? "reset" : "withdraw", {
        key: record,
        from: accepted ? proposal.to : proposal.from,
        to: accepted ? proposal.from : proposal.to,
        id: proposal.id,
        parentId: receiptId,
        why,
      });
      changed();
    }
  }

  function propose(record: StoredRecord, to: Tier, of: { reason: string; confirms: boolean; parentId: string }): void {
    const id = randomUUID();
    const { tier: from } = record;
    const receiptId = receipt("propose", { key: record, from, to, id, parentId: of.parentId, why: of.reason });
    store.propose({ ...recordKey(record), id, from, to, reason: of.reason, confirms: of.confirms, receiptId, at: now() });
    changed();
  }

  /** Counts one outcome inside the running transaction. */
  function count(key: RecordKey, seen: Omit<TrustOutcome, "key" | "defaultTier" | "questId">): void {
    const { receiptId, result } = seen;
    const told = store.result(receiptId, key);
    if (told !== null && badness[told] >= badness[result]) return;
    const at = now();
    const lifted = isStricter(key.defaultTier, seen.decidedTier);
    store.putResult(receiptId, key, { result, lifted, at });
    const before: StoredRecord = store.record(key) ?? { ...key, ...firstStanding(key.defaultTier), updatedAt: at };
    const record: StoredRecord = { ...before, ...after(before, seen, numbers), updatedAt: at };
    put(record);
    if (result === "rollback" && isStricter(record.tier, before.tier)) {
      receipt("rollback", {
        key,
        from: before.tier,
        to: record.tier,
        parentId: receiptId,
        why: "You undid it, so it is one tier stricter than it began.",
      });
      changed();
    }
    withdraw(
      key,
      store.proposalsOf(key, "accepted").filter(({ proposal }) => isStricter(record.tier, proposal.to)),
      lostWords[result],
    );
    withdraw(
      key,
      store.proposalsOf(key, "pending").filter((pending) => isGone(pending, record, result)),
      "The reason for it has gone.",
    );
    if (result === "failure" || result === "rollback") {
      if (lifted) breakCircuit(key.capability, receiptId, at);
      return;
    }
    const due = result === "success" ? dueStep(record, numbers) : null;
    if (due !== null && store.proposalsOf(key, "pending").length === 0) {
      propose(record, due.to, {
        reason: proposalWords(key, record.tier, due.to, record.successes),
        confirms: false,
        parentId: receiptId,
      });
    }
  }

  function isGone({ proposal, confirms }: StoredProposal, record: StoredRecord, result: TrustResult): boolean {
    if (proposal.from !== record.tier || record.heldBy !== null) return true;
    if (confirms) return result !== "success" || (record.changesFiles && proposal.to === "T0");
    return dueStep(record, numbers)?.to !== proposal.to;
  }

  /** Several failures at lowered tiers within a short time: what the capability was granted waits to be confirmed. */
  function breakCircuit(capability: string, parentId: string, at: number): void {
    // Without numbers nothing is lifted that could be suspended.
    if (numbers === null) return;
    const { failures, minutes } = numbers.breaker;
    const since = Math.max(at - minutes * 60_000, store.trippedAt(capability) ?? 0);
    const bad = store.badSince(capability, since);
    if (bad < failures) return;
    store.trip(capability, at);
    for (const record of store.lifted(capability)) {
      const key = recordKey(record);
      const suspended: StoredRecord = { ...record, tier: record.defaultTier, successes: 0, updatedAt: at };
      put(suspended);
      const why = confirmationWords(key, record.tier, bad, minutes);
      withdraw(key, store.proposalsOf(key, "accepted"), why);
      withdraw(key, store.proposalsOf(key, "pending"), why);
      propose(suspended, record.tier, { reason: why, confirms: true, parentId });
    }
  }

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
    const name = keyText(key);
    try {
      storage.transaction(() => {
        forget();
        count({ capability, action, scope, defaultTier }, seen);
      });
      unwritten.delete(name);
    } catch (error) {
      if (seen.result !== "success") unwritten.add(name);
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
        try {
          storage.transaction(() => {
            for (const { defaultTier, result, lifted, ...key } of store.ofReceipt(receiptId)) {
              if (result === "refused") continue;
              const record = store.record({ ...key, defaultTier });
              if (record === null) continue;
              count(
                { ...key, defaultTier },
                {
                  receiptId,
                  result: "rollback",
                  decidedTier: lifted ? record.tier : defaultTier,
                  held: record.heldBy,
                  changesFiles: record.changesFiles,
                },
              );
            }
          });
        } catch (error) {
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
      const decided = storage.transaction((): TrustProposal | LancelotError => {
        const one = store.proposal(id);
        if (one === null) return new LancelotError("not_found", `There is no trust proposal ${id.slice(0, 200)}.`);
        const { proposal, defaultTier, receiptId } = one;
        const was = decision === "revoke" ? "accepted" : "pending";
        if (proposal.status !== was)
          return new LancelotError("conflict", cannotWords(proposal.status, decision), { data: { status: proposal.status } });
        const { capability, action, scope } = proposal;
        const key: RecordKey = { capability, action, scope, defaultTier };
        const record = store.record(key);
        if (record === null) return new LancelotError("not_found", "What this proposal is about is no longer recorded.");
        const settle = (status: TrustProposal["status"], from: Tier, to: Tier): void => {
          store.settle(id, was, status, now());
          receipt(decision, { key, from, to, id, parentId: receiptId, byOwner: true });
          changed();
        };
        switch (decision) {
          case "accept":
            if (numbers === null) return new LancelotError("unavailable", problem ?? "Trust lifts nothing.");
            if (isGone(one, record, "success")) {
              withdraw(key, [one], "The reason for it had gone when it was accepted.");
              return new LancelotError("conflict", "The reason for this proposal has gone, so it was withdrawn. Nothing was changed.");
            }
            settle("accepted", proposal.from, proposal.to);
            put({ ...record, tier: proposal.to, successes: 0 });
            break;
          case "decline":
            settle("declined", proposal.from, proposal.from);
            put({ ...record, coolDown: Math.max(record.coolDown, numbers?.cool_down.refused ?? 0) });
            break;
          case "revoke": {
            settle("revoked", proposal.to, proposal.from);
            put({ ...record, tier: proposal.from, successes: 0, coolDown: Math.max(record.coolDown, numbers?.cool_down.revoked ?? 0) });
            const later = store.proposalsOf(key, "accepted").filter((other) => isStricter(proposal.from, other.proposal.to));
            withdraw(key, [...later, ...store.proposalsOf(key, "pending")], "You withdrew the step before it.");
            break;
          }
        }
        return store.proposal(id)?.proposal ?? proposal;
      });
      if (decided instanceof LancelotError) throw decided;
      return decided;
    },

    problem: () => problem,
  };
}

const lostWords: Readonly<Record<TrustResult, string>> = {
  success: "It changes files, so it keeps its checkpoint.",
  failure: "It failed, so it is back at the tier it began with.",
  rollback: "You undid it, so what it had earned is lost.",
  refused: "It changes files, so it keeps its checkpoint.",
};

function cannotWords(status: TrustProposal["status"], decision: string): string {
  if (decision === "revoke") return `Only a step that was accepted can be withdrawn; this one is ${status}.`;
  return status === "withdrawn" ? "The reason for this proposal has gone; it was withdrawn." : `This proposal was already ${status}.`;
}

function keyText({ capability, action, scope }: TrustKey): string {
  return `${capability}\0${action}\0${scope}`;
}

function recordKey({ capability, action, scope, defaultTier }: RecordKey): RecordKey {
  return { capability, action, scope, defaultTier };
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
