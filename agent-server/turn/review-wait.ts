import { LancelotError } from "../contract/errors.ts";
import type { ChangeReview } from "../workspace/workspace.ts";
import { hasOpenChanges, notice, type QuestStore, type Run, type TurnDeps } from "../quests/quests.ts";

/** How often (ms) to check for decisions in another window. */
const otherWindowMs = 1_000;

interface Deps {
  store: QuestStore;
  changes: ChangeReview;
}

/** Waits until no changes of a quest await review. @throws LancelotError `cancelled`. */
export function untilReviewed(changes: ChangeReview, questId: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      stop();
      clearInterval(polling);
      signal.removeEventListener("abort", cancelled);
    };
    const cancelled = (): void => {
      end();
      reject(new LancelotError("cancelled", "Stopped before the proposed changes were reviewed."));
    };
    const check = (): void => {
      if (hasOpenChanges(changes, questId)) return;
      end();
      resolve();
    };
    // The listener is called inside the decision's transaction, so check after it.
    const stop = changes.onChange((change) => {
      if (change.questId === questId) setImmediate(check);
    });
    // Decisions in another window emit no event in this one.
    const polling = setInterval(check, otherWindowMs);
    signal.addEventListener("abort", cancelled, { once: true });
    if (signal.aborted) cancelled();
    else check();
  });
}

/**
 * Adds the review decisions since the last call to the conversation: a notice for the user, and the text of the review for the model.
 * One transaction keeps decisions from being lost or added twice.
 * @param settled what became of the task's commits and generated files
 * @returns false when there is nothing to add
 */
function addReview({ store, changes }: Deps, questId: string, settled: string): boolean {
  return store.transaction(() => {
    const text = [changes.takeReview(questId).text, settled].filter((part) => part.trim() !== "").join("\n");
    if (text === "") return false;
    const { reviewed } = store.stored(questId);
    const decided = countDecided(changes, questId);
    store.patch(questId, { reviewed: decided });
    store.addMessage({
      questId,
      role: "user",
      parts: [notice("info", reviewSummary(decided.accepted - reviewed.accepted, decided.rejected - reviewed.rejected))],
      turn: {
        kind: "user",
        content: [
          {
            type: "text",
            text: `${text}\nIf nothing remains to be done, answer in one short sentence.`,
          },
        ],
      },
    });
    return true;
  });
}

/** Settles what the review decided, then tells the conversation. @returns false when there is nothing to tell */
export async function settleReview(
  deps: Deps & Pick<TurnDeps, "settle">,
  run: Pick<Run, "questId" | "receiptId" | "controller">,
): Promise<boolean> {
  const { questId, receiptId, controller } = run;
  const { mode } = deps.store.quest(questId);
  const settled = await deps.settle({ quest: questId, parent: receiptId, actor: "agent", mode, signal: controller.signal });
  return addReview(deps, questId, settled);
}

function countDecided(changes: ChangeReview, questId: string): { accepted: number; rejected: number } {
  const hunks = changes.list({ questId, limit: 500 }).flatMap((change) => change.hunks);
  return {
    accepted: hunks.filter((hunk) => hunk.state === "accepted").length,
    rejected: hunks.filter((hunk) => hunk.state === "rejected").length,
  };
}

export function reviewSummary(accepted: number, rejected: number): string {
  const changes = (count: number): string => `${String(count)} ${count === 1 ? "change" : "changes"}`;
  if (accepted > 0 && rejected > 0) return `You accepted ${changes(accepted)} and rejected ${String(rejected)}.`;
  if (accepted > 0) return `You accepted ${changes(accepted)}.`;
  return rejected > 0 ? `You rejected ${changes(rejected)}.` : "You reviewed the changes.";
}
