import { LancelotError } from "../contract/errors.ts";
import type { PromptSources, Trace } from "../context/context.ts";
import type { RunMemory } from "../memory/memory.ts";
import type { ModelEvent, Route } from "../models/models.ts";
import { streamAnswer } from "./answer-stream.ts";
import { isBusy } from "../storage/storage.ts";
import {
  budgetRun,
  cacheKeyOf,
  fail,
  hasOpenChanges,
  maxCalls,
  maxQuestTokens,
  maxTurns,
  notice,
  noticeOf,
  type Outcome,
  partialTurn,
  type QuestStore,
  readAttachments,
  type Run,
  addNoticeOnce,
  toConversation,
  type TurnDeps,
} from "../quests/quests.ts";
import { finishPendingCalls, useAnswer } from "./model-answer.ts";
import { settleReview } from "./review-wait.ts";
import { failOver, routeStep } from "./turn-routing.ts";
import { readForSmallModel } from "./small-model-turn.ts";
import { tellEndedCommands } from "./ended-commands.ts";
import { tellWorkState } from "./tell-work-state.ts";
import { settleVerifications } from "./verification-notes.ts";

/** How often in one run a database that another process locks is waited for. Each wait has a limit of its own. */
const maxLocks = 5;

type Done = Extract<ModelEvent, { type: "done" }>;

/**
 * Runs a quest until it is done, waits for a review, or fails. Each step is committed before the next effect. `conclude` is called in the
 * same turn of the event loop as the last check for messages, so that no message can arrive between the two. Throws only when the run
 * was ended from outside.
 */
export async function runLoop(deps: TurnDeps, run: Run, conclude: (outcome: Outcome) => void): Promise<void> {
  for (let locks = 0; ; locks += 1) {
    try {
      return await runSteps(deps, run, conclude);
    } catch (error) {
      if (run.ended) throw error;
      // The steps go on from what is stored, as after *Resume*.
      if (isBusy(error) && locks < maxLocks && (await isFree(deps, run))) continue;
      // It may have been stopped during the wait.
      if (run.ended) throw error;
      if (!(error instanceof LancelotError)) deps.log("a task failed", error);
      return conclude(fail(deps, run, noticeOf(error)));
    }
  }
}

function isFree({ ledger }: TurnDeps, run: Run): Promise<boolean> {
  return ledger.ready(run.controller.signal).then(
    () => true,
    () => false,
  );
}

async function runSteps(deps: TurnDeps, run: Run, conclude: (outcome: Outcome) => void): Promise<void> {
  const trace: Trace = { questId: run.questId, parentId: run.parentId };
  const surroundings = await deps.context.readSources(mentionedPaths(deps.store, run.questId), trace);
  const memory = deps.recall.begin(run.questId, trace);
  const unfinished = await finishPendingCalls(deps, run, trace);
  if (unfinished !== null) return conclude(unfinished);
  for (;;) {
    run.controller.signal.throwIfAborted();
    await deps.ledger.ready(run.controller.signal);
    await readPendingAttachments(deps, run, trace);
    await deps.memoryCommands.run(run);
    await settleReview(deps, run);
    tellEndedCommands(deps, run);
    if (!needsAnswer(deps.store, run.questId)) {
      await settleVerifications(deps, run);
      // The user may have sent a message or reviewed changes in the meantime.
      await settleReview(deps, run);
      tellEndedCommands(deps, run);
      if (needsAnswer(deps.store, run.questId)) continue;
      return conclude(hasOpenChanges(deps.changes, run.questId) ? { status: "waiting" } : { status: "done" });
    }
    if (run.planning?.isFinished() === true && toConversation(deps.store.messages(run.questId)).at(-1)?.role === "tool")
      return conclude({ status: "done" });
    const outcome = stopByBudget(deps, run) ?? (await takeTurn(deps, run, surroundings, memory));
    if (outcome !== null) return conclude(outcome);
  }
}

/** True when the conversation ends with a message of the user or with tool results. */
function needsAnswer(store: QuestStore, questId: string): boolean {
  return toConversation(store.messages(questId)).at(-1)?.role !== "assistant";
}

function mentionedPaths(store: QuestStore, questId: string): string[] {
  const last = store.messages(questId).findLast(({ message }) => message.role === "user");
  return (last?.message.parts ?? []).flatMap((part) => (part.type === "file" ? [part.path.replace(/:\d+-\d+$/, "")] : []));
}

async function readPendingAttachments({ store, context, redactor, sanitizer, tools }: TurnDeps, run: Run, trace: Trace): Promise<void> {
  for (const stored of store.messages(run.questId)) {
    const { message, turn, attachments } = stored;
    if (attachments === null || turn?.kind !== "user") continue;
    const { content, problems } = await readAttachments({ context, redactor, sanitizer, tools }, attachments, trace, run.controller.signal);
    run.controller.signal.throwIfAborted();
    store.saveMessage({ ...message, parts: [...message.parts, ...problems] }, { ...turn, content: [...content, ...turn.content] });
  }
}

function stopByBudget(deps: TurnDeps, run: Run): Outcome | null {
  if (run.turns >= maxTurns) {
    return fail(
      deps,
      run,
      notice(
        "warning",
        `Stopped after ${String(maxTurns)} steps. Resume to allow ${String(maxTurns)} more, or tell Lancelot what to do differently.`,
        "resume",
      ),
    );
  }
  // What sub-tasks use counts for their task.
  const { calls, questId } = budgetRun(run);
  if (calls >= maxCalls) {
    const limit = maxCalls.toLocaleString("en-US");
    return fail(deps, run, notice("warning", `Stopped after ${limit} tool calls. Resume to allow ${limit} more.`, "resume"));
  }
  const { quest, tokenLimit } = deps.store.stored(questId);
  const used = quest.usage.inputTokens + quest.usage.outputTokens;
  if (used >= tokenLimit) {
    const figure = used.toLocaleString("en-US");
    return fail(
      deps,
      run,
      notice(
        "warning",
        `Stopped: this task has used ${figure} tokens. Resume to allow ${maxQuestTokens.toLocaleString("en-US")} more.`,
        "resume",
      ),
    );
  }
  return null;
}

/** Makes one model call and the tool calls of its answer. @returns null to continue the loop, else the outcome of the run */
async function takeTurn(deps: TurnDeps, run: Run, baseSurroundings: PromptSources, memory: RunMemory): Promise<Outcome | null> {
  const { store, ledger } = deps;
  const { questId } = run;
  const { signal } = run.controller;
  const route = await routeStep(deps, run);
  const active = route.model;
  const surroundings = { ...baseSurroundings, memory: memory(active) };
  await ledger.ready(signal);
  signal.throwIfAborted();
  const name = `${active.provider}/${active.model}`;
  if (store.quest(questId).model !== name) store.patch(questId, { model: name });
  // A small window has no room for it.
  if (!active.small) await tellWorkState(deps, run);
  await deps.reason?.(deps, run, route);
  signal.throwIfAborted();
  if (active.notice !== undefined) addNoticeOnce(store, questId, notice("warning", active.notice, "choose_model"));
  if (route.notice !== null) addNoticeOnce(store, questId, notice("warning", route.notice));
  run.turns += 1;
  const turnId = ledger.open({
    actionType: "system",
    actionName: "turn",
    inputs: { number: run.turns, model: name },
    riskTier: "T0",
    questId,
    parentId: run.parentId,
  });
  let status: "success" | "failure" | "cancelled" = "failure";
  try {
    const outcome = await answerOnce(deps, run, surroundings, route, turnId);
    status = outcome?.status === "failed" || run.routing?.routes.isRerouted() !== false ? "failure" : "success";
    return outcome;
  } catch (error) {
    if (signal.aborted) status = "cancelled";
    throw error;
  } finally {
    // A lock that stays makes closing fail with the same error.
    await ledger.ready().catch(() => undefined);
    ledger.close(turnId, { status });
  }
}

async function answerOnce(deps: TurnDeps, run: Run, surroundings: PromptSources, route: Route, turnId: string): Promise<Outcome | null> {
  const { store, models, emit, redactor } = deps;
  const active = route.model;
  const { questId } = run;
  const { signal } = run.controller;
  const trace: Trace = { questId, parentId: turnId };
  if (active.small) await readForSmallModel(deps, run, active, turnId);

  const prompted = await deps.questContext.prompt({ questId, model: active, surroundings, trace, signal, planning: run.planning !== null });
  const { system, fitted, tools, answer, problem } = prompted;
  run.promptSize = { tokens: prompted.tokens, window: prompted.window };
  if (problem !== null) {
    const tooLong = new LancelotError("too_large", problem, { data: { reason: "too_long" } });
    if ((await failOver(deps, run, tooLong)) === null) return null;
    return fail(deps, run, notice("error", problem, "choose_model"));
  }
  await deps.ledger.ready(signal);
  const quest = store.quest(questId);

  // Nothing is awaited from here to the stream, so a new message of the user comes after this one and joins the next step.
  const message = store.addMessage({ questId, role: "assistant", parts: [], open: true });
  let done: Done;
  try {
    const events = models.stream(
      { system, messages: fitted.messages, tools, cacheKey: cacheKeyOf(questId), ...(active.small ? { maxTokens: answer } : {}) },
      { questId, parentId: turnId, signal, route },
    );
    done = await streamAnswer({ store, emit, redactor }, events, message, signal, (flush) => {
      run.flush = flush;
    });
  } catch (error) {
    if (run.ended) throw error;
    const final = await failOver(deps, run, error, message);
    if (final === null) return null;
    store.saveMessage(message, partialTurn({ message, turn: null, attachments: null }, "failed"));
    return fail(deps, run, noticeOf(final), message);
  }
  await deps.ledger.ready(signal);
  if (run.ended) signal.throwIfAborted();
  return useAnswer(deps, run, message, done, quest, { turnId, small: active.small });
}
