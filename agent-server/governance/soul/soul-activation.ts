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
  /** The proposal that this version is made of; null when an earlier version comes back. */
  readonly proposalId: string | null;
  readonly actionName: string;
  readonly inputs: Record<string, unknown>;
}

export interface Activation {
  /**
   * Puts a version in force. `prepare` runs inside the first transaction, where nobody else can decide; what it throws ends it.
   * The order survives a crash at any point: intent and signed text in the database → version file → pointer → outcome. Before
   * the pointer moved it is taken back by the next host, after it is completed.
   * @throws LancelotError of `prepare`; `conflict` while another window is at it; `unavailable` when the disk refuses.
   */
  readonly carry: (prepare: () => ActivationPlan) => ActivationPlan;
  /** Ends what a host that died left half done. */
  readonly recover: () => void;
}

export function createActivation(deps: {
  storage: Storage;
  ledger: Ledger;
  files: VersionFiles;
  records: SoulVersionStore;
  proposals: ProposalStore;
  now: () => number;
  /** Called between the steps of an activation; tests stop the host there. */
  between?: (step: "prepared" | "written" | "pointed") => void;
}): Activation {
  const { storage, ledger, files, records, proposals } = deps;
  const between = deps.between ?? (() => undefined);
  const time = (): string => new Date(deps.now()).toISOString();

  function complete({ version, proposalId, receiptId }: PendingActivation): void {
    const at = time();
    records.activate(version, at);
    if (proposalId !== null) proposals.move(proposalId, ["approved"], { status: "activated", at, toVersion: version });
    records.setActivating(null);
    closeReceipt(receiptId, { status: "success", outputs: { version, sha256: records.get(version)?.sha256 ?? null } });
  }

  function takeBack({ version, receiptId }: PendingActivation, why: string): void {
    const signed = records.get(version);
    if (signed !== null && !records.activated().some((one) => one.version === version)) {
      const onDisk = files.readVersion(version);
      if (onDisk.ok && soulHash(onDisk.value) === signed.sha256) files.removeVersion(version);
      records.remove(version);
    }
    records.setActivating(null);
    closeReceipt(receiptId, { status: "failure", errorMessage: why });
  }

  /** A receipt that a host's end closed already stays as it is. */
  function closeReceipt(id: string, closing: Parameters<Ledger["close"]>[1]): void {
    if (ledger.get(id)?.status === "pending") ledger.close(id, closing);
  }

  /** Inside a transaction. */
  function settle(): void {
    const left = records.activating();
    if (left === null) return;
    if (left.hostId !== storage.hostId && storage.hostAlive(left.hostId)) {
      throw new LancelotError("conflict", "Another window is putting a soul in force right now. Try again in a moment.");
    }
    const pointer = files.readPointer();
    if (pointer.ok && pointer.value === left.version) complete(left);
    else takeBack(left, "The host ended before it took effect.");
  }

  return {
    carry(prepare) {
      const { plan, activating } = storage.transaction(() => {
        settle();
        const plan = prepare();
        if (records.get(plan.version) === null) {
          const { version, yaml, proposalId } = plan;
          records.add({
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
        records.setActivating(activating);
        return { plan, activating };
      });
      between("prepared");
      try {
        write(plan);
        between("written");
        files.point(plan.version);
      } catch (error) {
        const known = error instanceof LancelotError ? error : unwritable(error);
        storage.transaction(() => takeBack(activating, known.message));
        throw known;
      }
      between("pointed");
      storage.transaction(() => complete(activating));
      return plan;
    },

    recover() {
      storage.transaction(() => {
        const left = records.activating();
        if (left !== null && (left.hostId === storage.hostId || !storage.hostAlive(left.hostId))) settle();
      });
    },
  };

  /** A version file is written once; one that is there must be the same. */
  function write({ version, yaml }: ActivationPlan): void {
    if (files.addVersion(version, yaml)) return;
    const there = files.readVersion(version);
    if (!there.ok) throw new LancelotError("conflict", `${there.problem} Remove it, then try again.`);
    if (there.value !== yaml) {
      throw new LancelotError(
        "conflict",
        `soul_${version}.yaml is there already and says something else. A version is written once; remove or restore the file.`,
      );
    }
  }
}

function unwritable(error: unknown): LancelotError {
  const full = (error as NodeJS.ErrnoException).code === "ENOSPC";
  return new LancelotError(
    "unavailable",
    full
      ? "The disk is full, so the soul stays as it was."
      : "The soul's folder cannot be written, so the soul stays as it was. Check its permissions.",
    { cause: error },
  );
}
