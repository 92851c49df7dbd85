import { randomUUID } from "node:crypto";
import { LancelotError } from "../../contract/errors.ts";
import type { SoulIssue, SoulProposal } from "../../contract/soul.ts";
import type { ReceiptClosing, ReceiptOpening } from "../../receipts/receipts.ts";
import type { Redactor } from "../../security/security.ts";
import type { Storage } from "../../storage/storage.ts";
import type { ActivationPlan } from "./soul-activation.ts";
import { diffSouls, withVersion } from "./soul-diff.ts";
import { maxSoulBytes } from "./soul-document.ts";
import type { SoulProposalRequest } from "./types.ts";
import type { ProposalStore, StoredProposal } from "./soul-proposal-store.ts";

/** Maximum number of open proposals, for the owner and the agent each. */
const maxOpen = 20;
const maxReason = 4000;

interface Base {
  readonly version: string;
  readonly yaml: string;
  readonly sha256: string;
}

export interface SoulProposals {
  readonly propose: (request: SoulProposalRequest) => SoulProposal;
  readonly get: (id: string) => SoulProposal;
  readonly approve: (id: string) => SoulProposal;
  readonly reject: (id: string, reason?: string) => SoulProposal;
  /** The activation plan of an approved proposal. Call inside a transaction. @throws LancelotError `not_found`, `conflict`. */
  readonly plan: (id: string) => ActivationPlan;
}

/** PENDING → APPROVED → ACTIVATED, or REJECTED. Each step happens once across all windows and writes a receipt. */
export function createSoulProposals(deps: {
  storage: Storage;
  redactor: Redactor;
  proposals: ProposalStore;
  now: () => number;
  lint: (yaml: string) => SoulIssue[];
  /** The active soul; null when none is usable. */
  base: () => Base | null;
  nextVersion: () => string;
  receipt: (opening: ReceiptOpening, closing: ReceiptClosing) => void;
}): SoulProposals {
  const { storage, redactor, proposals, lint, receipt } = deps;
  const time = (): string => new Date(deps.now()).toISOString();

  function stored(id: string): StoredProposal {
    const one = proposals.get(id);
    if (one === null) throw new LancelotError("not_found", `No soul proposal has the id ${id.slice(0, 200)}.`);
    return one;
  }

  function requireBase(): Base {
    const base = deps.base();
    if (base === null)
      throw new LancelotError("unavailable", "No soul is active, so there is nothing to change. War Room → Soul shows the reason.");
    return base;
  }

  function requireStatus(one: StoredProposal, status: readonly SoulProposal["status"][]): void {
    if (!status.includes(one.proposal.status)) throw statusConflict(one.proposal.status);
  }

  /** A proposal against an inactive version would revert the changes made since. */
  function requireCurrentBase({ proposal, fromSha256 }: StoredProposal): void {
    const base = requireBase();
    if (base.version === proposal.fromVersion && base.sha256 === fromSha256) return;
    throw new LancelotError(
      "conflict",
      `This proposal is based on soul ${proposal.fromVersion}, but ${base.version} is active now. Propose the change again, based on ${base.version}.`,
    );
  }

  /** A text that is not a sound soul is never stored as a proposal: the owner would only be asked about what cannot be approved. */
  function requireValid(yaml: string, what: "proposed" | "approved" | "activated"): SoulIssue[] {
    const issues = lint(yaml);
    const refusal = issues.find((issue) => issue.severity === "critical");
    if (refusal !== undefined) {
      const where = refusal.line === undefined ? "" : ` (line ${refusal.line})`;
      const code = what === "proposed" ? "invalid_params" : "conflict";
      throw new LancelotError(code, `The proposal cannot be ${what}${where}: ${refusal.message}`, { data: { issues } });
    }
    return issues;
  }

  /** The text with its version set, or unchanged where that fails. */
  function numbered(yaml: string, version: string): string {
    try {
      return withVersion(yaml, version);
    } catch {
      return yaml;
    }
  }

  function decide(
    id: string,
    from: readonly SoulProposal["status"][],
    status: "approved" | "rejected",
    reason: string | null,
  ): SoulProposal {
    return storage.transaction(() => {
      const one = stored(id);
      requireStatus(one, from);
      let issues: SoulIssue[] | undefined;
      if (status === "approved") {
        requireCurrentBase(one);
        issues = requireValid(one.proposal.yaml, "approved");
      }
      if (!proposals.move(id, from, { status, at: time(), ...(issues === undefined ? {} : { issues }) })) {
        throw statusConflict(stored(id).proposal.status);
      }
      receipt(
        {
          actionType: "user_interaction",
          actionName: status === "approved" ? "soul.approve" : "soul.reject",
          inputs: { proposalId: id, fromVersion: one.proposal.fromVersion, title: one.proposal.reason.slice(0, 200) },
          riskTier: "T3",
          questId: one.proposal.questId,
        },
        { status: "success", outputs: { answer: status, ...(reason === null ? {} : { reason }) } },
      );
      return stored(id).proposal;
    });
  }

  return {
    propose({ yaml, reason, by, questId, parentId }) {
      if (yaml.length > maxSoulBytes || Buffer.byteLength(yaml) > maxSoulBytes) {
        throw new LancelotError("too_large", `The soul is larger than ${maxSoulBytes / 1000} kB. Shorten it.`);
      }
      const cleanReason = redactor.text(reason).text.trim().slice(0, maxReason);
      // The text is displayed, stored permanently and sent to models.
      const secret = redactor.text(yaml).findings[0];
      if (secret !== undefined) throw new LancelotError("invalid_params", `The soul contains a secret (${secret.kind}). Remove it.`);
      if (cleanReason === "") throw new LancelotError("invalid_params", "Give a reason for the change.");
      const base = requireBase();
      const issues = requireValid(yaml, "proposed");
      return storage.transaction(() => {
        const open = proposals.list({ status: ["pending", "approved"], limit: 1000 }).map((one) => one.proposal);
        const toVersion = deps.nextVersion();
        const next = numbered(yaml, toVersion);
        if (open.some((one) => one.yaml === yaml && one.fromVersion === base.version)) {
          throw new LancelotError("conflict", "An identical proposal is already pending.");
        }
        if (next === numbered(base.yaml, toVersion))
          throw new LancelotError("conflict", `The proposal equals the active soul ${base.version}.`);
        if (open.filter((one) => one.proposedBy === by).length >= maxOpen) {
          throw new LancelotError("rate_limited", `${maxOpen} proposals are open already. Approve or reject some first.`);
        }
        const proposal: SoulProposal = {
          id: randomUUID(),
          fromVersion: base.version,
          toVersion,
          status: "pending",
          reason: cleanReason,
          proposedBy: by,
          questId,
          yaml,
          diff: diffSouls(base, { version: toVersion, yaml: next }),
          issues,
          createdAt: time(),
          decidedAt: null,
        };
        proposals.insert(proposal, base.sha256);
        receipt(
          {
            actionType: by === "owner" ? "user_interaction" : "system",
            actionName: "soul.propose",
            inputs: { proposalId: proposal.id, fromVersion: base.version, toVersion, proposedBy: by, reason: cleanReason },
            riskTier: "T1",
            questId,
            parentId: parentId ?? null,
          },
          {
            status: "success",
            outputs: { issues: issues.map((issue) => `${issue.severity}: ${issue.rule}`), bytes: Buffer.byteLength(yaml) },
          },
        );
        return proposal;
      });
    },

    get: (id) => stored(id).proposal,
    approve: (id) => decide(id, ["pending"], "approved", null),
    reject: (id, reason) => decide(id, ["pending", "approved"], "rejected", reason === undefined ? null : redactor.text(reason).text),

    plan(id) {
      const one = stored(id);
      if (one.proposal.status === "pending")
        throw new LancelotError("conflict", "The proposal is not approved yet. Approve it first.", { data: { status: "pending" } });
      requireStatus(one, ["approved"]);
      requireCurrentBase(one);
      const version = deps.nextVersion();
      const yaml = withVersion(one.proposal.yaml, version);
      requireValid(yaml, "activated");
      return {
        version,
        yaml,
        proposalId: id,
        actionName: "soul.activate",
        inputs: { proposalId: id, from: one.proposal.fromVersion, title: one.proposal.reason.slice(0, 200) },
      };
    },
  };
}

const statusConflicts: Record<SoulProposal["status"], string> = {
  pending: "The proposal is still pending.",
  approved: "The proposal is already approved.",
  activated: "The proposal is already activated.",
  rejected: "The proposal is already rejected.",
};

function statusConflict(status: SoulProposal["status"]): LancelotError {
  return new LancelotError("conflict", statusConflicts[status], { data: { status } });
}
