import type { Execution } from "../execution/execution.ts";
import { notice } from "./notices.ts";
import type { QuestStore } from "./quest-store.ts";

/** Shows the owner, in the task it belongs to, what failed its verification. Returns how to stop. */
export function showVerificationFailures({
  store,
  verifications,
}: {
  readonly store: QuestStore;
  readonly verifications: Execution["verifications"];
}): () => void {
  return verifications.onFailure(({ questId, words }) => {
    if (questId === null || !store.exists(questId)) return;
    store.addMessage({ questId, role: "assistant", parts: [notice("error", words)] });
  });
}
