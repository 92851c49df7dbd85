import type { Execution } from "../execution/execution.ts";
import { notice } from "./notices.ts";
import type { QuestStore } from "./quest-store.ts";

/** Adds a notice to the quest of each action that failed its verification. @returns stops it */
export function showVerificationFailures({
  store,
  verifications,
}: {
  readonly store: QuestStore;
  readonly verifications: Execution["verifications"];
}): () => void {
  return verifications.onFailure(({ questId, message }) => {
    if (questId === null || !store.exists(questId)) return;
    store.addMessage({ questId, role: "assistant", parts: [notice("error", message)] });
  });
}
