import type { Quest } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { EditMode } from "../contract/governance.ts";
import type { Governance } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { QuestStore } from "./quest-store.ts";

/**
 * Sets what happens to the edits of a quest from its next action on, with a receipt; null lets the posture decide.
 * @throws LancelotError `not_found`; `conflict` for `auto` when the soul wants each edit reviewed
 */
export function setEdits(
  { store, ledger, governance }: { store: QuestStore; ledger: Pick<Ledger, "record">; governance: Pick<Governance, "requiresReview"> },
  questId: string,
  edits: EditMode | null,
): Quest {
  const before = store.quest(questId);
  if ((before.edits ?? null) === edits) return before;
  if (edits === "auto" && governance.requiresReview())
    throw new LancelotError(
      "conflict",
      "Your soul requires a review of each edit, so Auto-apply is not available. Choose Review edits, or change autonomy_posture.level of the soul.",
    );
  return store.transaction(() => {
    ledger.record(
      {
        actionType: "user_interaction",
        actionName: "quests.edits",
        inputs: { edits: edits ?? "posture" },
        riskTier: "T0",
        questId,
        parentId: before.receiptId,
      },
      { status: "success" },
    );
    return store.patch(questId, { edits });
  });
}
