import { randomUUID } from "node:crypto";
import type { Tier } from "../../contract/common.ts";
import type { Emit } from "../../contract/events.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Storage } from "../../storage/storage.ts";
import type { TrustKey } from "../decision-facts.ts";
import type { TrustNumbers } from "./trust-config.ts";
import { dueStep, isStricter, type TrustResult } from "./trust-state.ts";
import type { RecordKey, StoredProposal, StoredRecord, TrustStore } from "./trust-store.ts";
import { nameOf } from "./trust-messages.ts";

interface Noted {
  readonly key: TrustKey;
  readonly from: Tier;
  readonly to: Tier;
  readonly id?: string;
  readonly parentId?: string | null;
  readonly byOwner?: boolean;
  readonly why?: string;
}

/** Writes records and proposals, each change with its receipt and event, inside the running transaction. */
export interface Book {
  readonly store: TrustStore;
  readonly numbers: TrustNumbers | null;
  readonly now: () => number;
  put(record: StoredRecord): void;
  /** A receipt of something that changed; its id. The lists are read again when the transaction is committed. */
  note(name: string, of: Noted): string;
  /** Ends proposals of a record that stand no more. */
  withdraw(record: RecordKey, stale: readonly StoredProposal[], why: string): void;
  propose(record: StoredRecord, to: Tier, of: { reason: string; confirms: boolean; parentId: string }): void;
  /** True when a pending proposal has lost its reason, by how the record stands after a result. */
  isGone(proposal: StoredProposal, record: StoredRecord, result: TrustResult): boolean;
}

export function createBook(deps: {
  storage: Storage;
  ledger: Ledger;
  emit: Emit;
  store: TrustStore;
  numbers: TrustNumbers | null;
  now: () => number;
  /** Called after a record was written. */
  touched: () => void;
}): Book {
  const { storage, ledger, emit, store, numbers, now, touched } = deps;

  /** The receipt is opened and closed inside the transaction, so that it is undone with it. */
  function note(name: string, of: Noted): string {
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
    storage.afterTransaction((committed) => {
      if (committed) emit("trust", {});
    });
    return id;
  }

  return {
    store,
    numbers,
    now,
    note,

    put(record) {
      store.put(record);
      touched();
    },

    withdraw(record, stale, why) {
      for (const { proposal, receiptId } of stale) {
        if (!store.settle(proposal.id, proposal.status, "withdrawn", now())) continue;
        const accepted = proposal.status === "accepted";
        note(accepted ? "reset" : "withdraw", {
          key: record,
          from: accepted ? proposal.to : proposal.from,
          to: accepted ? proposal.from : proposal.to,
          id: proposal.id,
          parentId: receiptId,
          why,
        });
      }
    },

    propose(record, to, { reason, confirms, parentId }) {
      const id = randomUUID();
      const { tier: from } = record;
      const receiptId = note("propose", { key: record, from, to, id, parentId, why: reason });
      store.propose({ ...recordKey(record), id, from, to, reason, confirms, receiptId, at: now() });
    },

    isGone({ proposal, confirms }, record, result) {
      if (proposal.from !== record.tier || record.heldBy !== null) return true;
      if (confirms) return result !== "success" || (record.changesFiles && proposal.to === "T0");
      return dueStep(record, numbers)?.to !== proposal.to;
    },
  };
}

export function recordKey({ capability, action, scope, defaultTier }: RecordKey): RecordKey {
  return { capability, action, scope, defaultTier };
}
