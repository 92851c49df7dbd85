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

/** Proposals of the owner, and of the agent, that may wait at once. */
const maxWaiting = 20;
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
  /** What activating an approved proposal would do; called inside a transaction. @throws LancelotError `not_found`, `conflict`. */
  readonly plan: (id: string) => ActivationPlan;
}

/** PENDING → APPROVED → ACTIVATED, or REJECTED. Each step is taken once, whichever window was first, and is a receipt. */
export function createSoulProposals(deps: {
  storage: Storage;
  redactor: Redactor;
  proposals: ProposalStore;
  now: () => number;
  lint: (yaml: string) => SoulIssue[];
  /** The soul in force; null when none could be used. */
  base: () => Base | null;
  nextVersion: () => string;
  receipt: (opening: ReceiptOpening, closing: ReceiptClosing) => void;
}): SoulProposals {
  const { storage, redactor, proposals, lint, receipt } = deps;
  const time = (): string => new Date(deps.now()).toISOString();

  function stored(id: string): StoredProposal {
    const one = proposals.get(id);
    if (one === null) throw new LancelotError("not_found", `There is no proposal ${id.slice(0, 200)}.`);
    return one;
  }

  function needBase(): Base {
    const base = deps.base();
    if (base === null)
      throw new LancelotError("unavailable", "No soul is in force, so there is nothing to amend. See soul.status for the reason.");
    return base;
  }

  function expect(one: StoredProposal, status: readonly SoulProposal["status"][]): void {
    if (!status.includes(one.proposal.status)) throw new LancelotError("conflict", answered[one.proposal.status]);
  }

  /** What was proposed against a soul that is no longer in force would undo what came in between. */
  function expectBase({ proposal, fromSha256 }: StoredProposal): void {
    const base = needBase();
    if (base.version === proposal.fromVersion && base.sha256 === fromSha256) return;
    throw new LancelotError(
      "conflict",
      `This was proposed against soul ${proposal.fromVersion}, and ${base.version} is active by now. Propose it again, so that the difference is the true one.`,
    );
  }

  function expectSound(yaml: string, what: string): SoulIssue[] {
    const issues = lint(yaml);
    const refusal = issues.find((issue) => issue.severity === "critical");
    if (refusal !== undefined) {
      const where = refusal.line === undefined ? "" : ` (line ${refusal.line})`;
      throw new LancelotError("conflict", `The proposal cannot be ${what}${where}: ${refusal.message}`, { data: { issues } });
    }
    return issues;
  }

  /** The text as it would be stored; as it is where its version cannot be set. */
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
      expect(one, from);
      let issues: SoulIssue[] | undefined;
      if (status === "approved") {
        expectBase(one);
        issues = expectSound(one.proposal.yaml, "approved");
      }
      if (!proposals.move(id, from, { status, at: time(), ...(issues === undefined ? {} : { issues }) })) {
        throw new LancelotError("conflict", answered[stored(id).proposal.status]);
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
        throw new LancelotError("too_large", `A soul has at most ${maxSoulBytes / 1000} kB. Shorten it.`);
      }
      const words = redactor.text(reason).text.trim().slice(0, maxReason);
      // It is shown, kept for good and told to models.
      const secret = redactor.text(yaml).findings[0];
      if (secret !== undefined)
        throw new LancelotError("invalid_params", `The text holds a secret (${secret.kind}). Take it out of the soul.`);
      if (words === "") throw new LancelotError("invalid_params", "Say why the soul should be changed.");
      const base = needBase();
      const issues = lint(yaml);
      return storage.transaction(() => {
        const waiting = proposals.list({ status: ["pending", "approved"], limit: 1000 }).map((one) => one.proposal);
        const toVersion = deps.nextVersion();
        const next = numbered(yaml, toVersion);
        if (waiting.some((one) => one.yaml === yaml && one.fromVersion === base.version)) {
          throw new LancelotError("conflict", "Exactly this is proposed already and waits for the owner.");
        }
        if (next === numbered(base.yaml, toVersion))
          throw new LancelotError("conflict", `This is soul ${base.version}, which is active: nothing would change.`);
        if (waiting.filter((one) => one.proposedBy === by).length >= maxWaiting) {
          throw new LancelotError("rate_limited", `${maxWaiting} proposals wait already. Approve or reject some of them first.`);
        }
        const proposal: SoulProposal = {
          id: randomUUID(),
          fromVersion: base.version,
          toVersion,
          status: "pending",
          reason: words,
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
            inputs: { proposalId: proposal.id, fromVersion: base.version, toVersion, proposedBy: by, reason: words },
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
      if (one.proposal.status === "pending") throw new LancelotError("conflict", "The proposal is not approved yet. Approve it first.");
      expect(one, ["approved"]);
      expectBase(one);
      const version = deps.nextVersion();
      const yaml = withVersion(one.proposal.yaml, version);
      expectSound(yaml, "activated");
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

const answered: Record<SoulProposal["status"], string> = {
  pending: "The proposal waits for an answer.",
  approved: "The proposal was approved already.",
  activated: "The proposal was activated already.",
  rejected: "The proposal was rejected already.",
};
