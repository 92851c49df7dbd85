import { LancelotError } from "../../contract/errors.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Storage } from "../../storage/storage.ts";
import { soulHash } from "./compile-soul.ts";
import type { ProposalStore } from "./soul-proposal-store.ts";
import type { PendingActivation, SoulVersionStore } from "./soul-version-store.ts";
import type { VersionFiles } from "./soul-version-files.ts";

export interface ActivationPlan {
  readonly version: string;
  readonly yaml: string;
  /** The proposal behind this version; null for a rollback to an earlier version. */
  readonly proposalId: string | null;
  readonly actionName: string;
  readonly inputs: Record<string, unknown>;
}

export interface Activation {
  /**
   * Activates a version. `prepare` runs inside the first transaction, so no other window can decide meanwhile; its errors abort.
   * The order survives a crash at any point: intent and signed text in the database → version file → pointer → outcome. The next
   * host rolls back an activation that crashed before the pointer moved, and completes one that crashed after.
   * @throws LancelotError of `prepare`; `conflict` while another window activates; `unavailable` when the disk rejects the write.
   */
  readonly run: (prepare: () => ActivationPlan) => ActivationPlan;
  /** Completes or rolls back the activation of a host that died. */
  readonly recover: () => void;
}

export function createActivation(deps: {
  storage: Storage;
  ledger: Ledger;
  files: VersionFiles;
  versions: SoulVersionStore;
  proposals: ProposalStore;
  now: () => number;
  /** Called between the steps of an activation; tests stop the host there. */
  between?: (step: "prepared" | "written" | "pointed") => void;
}): Activation {
  const { storage, ledger, files, versions, proposals } = deps;
  const between = deps.between ?? (() => undefined);
  const time = (): string => new Date(deps.now()).toISOString();

  function complete({ version, proposalId, receiptId }: PendingActivation): void {
    const at = time();
    versions.activate(version, at);
    if (proposalId !== null) proposals.move(proposalId, ["approved"], { status: "activated", at, toVersion: version });
    versions.setActivating(null);
    closeReceipt(receiptId, { status: "success", outputs: { version, sha256: versions.get(version)?.sha256 ?? null } });
  }

  function rollBack({ version, receiptId }: PendingActivation, why: string): void {
    const signed = versions.get(version);
    if (signed !== null && !versions.activated().some((one) => one.version === version)) {
      const onDisk = files.readVersion(version);
      if (onDisk.ok && soulHash(onDisk.value) === signed.sha256) files.removeVersion(version);
      versions.remove(version);
    }
    versions.setActivating(null);
    closeReceipt(receiptId, { status: "failure", errorMessage: why });
  }

  /** Leaves a receipt that the end of its host has closed already. */
  function closeReceipt(id: string, closing: Parameters<Ledger["close"]>[1]): void {
    if (ledger.get(id)?.status === "pending") ledger.close(id, closing);
  }

  /** Call inside a transaction. */
  function settlePending(): void {
    const pending = versions.activating();
    if (pending === null) return;
    if (pending.hostId !== storage.hostId && storage.hostAlive(pending.hostId)) {
      throw new LancelotError("conflict", "Another window is activating a soul. Try again in a moment.");
    }
    const pointer = files.readPointer();
    if (pointer.ok && pointer.value === pending.version) complete(pending);
    else rollBack(pending, "The host ended before the activation took effect.");
  }

  return {
    run(prepare) {
      const { plan, activating } = storage.transaction(() => {
        settlePending();
        const plan = prepare();
        if (versions.get(plan.version) === null) {
          const { version, yaml, proposalId } = plan;
          versions.add({
            version,
            yaml,
            sha256: soulHash(yaml),
            origin: proposalId === null ? "found" : "proposal",
            proposalId,
            at: time(),
          });
        }
        const receiptId = ledger.open({
          actionType: "system",
          actionName: plan.actionName,
          inputs: { ...plan.inputs, version: plan.version, sha256: soulHash(plan.yaml) },
          riskTier: "T3",
        });
        const activating: PendingActivation = { version: plan.version, proposalId: plan.proposalId, hostId: storage.hostId, receiptId };
        versions.setActivating(activating);
        return { plan, activating };
      });
      between("prepared");
      try {
        write(plan);
        between("written");
        files.point(plan.version);
      } catch (error) {
        const failure = error instanceof LancelotError ? error : unwritable(error);
        storage.transaction(() => rollBack(activating, failure.message));
        throw failure;
      }
      between("pointed");
      storage.transaction(() => complete(activating));
      return plan;
    },

    recover() {
      storage.transaction(() => {
        const pending = versions.activating();
        if (pending !== null && (pending.hostId === storage.hostId || !storage.hostAlive(pending.hostId))) settlePending();
      });
    },
  };

  /** A version file is immutable: an existing one must have the same text. */
  function write({ version, yaml }: ActivationPlan): void {
    if (files.addVersion(version, yaml)) return;
    const existing = files.readVersion(version);
    if (!existing.ok) throw new LancelotError("conflict", `${existing.problem} Remove it, then try again.`);
    if (existing.value !== yaml) {
      throw new LancelotError(
        "conflict",
        `soul_${version}.yaml already exists with another text, and versions are immutable. Remove or restore the file.`,
      );
    }
  }
}

function unwritable(error: unknown): LancelotError {
  const full = (error as NodeJS.ErrnoException).code === "ENOSPC";
  return new LancelotError(
    "unavailable",
    full
      ? "The disk is full, so the soul was not changed."
      : "The soul folder cannot be written, so the soul was not changed. Check its permissions.",
    { cause: error },
  );
}
