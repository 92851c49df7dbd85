import { createOwnerCommands, type Memory } from "../../memory/memory.ts";
import type { Log } from "../../security/security.ts";
import type { MemoryService } from "../../tools/tools.ts";
import type { ExternalMessages } from "../external-messages.ts";
import { notice, memoryNoticeForModel } from "../notices.ts";
import { userText } from "../quest-page.ts";
import type { Run } from "../quest-run.ts";
import type { QuestStore } from "../quest-store.ts";
import type { StoredMessage } from "../stored-quest.ts";
import { memoryActions } from "./memory-actions.ts";

const undoHint = "\n\nTo undo this, select Roll Back in War Room → Memory → Commits.";

export interface OwnerMemoryCommands {
  /**
   * Runs the memory commands in messages that the model has not answered, and shows the result. When the run began with a message that
   * holds nothing else, the result is its answer and no model is called.
   */
  run(run: Run): Promise<void>;
}

/** Memory commands of a quest's messages. After a crash a message may run again, which memory takes as a confirmation. */
export function createOwnerMemoryCommands(deps: {
  memory: Pick<Memory, "enabled" | "placeOf" | "meant" | "search"> | undefined;
  service: () => MemoryService | null;
  store: QuestStore;
  /** Messages that were sent without the owner token. */
  others: Pick<ExternalMessages, "has">;
  log: Log;
}): OwnerMemoryCommands {
  const { store } = deps;
  const execute = createOwnerCommands(deps);
  return {
    async run({ questId, receiptId, startMessageId, controller: { signal } }) {
      const service = deps.service();
      const messages = unanswered(store.messages(questId));
      const actions =
        service === null ? null : memoryActions(service, { actor: "owner", quest: questId, parent: receiptId, mode: "normal", signal });
      for (const { message } of messages) {
        if (message.parts.some((part) => part.type === "notice" && part.action === "open_memory")) continue;
        const { id } = message;
        const report = await execute({ id, text: userText(message), questId, isOwner: !deps.others.has(id), signal }, actions);
        if (report === null) continue;
        const shown = notice(report.level, report.text + (report.isChanged ? undoHint : ""), "open_memory");
        if (report.isWholeMessage && startMessageId === id && messages.at(-1)?.message.id === id) {
          store.addMessage({
            questId,
            role: "assistant",
            parts: [shown],
            turn: { kind: "assistant", content: [{ type: "text", text: memoryNoticeForModel(shown) }], cut: null, altered: [] },
          });
        } else store.saveMessage({ ...message, parts: [...message.parts, shown] });
      }
    },
  };
}

/** The owner's messages since the model last answered. */
function unanswered(messages: readonly StoredMessage[]): StoredMessage[] {
  const answered = messages.findLastIndex(({ turn }) => turn?.kind === "assistant");
  return messages
    .slice(answered + 1)
    .filter(({ message, turn }) => message.role === "user" && turn?.kind === "user" && userText(message).trim() !== "");
}
