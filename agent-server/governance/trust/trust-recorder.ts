import { randomUUID } from "node:crypto";
import type { Tier } from "../../contract/common.ts";
import type { Emit } from "../../contract/events.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Storage } from "../../storage/storage.ts";
import type { TrustKey } from "../decision-facts.ts";
import type { TrustConfig } from "./trust-config.ts";
import { dueStep, isStricter, type TrustResult } from "./trust-state.ts";
import type { RecordKey, StoredProposal, StoredRecord, TrustStore } from "./trust-store.ts";
import { actionLabel } from "./trust-messages.ts";

interface TrustChange {
  readonly key: TrustKey;
  readonly from: Tier;
  readonly to: Tier;
  readonly id?: string;
  readonly parentId?: string | null;
  readonly byOwner?: boolean;
  readonly why?: string;
}

/** Writes records and proposals, each change with its receipt and event, inside the running transaction. */
export interface TrustRecorder {
  readonly store: TrustStore;
  readonly config: TrustConfig | null;
  readonly now: () => number;
  save(record: StoredRecord): void;
  /** Writes the receipt of a change and returns its id. Emits the event when the transaction commits. */
  recordChange(name: string, of: TrustChange): string;
  /** Withdraws stale proposals of a record. */
  withdraw(record: RecordKey, stale: readonly StoredProposal[], why: string): void;
  propose(record: StoredRecord, to: Tier, of: { reason: string; confirms: boolean; parentId: string }): void;
  /** True when a pending proposal is no longer justified by the record. */
  isStale(proposal: StoredProposal, record: StoredRecord, result: TrustResult): boolean;
}

export function createTrustRecorder(deps: {
  storage: Storage;
  ledger: Ledger;
  emit: Emit;
  store: TrustStore;
  config: TrustConfig | null;
  now: () => number;
  /** Called after a record is written. */
  onSaved: () => void;
}): TrustRecorder {
  const { storage, ledger, emit, store, config, now, onSaved } = deps;

  /** Opened and closed inside the running transaction, so that a rollback removes it too. */
  function recordChange(name: string, of: TrustChange): string {
    const { capability, action, scope } = of.key;
    const id = ledger.open({
      actionType: of.byOwner === true ? "user_interaction" : "system",
      actionName: `trust.${name}`,
      inputs: {
        title: actionLabel(of.key),
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
    config,
    now,
    recordChange,

    save(record) {
      store.put(record);
      onSaved();
    },

    withdraw(record, stale, why) {
      for (const { proposal, receiptId } of stale) {
        if (!store.settle(proposal.id, proposal.status, "withdrawn", now())) continue;
        const accepted = proposal.status === "accepted";
        recordChange(accepted ? "reset" : "withdraw", {
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
      const receiptId = recordChange("propose", { key: record, from, to, id, parentId, why: reason });
      store.propose({ ...recordKey(record), id, from, to, reason, confirms, receiptId, at: now() });
    },

    isStale({ proposal, confirms }, record, result) {
      if (proposal.from !== record.tier || record.heldBy !== null) return true;
      if (confirms) return result !== "success" || (record.changesFiles && proposal.to === "T0");
      return dueStep(record, config)?.to !== proposal.to;
    },
  };
}

export function recordKey({ capability, action, scope, defaultTier }: RecordKey): RecordKey {
  return { capability, action, scope, defaultTier };
}
