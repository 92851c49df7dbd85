import type { Quest } from "../contract/chat.ts";
import type { ModelOverride } from "../contract/router.ts";
import type { Models } from "../models/models.ts";
import { type Ledger, withReceipt } from "../receipts/receipts.ts";
import type { QuestStore } from "./quest-store.ts";

/**
 * Sets the lane, provider or model of a quest; null or an empty override lets the router choose. A running quest uses it from its next
 * step.
 * @throws LancelotError `not_found`, `unavailable` or `invalid_params` when the override cannot be used
 */
export async function overrideQuest(
  { store, models, ledger }: { store: QuestStore; models: Pick<Models, "checkOverride">; ledger: Ledger },
  id: string,
  override: ModelOverride | null,
): Promise<Quest> {
  const { receiptId } = store.quest(id);
  const chosen = override === null || Object.keys(override).length === 0 ? null : override;
  const opening = {
    actionType: "user_interaction",
    actionName: "quests.override",
    riskTier: "T1",
    questId: id,
    parentId: receiptId,
  } as const;
  return withReceipt(ledger, { ...opening, inputs: { ...(chosen ?? { router: true }) } }, async () => {
    if (chosen !== null) await models.checkOverride(chosen);
    return store.patch(id, { override: chosen });
  });
}
