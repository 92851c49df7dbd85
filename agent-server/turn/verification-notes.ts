import type { Execution } from "../execution/execution.ts";
import { notice, type QuestStore, type Run } from "../quests/quests.ts";

/** How long (ms) the end of a task waits for the verification of what it did. */
const settleTimeout = 10_000;

interface Deps {
  store: QuestStore;
  verifications: Execution["verifications"];
}

/**
 * Waits until what the task did is verified, and puts what was not as it was to be into the conversation, so that the model
 * does not end on it. @throws what the run's signal is aborted with.
 */
export async function settleVerifications({ store, verifications }: Deps, run: Run): Promise<void> {
  const { questId } = run;
  const { signal } = run.controller;
  if (!(await verifications.settle(questId, { timeoutMs: settleTimeout, signal }))) {
    const words = "Some of what was done could not be verified in time. Look at the files before you rely on them.";
    store.addMessage({ questId, role: "assistant", parts: [notice("warning", words)] });
  }
  signal.throwIfAborted();
  const words = verifications.takeFailures(questId);
  if (words === "") return;
  store.addMessage({
    questId,
    role: "user",
    parts: [notice("info", "The model is told what verification found.")],
    turn: { kind: "user", content: [{ type: "text", text: `[Of what you did before: ${words}]` }] },
  });
}
