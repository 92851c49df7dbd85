import type { Transport } from "../contract/common.ts";
import type { Approval, ApprovalStatus, Decision, Intent } from "../contract/governance.ts";
import type { Ledger, ReceiptClosing, ReceiptOpening } from "../receipts/receipts.ts";
import type { StoredApproval } from "./approval-store.ts";

const maxDetail = 4000;

export interface ApprovalReceipts {
  /** The receipt of a request; its id. */
  readonly asked: (request: {
    approvalId: string;
    intentHash: string;
    intent: Intent;
    decision: Decision;
    title: string;
    detail: string;
    parentId: string | null;
    questId: string | null;
    expiresAt: string;
    deferred: boolean;
  }) => string;
  /** The receipt of an answer, an expiry or a cancellation. */
  readonly ended: (of: StoredApproval, to: { status: ApprovalStatus; reason: string | null; name: string; transport?: Transport }) => void;
}

/** Writes the receipts of approvals inside the running transaction, so that a rollback removes them too. */
export function createApprovalReceipts(ledger: Ledger): ApprovalReceipts {
  function write(opening: ReceiptOpening, closing: ReceiptClosing): string {
    const id = ledger.open(opening);
    ledger.close(id, closing);
    return id;
  }

  return {
    asked: ({ approvalId, intentHash, intent, decision, title, detail, parentId, questId, expiresAt, deferred }) =>
      write(
        {
          actionType: "user_interaction",
          actionName: "approval.ask",
          inputs: {
            approvalId,
            intentHash,
            capability: intent.capability,
            action: intent.action,
            title,
            detail: detail.slice(0, maxDetail),
          },
          riskTier: decision.tier,
          parentId,
          questId,
        },
        { status: "success", outputs: { expiresAt, waits: !deferred, rules: decision.rules.map((rule) => rule.id) } },
      ),

    ended({ approval, receiptId }, { status, reason, name, transport }) {
      write(
        {
          actionType: "user_interaction",
          actionName: name,
          inputs: { approvalId: approval.id, intentHash: approval.intentHash, title: approval.title },
          riskTier: approval.tier,
          parentId: receiptId,
          questId: approval.questId,
        },
        {
          status: isAnswer(status) ? "success" : "cancelled",
          // Only a call with the owner token, or the editor's own channel, reaches the method that answers.
          outputs: {
            answer: status,
            ...(reason === null ? {} : { reason }),
            ...(transport === undefined ? {} : { answeredBy: "owner", transport }),
          },
        },
      );
    },
  };
}

function isAnswer(status: Approval["status"]): boolean {
  return status === "allowed_once" || status === "allowed_quest" || status === "allowed_workspace" || status === "denied";
}
