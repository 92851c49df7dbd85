import type { Quest, QuestStatus } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Storage } from "../storage/storage.ts";
import { changeMode } from "./crusader.ts";
import type { RunLoop, TurnDeps } from "./turn-deps.ts";
import { cacheKeyOf } from "./prompt-cache-key.ts";
import { notice } from "./notices.ts";
import type { Outcome } from "./run-outcome.ts";
import { createRun, type Run, type SubtaskRun } from "./quest-run.ts";
import type { StoredQuest } from "./stored-quest.ts";
import { createRunQueue, type RunPlace } from "./run-queue.ts";
import { settleQuest } from "./settle-quest.ts";

/** How long (ms) to wait for a tool that ignores its abort signal. */
const unwindMs = 5_000;

const interruptedText = "The agent host stopped while this task was running. Nothing is lost and no action runs twice. Resume to continue.";
const interruptedReviewText = "The agent host stopped while your review was open. Review the changes, or resume the task.";

/** Starts, stops, claims and releases the quests that this host runs. */
export function createQuestRunner(
  deps: TurnDeps & {
    readonly runLoop: RunLoop;
    /** Called after the last write of a quest that ended. It must not throw. */
    ended: (of: { questId: string; outcome: "done" | "failed" | "cancelled"; receiptId: string | null }) => void;
    /** How many tasks may run at a time; further ones wait for their turn. */
    maxRunningTasks: () => number;
  },
  storage: Pick<Storage, "hostId" | "hostAlive">,
) {
  const { store, ledger, governance } = deps;
  const runs = new Map<string, Run>();
  const queue = createRunQueue(deps.maxRunningTasks);
  const places = new Map<Run, RunPlace>();
  /** Loops that were aborted but have not returned yet. */
  const unwinding = new Map<string, Promise<void>>();
  let closed = false;

  /** True when another live host runs the quest. A quest whose run ended in a pending review runs nowhere. */
  function runsElsewhere({ quest, hostId }: StoredQuest): boolean {
    const running = quest.status === "active" || quest.status === "waiting";
    if (!running || hostId === null || hostId === storage.hostId) return false;
    if (quest.status === "waiting" && quest.waitingFor?.kind === "review" && quest.waitingFor.id === quest.id) return false;
    return storage.hostAlive(hostId);
  }

  function requireNotRunningElsewhere(stored: StoredQuest): void {
    if (runsElsewhere(stored))
      throw new LancelotError("conflict", "This task is running in another window. Continue it there, or stop it there first.");
  }

  /** Makes this host the owner of the quest and marks it `active`. Call it in the transaction that writes the reason for the start. */
  function claim(questId: string): void {
    if (closed) throw new LancelotError("unavailable", "The agent host is shutting down. Try again after it has restarted.");
    requireNotRunningElsewhere(store.stored(questId));
    store.patch(questId, { status: "active", hostId: storage.hostId, waitingFor: null, problem: null, queued: false });
  }

  /**
   * Starts the loop of a claimed quest.
   * @param of `before` is awaited before the loop starts; `messageId` is the message that the run starts with; `subtask`: a run
   * that works for another one, and starts without a place in the queue
   */
  function launch(
    questId: string,
    reason: string,
    of: { messageId?: string; before?: (() => Promise<void>) | undefined; subtask?: SubtaskRun } = {},
  ): void {
    const { receiptId, title } = store.quest(questId);
    const opened = ledger.open({
      actionType: "system",
      actionName: receiptId === null ? "quest" : "quest.continue",
      inputs: { title, reason },
      riskTier: "T0",
      questId,
      parentId: receiptId ?? of.subtask?.receiptId ?? null,
    });
    if (receiptId === null) store.patch(questId, { receiptId: opened });
    const run = createRun(questId, opened, of.messageId ?? null, of.subtask ?? null);
    runs.set(questId, run);
    // A task keeps its place while its sub-tasks work.
    const place = queue.enter({ bypass: of.subtask !== undefined });
    places.set(run, place);
    const wasQueued = place.isQueued;
    if (wasQueued) store.patch(questId, { queued: true });
    const earlier = unwinding.get(questId);
    run.done = (async () => {
      if (earlier !== undefined) await withinUnwind(earlier);
      try {
        run.controller.signal.throwIfAborted();
        await of.before?.();
        run.controller.signal.throwIfAborted();
        if (wasQueued) await takeTurn(run, place);
        const within = run.subtask === null ? {} : { canAsk: false, reason: null, spawn: null };
        await deps.runLoop({ ...deps, ...within, redactor: deps.redactorOf(questId) }, run, (outcome) => conclude(run, outcome));
      } catch (error) {
        // When the run was ended from outside, `end` has written its state. Any other error here comes from the store itself.
        if (!run.ended) concludeAfterError(run, error);
      } finally {
        leave(run);
      }
    })();
  }

  /** Waits until the queue lets the run start. */
  async function takeTurn(run: Run, place: RunPlace): Promise<void> {
    await place.ready(run.controller.signal);
    await store.ready(run.controller.signal);
    store.patch(run.questId, { queued: false });
  }

  function leave(run: Run): void {
    places.get(run)?.leave();
    places.delete(run);
  }

  function conclude(run: Run, concluded: Outcome): void {
    if (run.ended) return;
    // The changes of a sub-task are not reviewed on their own: they join those of its task.
    const outcome: Outcome = run.subtask !== null && concluded.status === "waiting" ? { status: "done" } : concluded;
    run.ended = true;
    runs.delete(run.questId);
    const { questId } = run;
    if (outcome.status !== "waiting") {
      // A task that could not be planned is still to be planned after *Resume*.
      if (outcome.status === "done" || store.quest(questId).mode === "crusader") changeMode(deps, questId, "normal");
      void deps.models.release(cacheKeyOf(questId));
    }
    if (outcome.status === "waiting") store.patch(questId, { status: "waiting", waitingFor: { kind: "review", id: questId } });
    else if (outcome.status === "done") store.patch(questId, { status: "done", waitingFor: null, problem: null });
    else store.patch(questId, { status: "failed", waitingFor: null, problem: outcome.problem });
    ledger.close(run.receiptId, {
      status: outcome.status === "failed" ? "failure" : "success",
      outputs: { status: outcome.status },
      errorMessage: outcome.status === "failed" ? outcome.problem : null,
    });
    if (run.subtask !== null) run.subtask.ended(outcome);
    else if (outcome.status !== "waiting") deps.ended({ questId, outcome: outcome.status, receiptId: run.receiptId });
  }

  function concludeAfterError(run: Run, error: unknown): void {
    const problem = error instanceof LancelotError ? error.message : "Lancelot had an internal error. Resume to try again.";
    try {
      conclude(run, { status: "failed", problem });
    } catch {
      // The database failed. The quest remains `active` in it until another host reconciles it.
      run.ended = true;
      runs.delete(run.questId);
      run.subtask?.ended({ status: "failed", problem });
    }
  }

  /** Stops the run of a quest, whose end is written later. */
  function halt(questId: string): void {
    const run = runs.get(questId);
    if (run === undefined) return;
    run.ended = true;
    run.controller.abort(new LancelotError("cancelled", "The task was stopped."));
  }

  /** Ends the run of a quest at once and sets its status. The returned promise resolves when the loop has returned. */
  function end(questId: string, requested: Extract<QuestStatus, "cancelled" | "interrupted">): Promise<void> {
    const status = store.parentOf(questId) === null ? requested : "cancelled";
    const run = runs.get(questId);
    run?.flush?.();
    if (run !== undefined) {
      run.ended = true;
      runs.delete(questId);
      leave(run);
    }
    try {
      store.transaction(() => {
        settleQuest({ store, governance }, questId, status);
        markEnded(questId, status);
      });
    } catch (error) {
      // The run ends although that cannot be stored; `reconcile` stores it later.
      run?.controller.abort(new LancelotError("cancelled", "The task was stopped."));
      throw error;
    }
    if (status === "cancelled") {
      governance.approvals.cancelQuest(questId);
      const { receiptId, parentId } = store.quest(questId);
      if (parentId === undefined) deps.ended({ questId, outcome: status, receiptId: run?.receiptId ?? receiptId });
    }
    void deps.models.release(cacheKeyOf(questId));
    if (run === undefined) return Promise.resolve();
    run.controller.abort(new LancelotError("cancelled", "The task was stopped."));
    ledger.close(run.receiptId, { status: "cancelled", outputs: { status } });
    run.subtask?.ended({ status: "cancelled" });
    const unwound = run.done.finally(() => {
      if (unwinding.get(questId) === unwound) unwinding.delete(questId);
    });
    unwinding.set(questId, unwound);
    return withinUnwind(unwound);
  }

  function markEnded(questId: string, status: "cancelled" | "interrupted"): void {
    const { quest } = store.stored(questId);
    if (quest.parentId !== undefined) {
      store.patch(questId, { status, waitingFor: null, problem: null, answer: null });
      return;
    }
    // Crusader mode ends with the run, also after a crash: advance approval must not survive until a resume.
    if (quest.mode === "crusader") changeMode(deps, questId, "normal");
    if (status === "cancelled") {
      store.addMessage({ questId, role: "assistant", parts: [notice("info", "You stopped this task.", "resume")] });
      store.patch(questId, { status, waitingFor: null, problem: null, answer: null });
      return;
    }
    const inReview = quest.waitingFor?.kind === "review";
    if (!inReview) store.addMessage({ questId, role: "assistant", parts: [notice("warning", interruptedText, "resume")] });
    store.patch(questId, { status, problem: inReview ? interruptedReviewText : interruptedText });
  }

  /** Marks the `active` and `waiting` quests of crashed hosts, and of runs whose end could not be stored, as interrupted. */
  function reconcile(): number {
    let count = 0;
    for (const { quest } of store.running()) {
      count += store.transaction(() => {
        const { quest: current, hostId } = store.stored(quest.id);
        const running = current.status === "active" || current.status === "waiting";
        // The end of an own run could not be stored, because the disk was full. A review of the user needs no run.
        const isOrphan =
          hostId === storage.hostId &&
          (current.status === "active" || current.waitingFor?.kind !== "review") &&
          !runs.has(quest.id) &&
          !unwinding.has(quest.id);
        if (!running || (!isOrphan && (hostId === storage.hostId || (hostId !== null && storage.hostAlive(hostId))))) return 0;
        // A sub-task ends with the call that started it, which is not repeated.
        const cut = current.parentId === undefined ? "interrupted" : "cancelled";
        settleQuest({ store, governance }, quest.id, cut);
        markEnded(quest.id, cut);
        if (cut === "cancelled") deps.changes.discard(quest.id);
        return 1;
      });
    }
    return count;
  }

  return {
    runOf: (questId: string): Run | undefined => runs.get(questId),
    requireNotRunningElsewhere,
    claim,
    launch,
    halt,
    end,
    reconcile,
    /** Starts tasks that wait for their turn, after the limit was raised. */
    refreshQueue: queue.refresh,

    /** A run that waits for the user leaves its place to another one until it continues. */
    notice({ id, status }: Pick<Quest, "id" | "status">): void {
      const run = runs.get(id);
      const place = run === undefined ? undefined : places.get(run);
      if (status === "waiting") place?.pause();
      else if (status === "active") place?.continue();
    },

    /** Claims a quest and starts its loop. */
    start(questId: string, reason: string): Quest {
      store.transaction(() => claim(questId));
      launch(questId, reason);
      return store.quest(questId);
    },

    /** Interrupts every run of this host, and waits until their loops have returned. */
    async close(): Promise<void> {
      closed = true;
      await Promise.all([...runs.keys()].map((questId) => end(questId, "interrupted")));
      await Promise.all([...unwinding.values()].map(withinUnwind));
    },
  };
}

async function withinUnwind(unwound: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, unwindMs);
  await Promise.race([unwound, promise]);
  clearTimeout(timer);
}
