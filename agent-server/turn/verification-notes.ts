import type { Execution } from "../execution/execution.ts";
import { notice, type QuestStore, type Run } from "../quests/quests.ts";

/** How long (ms) the end of a task waits for the verification of its actions. */
const settleTimeout = 10_000;

interface Deps {
  store: QuestStore;
  verifications: Execution["verifications"];
}

/**
 * Waits until the actions of the task are verified, and adds failures to the conversation, so that the model can react to them.
 * @throws the abort reason of the run
 */
export async function settleVerifications({ store, verifications }: Deps, run: Run): Promise<void> {
  const { questId } = run;
  const { signal } = run.controller;
  if (!(await verifications.settle(questId, { timeoutMs: settleTimeout, signal }))) {
    const text = "Some actions could not be verified in time. Check the files before you rely on them.";
    store.addMessage({ questId, role: "assistant", parts: [notice("warning", text)] });
  }
  signal.throwIfAborted();
  const failures = verifications.takeFailures(questId);
  if (failures === "") return;
  store.addMessage({
    questId,
    role: "user",
    parts: [notice("info", "Lancelot sent the verification failures to the model.")],
    turn: { kind: "user", content: [{ type: "text", text: `[Verification of your earlier actions: ${failures}]` }] },
  });
}
