import { LancelotError } from "../contract/errors.ts";
import type { ChangeReview } from "../workspace/workspace.ts";
import { hasOpenChanges, notice, type QuestStore } from "../quests/quests.ts";

/** How often (ms) is looked for what the owner decided in another window. */
const otherWindowMs = 1_000;

interface Deps {
  store: QuestStore;
  changes: ChangeReview;
}

/** Waits until nothing of a quest is left to decide. @throws LancelotError `cancelled`. */
export function untilReviewed(changes: ChangeReview, questId: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      stop();
      clearInterval(looking);
      signal.removeEventListener("abort", cancelled);
    };
    const cancelled = (): void => {
      end();
      reject(new LancelotError("cancelled", "Stopped before the proposed changes were reviewed."));
    };
    const look = (): void => {
      if (hasOpenChanges(changes, questId)) return;
      end();
      resolve();
    };
    // A decision is told of inside its own transaction: looked at when that is over.
    const stop = changes.onChange((change) => {
      if (change.questId === questId) setImmediate(look);
    });
    // The owner may decide in another window, which is not told of here.
    const looking = setInterval(look, otherWindowMs);
    signal.addEventListener("abort", cancelled, { once: true });
    if (signal.aborted) cancelled();
    else look();
  });
}

/**
 * Puts what the owner decided since the model was last told into the conversation: words for the owner in the chat, the
 * review's text for the model. One transaction, so that no decision is lost or told twice. False when nothing is new.
 */
export function addReview({ store, changes }: Deps, questId: string): boolean {
  return store.transaction(() => {
    const { text } = changes.takeReview(questId);
    if (text.trim() === "") return false;
    const { reviewed } = store.stored(questId);
    const decided = countDecided(changes, questId);
    store.patch(questId, { reviewed: decided });
    store.addMessage({
      questId,
      role: "user",
      parts: [notice("info", reviewWords(decided.accepted - reviewed.accepted, decided.rejected - reviewed.rejected))],
      turn: {
        kind: "user",
        content: [
          {
            type: "text",
            text: `${text}\nIf nothing is left to do, answer in one short sentence.`,
          },
        ],
      },
    });
    return true;
  });
}

function countDecided(changes: ChangeReview, questId: string): { accepted: number; rejected: number } {
  const hunks = changes.list({ questId, limit: 500 }).flatMap((change) => change.hunks);
  return {
    accepted: hunks.filter((hunk) => hunk.state === "accepted").length,
    rejected: hunks.filter((hunk) => hunk.state === "rejected").length,
  };
}

export function reviewWords(accepted: number, rejected: number): string {
  const changes = (count: number): string => `${String(count)} ${count === 1 ? "change" : "changes"}`;
  if (accepted > 0 && rejected > 0) return `You accepted ${changes(accepted)} and rejected ${String(rejected)}.`;
  if (accepted > 0) return `You accepted ${changes(accepted)}.`;
  return rejected > 0 ? `You rejected ${changes(rejected)}.` : "You reviewed the changes.";
}
