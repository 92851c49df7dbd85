import type { Quest, QuestStatus } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Storage } from "../storage/storage.ts";
import { changeMode } from "./crusader.ts";
import type { RunLoop, TurnDeps } from "./turn-deps.ts";
import { cacheKeyOf } from "./prompt-cache-key.ts";
import { notice } from "./notices.ts";
import type { Outcome } from "./run-outcome.ts";
import { createRun, type Run } from "./quest-run.ts";
import type { StoredQuest } from "./stored-quest.ts";
import { settleQuest } from "./settle-quest.ts";

/** A tool that does not heed its stop is waited for this long (ms) before the quest goes on without it. */
const unwindMs = 5_000;

const interruptedWords = "The agent host ended while this task ran. Nothing is lost and nothing runs twice: resume to go on.";
const reviewWords = "The agent host ended while your review was open. Decide the changes, or resume.";

/** Which quests this host runs: starts, stops, claims and gives back. */
export function createQuestRunner(
  deps: TurnDeps & {
    readonly runLoop: RunLoop;
    /** Told when a quest ended, after everything of it was written. It must not throw. */
    ended: (of: { questId: string; outcome: "done" | "failed" | "cancelled"; receiptId: string | null }) => void;
  },
  storage: Pick<Storage, "hostId" | "hostAlive">,
) {
  const { store, ledger, governance } = deps;
  const runs = new Map<string, Run>();
  /** Loops that were ended but have not unwound yet. */
  const unwinding = new Map<string, Promise<void>>();
  let closed = false;

  /** Another living host runs it. A quest that ended its turn and waits for a review runs nowhere. */
  function runsElsewhere({ quest, hostId }: StoredQuest): boolean {
    const running = quest.status === "active" || quest.status === "waiting";
    if (!running || hostId === null || hostId === storage.hostId) return false;
    if (quest.status === "waiting" && quest.waitingFor?.kind === "review" && quest.waitingFor.id === quest.id) return false;
    return storage.hostAlive(hostId);
  }

  function requireNotRunningElsewhere(stored: StoredQuest): void {
    if (runsElsewhere(stored))
      throw new LancelotError("conflict", "This task runs in another window. Go on there, or stop it there first.");
  }

  /** Makes the quest this host's, `active`. To be called in the transaction that writes the reason for the start. */
  function claim(questId: string): void {
    if (closed) throw new LancelotError("unavailable", "The agent host is shutting down. Try again when it is back.");
    requireNotRunningElsewhere(store.stored(questId));
    store.patch(questId, { status: "active", hostId: storage.hostId, waitingFor: null, problem: null });
  }

  /** Starts the loop of a claimed quest. `before` is awaited first; `messageId`: of the owner's message it begins with. */
  function launch(questId: string, reason: string, of: { messageId?: string; before?: (() => Promise<void>) | undefined } = {}): void {
    const { receiptId, title } = store.quest(questId);
    const opened = ledger.open({
      actionType: "system",
      actionName: receiptId === null ? "quest" : "quest.continue",
      inputs: { title, reason },
      riskTier: "T0",
      questId,
      parentId: receiptId,
    });
    if (receiptId === null) store.patch(questId, { receiptId: opened });
    const run = createRun(questId, opened, of.messageId ?? null);
    runs.set(questId, run);
    const earlier = unwinding.get(questId);
    run.done = (async () => {
      if (earlier !== undefined) await withinUnwind(earlier);
      try {
        run.controller.signal.throwIfAborted();
        await of.before?.();
        run.controller.signal.throwIfAborted();
        await deps.runLoop({ ...deps, redactor: deps.redactorOf(questId) }, run, (outcome) => conclude(run, outcome));
      } catch (error) {
        // Ended from outside: `end` has written everything. Anything else here is a fault of the store itself.
        if (!run.ended) concludeBroken(run, error);
      }
    })();
  }

  function conclude(run: Run, outcome: Outcome): void {
    if (run.ended) return;
    run.ended = true;
    runs.delete(run.questId);
    const { questId } = run;
    if (outcome.status !== "waiting") {
      changeMode(deps, questId, "normal");
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
    if (outcome.status !== "waiting") deps.ended({ questId, outcome: outcome.status, receiptId: run.receiptId });
  }

  function concludeBroken(run: Run, error: unknown): void {
    const problem = error instanceof LancelotError ? error.message : "Something went wrong inside Lancelot. Resume to try again.";
    try {
      conclude(run, { status: "failed", problem });
    } catch {
      // The database does not answer. The quest stays `active` in it and is reconciled when this host is gone.
      run.ended = true;
      runs.delete(run.questId);
    }
  }

  /** Ends what runs of a quest at once and leaves it as `status`; the returned promise resolves when its loop has unwound. */
  function end(questId: string, status: Extract<QuestStatus, "cancelled" | "interrupted">): Promise<void> {
    const run = runs.get(questId);
    run?.flush?.();
    if (run !== undefined) {
      run.ended = true;
      runs.delete(questId);
    }
    store.transaction(() => {
      settleQuest({ store, governance }, questId, status);
      markEnded(questId, status);
    });
    if (status === "cancelled") {
      governance.approvals.cancelQuest(questId);
      deps.ended({ questId, outcome: status, receiptId: run?.receiptId ?? store.quest(questId).receiptId });
    }
    void deps.models.release(cacheKeyOf(questId));
    if (run === undefined) return Promise.resolve();
    run.controller.abort(new LancelotError("cancelled", "The task was stopped."));
    ledger.close(run.receiptId, { status: "cancelled", outputs: { status } });
    const unwound = run.done.finally(() => {
      if (unwinding.get(questId) === unwound) unwinding.delete(questId);
    });
    unwinding.set(questId, unwound);
    return withinUnwind(unwound);
  }

  function markEnded(questId: string, status: "cancelled" | "interrupted"): void {
    const { quest } = store.stored(questId);
    // A host that died ends it too: what was approved beforehand is not taken up again unasked.
    changeMode(deps, questId, "normal");
    if (status === "cancelled") {
      store.addMessage({ questId, role: "assistant", parts: [notice("info", "You stopped this task.", "resume")] });
      store.patch(questId, { status, waitingFor: null, problem: null, answer: null });
      return;
    }
    const inReview = quest.waitingFor?.kind === "review";
    if (!inReview) store.addMessage({ questId, role: "assistant", parts: [notice("warning", interruptedWords, "resume")] });
    store.patch(questId, { status, problem: inReview ? reviewWords : interruptedWords });
  }

  /** Marks what dead hosts left `active` or `waiting` as interrupted. */
  function reconcile(): number {
    let count = 0;
    for (const { quest } of store.running()) {
      count += store.transaction(() => {
        const { quest: current, hostId } = store.stored(quest.id);
        const running = current.status === "active" || current.status === "waiting";
        if (!running || hostId === storage.hostId || (hostId !== null && storage.hostAlive(hostId))) return 0;
        settleQuest({ store, governance }, quest.id, "interrupted");
        markEnded(quest.id, "interrupted");
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
    end,
    reconcile,

    /** Claims and starts in one go. */
    start(questId: string, reason: string): Quest {
      store.transaction(() => claim(questId));
      launch(questId, reason);
      return store.quest(questId);
    },

    /** Interrupts everything this host runs, and waits for it. */
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
