import type { Quests } from "./quests-interface.ts";
import { realpathSync } from "node:fs";
import type { Attachment, Quest } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import type { Flag } from "../contract/flags.ts";
import { createContext, createContextSettings } from "../context/context.ts";
import type { Governance } from "../governance/governance.ts";
import type { Memory } from "../memory/memory.ts";
import type { LocalTasks, Models } from "../models/models.ts";
import { type Ledger, type ReceiptOpening, recorded } from "../receipts/receipts.ts";
import type { Log, Placeholders, Redactor, Sanitizer } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import type { Execution } from "../execution/execution.ts";
import type { Tools } from "../tools/tools.ts";
import type { ChangeReview } from "../workspace/workspace.ts";
import { createContextService } from "./context/context-service.ts";
import { contextMigrations, createContextStore } from "./context/context-store.ts";
import { asksForCrusader, changeMode, recordCrusader, withoutCrusader } from "./crusader.ts";
import { createCompactCommand } from "./compact-command.ts";
import type { Classify, RunLoop } from "./turn-deps.ts";
import { createMemoryAtEnd } from "./memory/finished-quest-memory.ts";
import { overrideQuest } from "./model-override.ts";
import { createExternalMessages } from "./external-messages.ts";
import { createOwnersMemory } from "./memory/owner-memory.ts";
import { createUserMessages } from "./user-messages.ts";
import { createQuestContext } from "./context/quest-context.ts";
import { questToMarkdown } from "./quest-export.ts";
import { parseCursor, titleOf, toCursor } from "./quest-page.ts";
import { createQuestRunner } from "./quest-runner.ts";
import { createQuestStore } from "./quest-store.ts";
import { createRecall } from "./memory/recall.ts";
import { hasOpenChanges } from "./open-changes.ts";
import { answerOf } from "./run-result.ts";
import { questsMigrations as questMigrations } from "./migrations.ts";
import { asksToCompact } from "./slash-commands.ts";
import { maxQuestTokens } from "./stop-rules.ts";
import { showVerificationFailures } from "./verification-notices.ts";

export { readAttachments } from "./attachments.ts";
export { cacheKeyOf } from "./prompt-cache-key.ts";
export { protectContent, toConversation } from "./conversation.ts";
export { withoutCrusader } from "./crusader.ts";
export type { RunMemory } from "./memory/recall.ts";
export { type Notice, notice, noticeOf, addNoticeOnce } from "./notices.ts";
export { hasOpenChanges } from "./open-changes.ts";
export { userText } from "./quest-page.ts";
export type { Run, RunRouting } from "./quest-run.ts";
export type { QuestStore } from "./quest-store.ts";
export { type Outcome, fail } from "./run-outcome.ts";
export { interruptedOutput, isUnfinished, partialTurn } from "./settle-quest.ts";
export { createFailureCounter, maxQuestTokens, maxSameFailures, maxTurns } from "./stop-rules.ts";
export type { TurnDeps } from "./turn-deps.ts";

export { contextHandlers } from "./context/context-handlers.ts";
export { chatHandlers } from "./quest-handlers.ts";
export { createEvidence, createTimeline } from "./timeline.ts";
/** Tables of tasks, and of what they keep of their context. */
export const questsMigrations = [...questMigrations, ...contextMigrations];

export interface QuestsDeps {
  /** The agentic loop of one run. */
  runLoop: RunLoop;
  storage: Storage;
  models: Models;
  tools: Tools;
  /** The review of proposed changes. */
  changes: ChangeReview;
  verifications: Execution["verifications"];
  governance: Governance;
  ledger: Ledger;
  redactor: Redactor;
  /** What stands for secrets in a quest; without them secrets are taken out for good. */
  placeholders?: Placeholders;
  emit: Emit;
  /** Looks for orders in texts that are not the owner's; without one nothing is looked for. */
  sanitizer?: Sanitizer;
  /** Absolute path of the workspace; null without one. */
  workspace: string | null;
  /** The owner's USER.md, RULES.md and MEMORY_SUMMARY.md are here; the storage's folder unless said. */
  dataDir?: string;
  /** The shipped `config/` folder; without it defaults hold. */
  configDir?: string;
  /** Summaries by the local lanes; without them rules summarize. */
  summarize?: LocalTasks["summarize"];
  /** What is remembered; without it nothing is recalled, kept or proposed. What changes it goes by `tools.memory`. */
  memory?: Memory;
  /** How a model on this machine takes data from a text; null while none is loaded. Rules alone propose without it. */
  extract?: () => LocalTasks["extractJson"] | null;
  /** What kind of request a message is; null where that is switched off. Without it words alone tell. */
  classify?: Classify;
  /** False where nobody can answer a question: then ask_owner says so at once. True unless said. */
  canAsk?: boolean;
  /** Switches the model is told of: flags and safe mode. None unless said. */
  switches?: () => { readonly flags: readonly Flag[]; readonly safeMode: boolean };
  /** US dollars of a quest so far; null before its first call. */
  questCost?: (questId: string) => number | null;
  /** Told of errors whose text the owner is not shown. */
  log?: Log;
  now?: () => Date;
}

/** Joins the loop, the store and the neighbours. Call `reconcile` once before anything else. */
export function createQuests(deps: QuestsDeps): Quests {
  const { storage, tools, changes, verifications, governance, ledger, redactor, models, sanitizer } = deps;
  const redactorOf = (questId: string): Redactor => deps.placeholders?.of(questId).secrets ?? redactor;
  // As the tools' rows have it: one folder, one name, however it was spelled.
  const workspace = deps.workspace === null ? "" : realpathSync(deps.workspace);
  const watchers = new Set<(quest: Quest) => void>();
  const emit: Emit = (topic, payload) => {
    deps.emit(topic, payload);
    if (topic === "quest") for (const watch of watchers) watch(payload as Quest);
  };
  const store = createQuestStore({
    storage,
    emit,
    now: deps.now ?? (() => new Date()),
    ...(deps.questCost === undefined ? {} : { costOf: deps.questCost }),
  });
  const context = createContext({
    governance,
    ledger,
    redactor,
    redactorOf,
    sanitizer,
    soul: governance.soul.prompt,
    self: () => ({ tools: tools.list(), canAsk: deps.canAsk ?? true, ...(deps.switches?.() ?? { flags: [], safeMode: false }) }),
    workspace: deps.workspace,
    dataDir: deps.dataDir ?? storage.dataDir,
  });
  const log: Log = deps.log ?? (() => undefined);
  const kept = createContextStore(storage);
  const settings = createContextSettings({ configDir: deps.configDir ?? null, dataDir: deps.dataDir ?? storage.dataDir, onProblem: log });
  const questContext = createQuestContext({
    store,
    kept,
    context,
    models,
    tools,
    changes,
    governance,
    ledger,
    redactor,
    summarize: deps.summarize,
    settings,
    log,
    now: deps.now ?? (() => new Date()),
  });
  const { memory } = deps;
  const others = createExternalMessages(storage);
  const recall = createRecall({ memory, store, ledger, log });
  const byRoad = () => tools.memory ?? null;
  const atEnd = createMemoryAtEnd({
    ...{ memory, byRoad, store, storage, log },
    extract: deps.extract ?? (() => null),
  });
  const contextService = createContextService({
    store,
    recall,
    kept,
    context,
    questContext,
    models,
    governance,
    ledger,
    redactor,
    budget: () => settings().budget_tokens,
    now: deps.now ?? (() => new Date()),
  });
  const runner = createQuestRunner(
    {
      store,
      models,
      tools,
      changes,
      verifications,
      governance,
      context,
      questContext,
      recall,
      ownersMemory: createOwnersMemory({ memory, byRoad, store, others, log }),
      ended: atEnd.ended,
      runLoop: deps.runLoop,
      classify: deps.classify,
      ledger,
      redactor,
      redactorOf,
      sanitizer,
      emit,
      canAsk: deps.canAsk ?? true,
      log,
    },
    storage,
  );

  let closed = false;
  const owners = createUserMessages({ store, changes, governance, ledger, redactor, redactorOf, sanitizer, others });
  const compaction = createCompactCommand({ store, contextService, redactor, log, requireNotRunningElsewhere: runner.requireNotRunningElsewhere });
  const stopFailures = showVerificationFailures({ store, verifications });
  const stopChanges = changes.onChange((change) => {
    // After the decision's own transaction and writes.
    setImmediate(() => continueAfterReview(change.questId));
  });

  /** The review is complete: the model hears of it and has one more turn. */
  function continueAfterReview(questId: string): void {
    if (closed || !store.exists(questId)) return;
    const { quest } = store.stored(questId);
    const inReview = (quest.status === "waiting" || quest.status === "interrupted") && quest.waitingFor?.kind === "review";
    if (!inReview || runner.runOf(questId) !== undefined || hasOpenChanges(changes, questId)) return;
    try {
      runner.start(questId, "review");
    } catch (error) {
      // Another window was first, or this host is going: either way the review is kept for the next run.
      if (!(error instanceof LancelotError)) throw error;
    }
  }

  function allowMoreTokens(questId: string): void {
    const { usage } = store.quest(questId);
    store.patch(questId, { tokenLimit: usage.inputTokens + usage.outputTokens + maxQuestTokens });
  }

  const orchestrator: Quests = {
    context: contextService,

    send({ text, questId, mode: named, attachments = [], replaceMessageId }, owner = true) {
      const focus = asksToCompact(text);
      if (focus !== null) return compaction.send(questId, text, focus);
      const mode = named ?? (asksForCrusader(text) ? "crusader" : undefined);
      if (asksForCrusader(text) && withoutCrusader(text).trim() === "")
        throw new LancelotError("invalid_params", "Say after it what is to be done.");
      if (questId === undefined) {
        if (replaceMessageId !== undefined) throw new LancelotError("invalid_params", "replaceMessageId needs the questId it belongs to.");
        const sent = store.transaction(() => {
          const id = store.create({
            workspace,
            title: titleOf(redactor.text(withoutCrusader(text)).text),
            mode: mode ?? "normal",
            tokenLimit: maxQuestTokens,
          });
          if (mode === "crusader") recordCrusader(ledger, store.quest(id), "start");
          const message = owners.add(id, text, attachments, owner);
          runner.claim(id);
          return { questId: id, messageId: message.id };
        });
        runner.launch(sent.questId, "message", { messageId: sent.messageId });
        return sent;
      }
      runner.requireNotRunningElsewhere(store.stored(questId));
      if (replaceMessageId === undefined && runner.runOf(questId) !== undefined)
        return { questId, messageId: join(questId, text, attachments, mode, owner) };
      const replaced = replaceMessageId === undefined ? null : owners.find(questId, replaceMessageId);
      if (replaced !== null && runner.runOf(questId) !== undefined) void runner.end(questId, "cancelled");
      let before: (() => Promise<void>) | undefined;
      const messageId = store.transaction(() => {
        if (replaced !== null) before = owners.rewind(questId, replaced, text);
        const message = owners.add(questId, text, attachments, owner);
        runner.claim(questId);
        changeMode({ store, ledger }, questId, mode ?? "normal");
        allowMoreTokens(questId);
        return message.id;
      });
      runner.launch(questId, replaced === null ? "message" : "edited message", { messageId, before });
      return { questId, messageId };
    },

    async cancel(questId) {
      const stored = store.stored(questId);
      runner.requireNotRunningElsewhere(stored);
      const { status } = stored.quest;
      if (status === "active" || status === "waiting" || status === "interrupted") await runner.end(questId, "cancelled");
      return store.quest(questId);
    },

    steer(questId, text, owner = true) {
      runner.requireNotRunningElsewhere(store.stored(questId));
      if (runner.runOf(questId) === undefined) return { messageId: orchestrator.send({ questId, text }, owner).messageId };
      return { messageId: join(questId, text, [], asksForCrusader(text) ? "crusader" : undefined, owner) };
    },

    answer(questId, callId, answer) {
      const stored = store.stored(questId);
      runner.requireNotRunningElsewhere(stored);
      const resolve = runner.runOf(questId)?.questions.get(callId);
      const { waitingFor, status } = stored.quest;
      const pending = status === "interrupted" && waitingFor?.kind === "answer" && waitingFor.id === callId;
      if (resolve === undefined && !pending) throw new LancelotError("conflict", "This question is no longer open.");
      const safe = redactorOf(questId).text(answer).text;
      store.patch(questId, { answer: { callId, answer: safe } });
      if (resolve === undefined) runner.start(questId, "answer");
      else resolve(safe);
    },

    async run({ message, crusader_mode, quest_id }, signal, owner = true) {
      signal.throwIfAborted();
      const { promise, resolve } = Promise.withResolvers<void>();
      let questId: string | null = null;
      const watch = (quest: Quest): void => {
        if (quest.id === questId && quest.status !== "active") resolve();
      };
      const stop = (): void => {
        if (questId !== null && store.exists(questId)) void orchestrator.cancel(questId);
        resolve();
      };
      watchers.add(watch);
      signal.addEventListener("abort", stop, { once: true });
      try {
        const sent = orchestrator.send(
          {
            text: message,
            ...(crusader_mode ? { mode: "crusader" as const } : {}),
            ...(quest_id === undefined ? {} : { questId: quest_id }),
          },
          owner,
        );
        questId = sent.questId;
        if (store.quest(questId).status !== "active") resolve();
        await promise;
        if (signal.aborted) throw new LancelotError("cancelled", "The request was cancelled; the task was stopped.");
        const active = await models.active().catch(() => null);
        return answerOf(store.quest(questId), store.messages(questId), sent.messageId, active?.small ?? false);
      } finally {
        watchers.delete(watch);
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
      // What streams right now is part of the snapshot; the deltas after it begin where it ends.
      runner.runOf(id)?.flush?.();
      return { quest: store.quest(id), messages: store.messages(id).map(({ message }) => message) };
    },

    resume(id) {
      runner.reconcile();
      const stored = store.stored(id);
      runner.requireNotRunningElsewhere(stored);
      const { status } = stored.quest;
      if (status === "done") throw new LancelotError("conflict", "This task is done. Send a message to go on with it.");
      if (status === "active" || status === "waiting") throw new LancelotError("conflict", "This task is running already.");
      allowMoreTokens(id);
      return runner.start(id, "resume");
    },

    rename(id, title) {
      store.stored(id);
      const clean = redactor.text(title).text;
      return store.transaction(() => {
        ledger.record({ ...byHand("quests.rename", id), inputs: { title: clean } }, { status: "success" });
        return store.patch(id, { title: clean });
      });
    },

    override: (id, override) => overrideQuest({ store, models, ledger }, id, override),

    exportMarkdown(id) {
      const { quest, messages } = orchestrator.get(id);
      return questToMarkdown(quest, messages);
    },

    async delete(id) {
      runner.requireNotRunningElsewhere(store.stored(id));
      // Its messages go; its receipts stay.
      await recorded(ledger, byHand("quests.delete", id), async () => {
        const unwound = runner.runOf(id) === undefined ? Promise.resolve() : runner.end(id, "cancelled");
        governance.approvals.cancelQuest(id);
        changes.discard(id);
        await unwound;
        store.deleteQuest(id);
        memory?.questDeleted(id);
      });
    },

    titleOf: (questId) => (store.exists(questId) ? store.quest(questId).title : null),
    isOpen: (questId) => store.exists(questId) && ["active", "waiting", "interrupted"].includes(store.quest(questId).status),
    reconcile: () => runner.reconcile(),

    async close() {
      closed = true;
      stopChanges();
      stopFailures();
      await compaction.close();
      await atEnd.close();
      await runner.close();
    },
  };

  /** The owner's words to a quest that runs: stored now, read by the model at its next step. */
  function join(
    questId: string,
    text: string,
    attachments: readonly Attachment[],
    mode: Quest["mode"] | undefined,
    owner: boolean,
  ): string {
    return store.transaction(() => {
      const message = owners.add(questId, text, attachments, owner);
      if (mode !== undefined) changeMode({ store, ledger }, questId, mode);
      allowMoreTokens(questId);
      ledger.record(
        {
          actionType: "user_interaction",
          actionName: "steer",
          inputs: { messageId: message.id },
          riskTier: "T0",
          questId,
          parentId: store.quest(questId).receiptId,
        },
        { status: "success" },
      );
      return message.id;
    });
  }

  return orchestrator;
}

/** What the owner does to a task beside it, as its receipt begins. */
function byHand(actionName: string, questId: string): ReceiptOpening {
  return { actionType: "user_interaction", actionName, inputs: {}, riskTier: "T1", questId };
}
