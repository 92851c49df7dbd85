import type { Quest } from "../contract/chat.ts";
import type { ModelOverride } from "../contract/router.ts";
import type { Models } from "../models/models.ts";
import { type Ledger, withReceipt } from "../receipts/receipts.ts";
import type { QuestStore } from "./quest-store.ts";

/**
 * The owner's choice of lane, provider or model for one task; null, or nothing chosen, gives it back to the router. Holds from the next
 * step on, also of a task that runs.
 * @throws LancelotError `not_found`, `unavailable` or `invalid_params` when it cannot be followed
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
