import type { Message, Quest, ToolPart } from "../contract/chat.ts";
import type { Log } from "../security/security.ts";

type Progress = NonNullable<ToolPart["subtask"]>;

/** Follows the steps of sub-tasks for the cards of the calls that started them. */
export interface SubtaskProgress {
  /** Calls `show` when the steps of a quest changed. @returns stops, after a last call with what changed since */
  follow(questId: string, show: (progress: Progress) => void): () => void;
  /** Receives the events of all quests. */
  onMessage(message: Message): void;
  onQuest(quest: Quest): void;
}

/** Steps on a card. */
const maxSteps = 50;
/** Characters of the result of a step. */
const maxOutput = 300;

export function createSubtaskProgress(log: Log): SubtaskProgress {
  const followed = new Map<string, { message(message: Message): void; quest(quest: Quest): void }>();
  return {
    onMessage: (message) => followed.get(message.questId)?.message(message),
    onQuest: (quest) => followed.get(quest.id)?.quest(quest),

    follow(questId, show) {
      const steps = new Map<string, Progress["steps"][number]>();
      let status: Quest["status"] = "active";
      let pending: NodeJS.Immediate | null = null;
      const flush = (): void => {
        pending = null;
        try {
          show({ questId, status, steps: [...steps.values()].slice(-maxSteps), total: steps.size });
        } catch (error) {
          // The card is stored again with the next step, and at the end of the call.
          log("the steps of a sub-task could not be stored", error);
        }
      };
      // The event may come inside a transaction, so the card is stored after it. Several events give one update.
      const soon = (): void => {
        pending ??= setImmediate(flush);
      };
      followed.set(questId, {
        message({ parts }) {
          for (const part of parts) if (part.type === "tool") steps.set(part.callId, toStep(part));
          if (parts.some(({ type }) => type === "tool")) soon();
        },
        quest(quest) {
          if (quest.status === status && steps.size > 0) return;
          status = quest.status;
          soon();
        },
      });
      return () => {
        followed.delete(questId);
        if (pending === null) return;
        clearImmediate(pending);
        flush();
      };
    },
  };
}

function toStep({ callId, title, status, output, receiptId }: ToolPart): Progress["steps"][number] {
  return { id: callId, title, status, output: (output ?? "").slice(0, maxOutput), receiptId };
}
