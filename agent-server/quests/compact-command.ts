import { LancelotError } from "../contract/errors.ts";
import type { Log, Redactor } from "../security/security.ts";
import type { ContextService } from "./context/context-service.ts";
import { notice } from "./notices.ts";
import type { QuestStore } from "./quest-store.ts";
import type { StoredQuest } from "./stored-quest.ts";

/** Handles `/compact` in the chat. The model never sees the command; the chat shows the result. */
export function createCompactCommand(deps: {
  store: QuestStore;
  contextService: Pick<ContextService, "compact">;
  redactor: Redactor;
  log: Log;
  /** @throws LancelotError `conflict` when another window runs the quest. */
  requireNotRunningElsewhere: (stored: StoredQuest) => void;
}) {
  const { store, contextService, redactor, log } = deps;
  /** Cancels the summaries when the host closes. */
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  return {
    send(questId: string | undefined, text: string, focus: string): { questId: string; messageId: string } {
      if (questId === undefined) throw new LancelotError("invalid_params", "There is no task to summarize yet. Send its first message.");
      deps.requireNotRunningElsewhere(store.stored(questId));
      const { id } = store.addMessage({ questId, role: "user", parts: [{ type: "text", text: redactor.text(text).text }] });
      const work = contextService.compact(questId, closing.signal, redactor.text(focus).text).catch((error: unknown) => {
        if (closing.signal.aborted || !store.exists(questId)) return;
        if (!(error instanceof LancelotError)) log("could not summarize a task", error);
        const words = error instanceof LancelotError ? error.message : "The task could not be summarized. Nothing changed; try again.";
        store.addMessage({ questId, role: "assistant", parts: [notice("warning", words)] });
      });
      running.add(work);
      void work.finally(() => running.delete(work));
      return { questId, messageId: id };
    },
    async close(): Promise<void> {
      closing.abort(new LancelotError("cancelled", "The agent host is shutting down."));
      await Promise.all(running);
    },
  };
}
