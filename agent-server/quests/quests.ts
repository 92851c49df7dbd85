import type { Quest } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import { type ReceiptOpening, withReceipt } from "../receipts/receipts.ts";
import { createAnswerReader } from "./answer-messages.ts";
import { createCompactCommand } from "./compact-command.ts";
import { createHostCommands } from "./host-commands.ts";
import { changeMode } from "./crusader.ts";
import { contextMigrations } from "./context/context-store.ts";
import { questsMigrations as questMigrations } from "./migrations.ts";
import { overrideQuest } from "./model-override.ts";
import { hasOpenChanges } from "./open-changes.ts";
import { questToMarkdown } from "./quest-export.ts";
import { createQuestMessages } from "./quest-messages.ts";
import { parseCursor, toCursor } from "./quest-page.ts";
import { createQuestServices, type QuestsDeps } from "./quest-services.ts";
import type { Quests } from "./quests-interface.ts";
import { answerOf } from "./run-result.ts";
import { setEdits } from "./task-edits.ts";
import { showVerificationFailures } from "./verification-notices.ts";

export { readAttachments } from "./attachments.ts";
export { cacheKeyOf } from "./prompt-cache-key.ts";
export { protectContent, toConversation } from "./conversation.ts";
export { withoutCrusader } from "./crusader.ts";
export { type Notice, notice, noticeOf, addNoticeOnce } from "./notices.ts";
export { hasOpenChanges } from "./open-changes.ts";
export type { Quests } from "./quests-interface.ts";
export { userText } from "./quest-page.ts";
export type { Planning, Run, RunRouting } from "./quest-run.ts";
export type { QuestStore } from "./quest-store.ts";
export { addRunUsage, budgetRun, countCall } from "./shared-budget.ts";
export { type Outcome, fail } from "./run-outcome.ts";
export { interruptedOutput, isUnfinished, partialTurn } from "./settle-quest.ts";
export { createFailureCounter, maxCalls, maxCallsPerAnswer, maxPrompts, maxQuestTokens, maxSameFailures, maxTurns } from "./stop-rules.ts";
export type { AnswerEvidence, ClaimCheck, ReportedAction } from "./claim-check.ts";
export type { RouteName } from "./stored-quest.ts";
export type { Reason, RunLoop, Spawn, TurnDeps } from "./turn-deps.ts";

export { contextHandlers } from "./context/context-handlers.ts";
export { chatHandlers } from "./quest-handlers.ts";
export { createEvidence, createTimeline } from "./timeline.ts";

/** Tables of quests and of their context. */
export const questsMigrations = [...questMigrations, ...contextMigrations];

/** Runs quests: the public interface of this module. Call `reconcile` once before anything else. */
export function createQuests(deps: QuestsDeps): Quests {
  const { changes, verifications, governance, ledger, redactor, models, memory } = deps;
  const questListeners = new Set<(quest: Quest) => void>();
  const emit: Emit = (topic, payload) => {
    deps.emit(topic, payload);
    if (topic === "quest") for (const listener of questListeners) listener(payload as Quest);
  };
  const services = createQuestServices({ ...deps, emit });
  questListeners.add(services.runner.notice);
  const { store, runner, contextService, finishedQuestMemory, workspace, log } = services;
  const { requireNotRunningElsewhere } = runner;
  const compactCommand = createCompactCommand({ store, contextService, redactor, log, requireNotRunningElsewhere });
  const hostCommands = createHostCommands({ store, ledger, redactor, log, requireNotRunningElsewhere, actions: deps.hostActions ?? null });
  const messages = createQuestMessages({ ...services, ledger, governance, redactor, compactCommand, hostCommands });
  const answers = createAnswerReader({ storage: deps.storage, workspace });
  let closed = false;
  const stopVerificationNotices = showVerificationFailures({ store, verifications });
  const stopChanges = changes.onChange((change) => {
    // The listener is called inside the decision's transaction, so continue after it.
    setImmediate(() => continueAfterReview(change.questId));
  });

  /** Starts another run when the review is complete, so that the model learns its result. */
  function continueAfterReview(questId: string): void {
    if (closed || !store.exists(questId)) return;
    const { quest } = store.stored(questId);
    const inReview = (quest.status === "waiting" || quest.status === "interrupted") && quest.waitingFor?.kind === "review";
    if (!inReview || runner.runOf(questId) !== undefined || hasOpenChanges(changes, questId)) return;
    try {
      runner.start(questId, "review");
    } catch (error) {
      // Another window started first, or this host is closing. The next run reads the review in both cases.
      if (!(error instanceof LancelotError)) throw error;
    }
  }

  /** @throws LancelotError `conflict` for a sub-task, which only its task starts and continues. */
  function requireTask(questId: string): void {
    if (store.parentOf(questId) !== null)
      throw new LancelotError("conflict", "This is a sub-task. Send your message to the task that it belongs to.");
  }

  const quests: Quests = {
    configProblem: services.configProblem,
    context: contextService,
    send(params, owner) {
      if (params.questId !== undefined) requireTask(params.questId);
      return messages.send(params, owner);
    },
    answer: messages.answer,

    steer(questId, text, owner) {
      requireTask(questId);
      return messages.steer(questId, text, owner);
    },

    async cancel(questId) {
      const stored = store.stored(questId);
      runner.requireNotRunningElsewhere(stored);
      const { status } = stored.quest;
      if (status === "active" || status === "waiting" || status === "interrupted") {
        // A locked database must not keep the task running.
        if (!services.isWritable()) {
          runner.halt(questId);
          await ledger.ready();
        }
        await runner.end(questId, "cancelled");
      }
      return store.quest(questId);
    },

    async run({ message, crusader_mode, mode, quest_id }, signal, owner = true) {
      signal.throwIfAborted();
      const { promise, resolve } = Promise.withResolvers<void>();
      let questId: string | null = null;
      const listener = (quest: Quest): void => {
        if (quest.id === questId && quest.status !== "active") resolve();
      };
      const stop = (): void => {
        if (questId !== null && store.exists(questId)) void quests.cancel(questId);
        resolve();
      };
      questListeners.add(listener);
      signal.addEventListener("abort", stop, { once: true });
      try {
        const sent = quests.send(
          {
            text: message,
            ...(crusader_mode ? { mode: "crusader" as const } : mode === undefined ? {} : { mode }),
            ...(quest_id === undefined ? {} : { questId: quest_id }),
          },
          owner,
        );
        questId = sent.questId;
        if (store.quest(questId).status !== "active") resolve();
        await promise;
        if (signal.aborted) throw new LancelotError("cancelled", "The request was canceled, so the task was stopped.");
        const active = await models.active().catch(() => null);
        return answerOf(store.quest(questId), store.messages(questId), sent.messageId, active?.small ?? false);
      } finally {
        questListeners.delete(listener);
        signal.removeEventListener("abort", stop);
      }
    },

    list({ query, limit, cursor }) {
      runner.reconcile();
      const items = store.list({ workspace, query, limit: limit + 1, before: cursor === undefined ? null : parseCursor(cursor) });
      const last = items[limit - 1];
      if (items.length <= limit || last === undefined) return { items };
      return { items: items.slice(0, limit), nextCursor: toCursor(last) };
    },

    get(id) {
      // The snapshot includes the streamed text so far; later deltas continue from there.
      runner.runOf(id)?.flush?.();
      return { quest: store.quest(id), messages: store.messages(id).map(({ message }) => message) };
    },

    answers,

    resume(id) {
      requireTask(id);
      runner.reconcile();
      const stored = store.stored(id);
      runner.requireNotRunningElsewhere(stored);
      const { status } = stored.quest;
      if (status === "done") throw new LancelotError("conflict", "This task is done. Send a message to continue it.");
      if (status === "active" || status === "waiting") throw new LancelotError("conflict", "This task is already running.");
      deps.requireAwake?.();
      messages.allowMoreTokens(id);
      return runner.start(id, "resume");
    },

    runPlan(id, reason) {
      deps.requireAwake?.();
      runner.reconcile();
      runner.requireNotRunningElsewhere(store.stored(id));
      if (runner.runOf(id) !== undefined) throw new LancelotError("conflict", "This task is running. Wait for it, or stop it first.");
      messages.allowMoreTokens(id);
      changeMode({ store, ledger }, id, "normal");
      return runner.start(id, reason);
    },

    isRunning: (id) => runner.runOf(id) !== undefined,

    rename(id, title) {
      store.stored(id);
      const clean = redactor.text(title).text;
      return store.transaction(() => {
        ledger.record({ ...userAction("quests.rename", id), inputs: { title: clean } }, { status: "success" });
        return store.patch(id, { title: clean });
      });
    },

    edits: (id, edits) => {
      requireTask(id);
      runner.requireNotRunningElsewhere(store.stored(id));
      return setEdits({ store, ledger, governance }, id, edits);
    },
    editsOf: (id) => store.editsOf(id),

    override: (id, override) => overrideQuest({ store, models, ledger }, id, override),

    exportMarkdown(id) {
      const snapshot = quests.get(id);
      return questToMarkdown(snapshot.quest, snapshot.messages);
    },

    async delete(id) {
      requireTask(id);
      runner.requireNotRunningElsewhere(store.stored(id));
      // Receipts outlive the quest.
      await withReceipt(ledger, userAction("quests.delete", id), async () => {
        const unwound = runner.runOf(id) === undefined ? Promise.resolve() : runner.end(id, "cancelled");
        governance.approvals.cancelQuest(id);
        changes.discard(id);
        await unwound;
        for (const task of [id, ...store.subtasks(id)]) deps.settlement?.forget(task);
        store.deleteQuest(id);
        memory?.questDeleted(id);
      });
    },

    commands: services.customCommands.list,
    parentOf: (questId) => store.parentOf(questId),
    titleOf: (questId) => (store.exists(questId) ? store.quest(questId).title : null),
    isOpen: (questId) => store.exists(questId) && ["active", "waiting", "interrupted"].includes(store.quest(questId).status),
    reconcile: () => runner.reconcile(),
    refreshQueue: runner.refreshQueue,

    async close() {
      closed = true;
      stopChanges();
      stopVerificationNotices();
      await compactCommand.close();
      await hostCommands.close();
      await finishedQuestMemory.close();
      await runner.close();
    },
  };

  return quests;
}

/** The opening of the receipt for an action that the user takes on a quest. */
function userAction(actionName: string, questId: string): ReceiptOpening {
  return { actionType: "user_interaction", actionName, inputs: {}, riskTier: "T1", questId };
}
