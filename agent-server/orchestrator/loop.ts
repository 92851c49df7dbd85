import type { Message, Part, Quest, ToolPart } from "../contract/chat.ts";
import type { ContextMessage, Surroundings, Trace } from "../context/context.ts";
import type { ActiveModel, AssistantContent, ModelEvent } from "../models/models.ts";
import type { Redactor } from "../security/security.ts";
import { streamAnswer } from "./answer-stream.ts";
import { readAttachments } from "./attachments.ts";
import { protectContent, toConversation, toSmallConversation } from "./conversation.ts";
import { type Notice, notice, noticeOf } from "./notices.ts";
import type { Run } from "./quest-run.ts";
import type { QuestStore } from "./quest-store.ts";
import { hasOpenChanges, tellReview } from "./review.ts";
import { isUnfinished, partialTurn } from "./settle.ts";
import type { LoopDeps } from "./loop-deps.ts";
import { asksForChange, smallAnswerTokens, smallModelTools } from "./small-model.ts";
import { readForSmallModel } from "./small-model-turn.ts";
import { maxQuestTokens, maxTurns } from "./stop-rules.ts";
import { dropCalls, type PendingCall, queuedPart, runToolCalls } from "./tool-calls.ts";

/** How a run ended. */
export type Outcome = { status: "done" } | { status: "waiting" } | { status: "failed"; problem: string };

type Done = Extract<ModelEvent, { type: "done" }>;

/**
 * Runs a quest until it is done, waits for a review, or fails. Each step is committed before the next effect.
 * `conclude` is called in the same turn of the event loop as the last look at the messages, so that no word of the owner
 * falls between the two. Throws only when the run was ended from outside.
 */
export async function runLoop(deps: LoopDeps, run: Run, conclude: (outcome: Outcome) => void): Promise<void> {
  try {
    const trace: Trace = { questId: run.questId, parentId: run.receiptId };
    const surroundings = await deps.context.surroundings(mentionedPaths(deps.store, run.questId), trace);
    const unfinished = await finishPendingCalls(deps, run, trace);
    if (unfinished !== null) return conclude(unfinished);
    for (;;) {
      run.controller.signal.throwIfAborted();
      await readOwnersAttachments(deps, run, trace);
      tellReview(deps, run.questId);
      if (!needsAnswer(deps.store, run.questId)) {
        return conclude(hasOpenChanges(deps, run.questId) ? { status: "waiting" } : { status: "done" });
      }
      const outcome = stopByBudget(deps, run) ?? (await takeTurn(deps, run, surroundings));
      if (outcome !== null) return conclude(outcome);
    }
  } catch (error) {
    if (run.ended) throw error;
    conclude(fail(deps, run, noticeOf(error)));
  }
}

/** The model owes an answer when the owner's words or tool results stand last. */
function needsAnswer(store: QuestStore, questId: string): boolean {
  return toConversation(store.messages(questId)).at(-1)?.role !== "assistant";
}

function mentionedPaths(store: QuestStore, questId: string): string[] {
  const last = store.messages(questId).findLast(({ message }) => message.role === "user");
  return (last?.message.parts ?? []).flatMap((part) => (part.type === "file" ? [part.path.replace(/:\d+-\d+$/, "")] : []));
}

async function readOwnersAttachments({ store, context, redactor }: LoopDeps, run: Run, trace: Trace): Promise<void> {
  for (const stored of store.messages(run.questId)) {
    const { message, turn, attachments } = stored;
    if (attachments === null || turn?.kind !== "user") continue;
    const { content, problems } = await readAttachments({ context, redactor }, attachments, trace);
    run.controller.signal.throwIfAborted();
    store.saveMessage({ ...message, parts: [...message.parts, ...problems] }, { kind: "user", content: [...content, ...turn.content] });
  }
}

function stopByBudget(deps: LoopDeps, run: Run): Outcome | null {
  if (run.turns >= maxTurns) {
    return fail(
      deps,
      run,
      notice(
        "warning",
        `Stopped after ${String(maxTurns)} steps without an end. Resume to allow as many again, or say what to do differently.`,
        "resume",
      ),
    );
  }
  const { quest, tokenLimit } = deps.store.stored(run.questId);
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

/** Shows a notice as the product's own words and ends the run as failed. */
function fail({ store }: LoopDeps, run: Run, words: Notice, message?: Message): Outcome {
  if (message === undefined) {
    store.addMessage({ questId: run.questId, role: "assistant", parts: [words] });
  } else {
    message.parts.push(words);
    store.saveMessage({ ...message, open: false });
  }
  return { status: "failed", problem: words.text };
}

/** One question to the model, and the tools it asks for. Null: go on. */
async function takeTurn(deps: LoopDeps, run: Run, surroundings: Surroundings): Promise<Outcome | null> {
  const { store, models, ledger } = deps;
  const { questId } = run;
  const { signal } = run.controller;
  const active = await models.active();
  const name = `${active.provider}/${active.model}`;
  if (store.quest(questId).model !== name) store.patch(questId, { model: name });
  run.turns += 1;
  const turnId = ledger.open({
    actionType: "system",
    actionName: "turn",
    inputs: { number: run.turns, model: name },
    riskTier: "T0",
    questId,
    parentId: run.receiptId,
  });
  let status: "success" | "failure" | "cancelled" = "failure";
  try {
    const outcome = await answerOnce(deps, run, surroundings, active, turnId);
    status = outcome?.status === "failed" ? "failure" : "success";
    return outcome;
  } catch (error) {
    if (signal.aborted) status = "cancelled";
    throw error;
  } finally {
    ledger.close(turnId, { status });
  }
}

async function answerOnce(
  deps: LoopDeps,
  run: Run,
  surroundings: Surroundings,
  active: ActiveModel,
  turnId: string,
): Promise<Outcome | null> {
  const { store, models, tools, context, emit, redactor } = deps;
  const { questId } = run;
  const { signal } = run.controller;
  const trace: Trace = { questId, parentId: turnId };
  if (active.small) await readForSmallModel(deps, run, active, turnId);

  const quest = store.quest(questId);
  const stored = store.messages(questId);
  const request = lastRequest(stored.flatMap(({ turn }) => (turn?.kind === "user" ? [turn.content] : [])));
  const usable = tools.list().flatMap((tool) => (tool.problem === null ? [tool.name] : []));
  const offered = tools.schemas(active.small ? usable.filter((tool) => smallModelTools(request).includes(tool)) : usable);
  const answerTokens = active.small ? smallAnswerTokens : Math.min(8_192, Math.floor(active.contextWindow / 4));
  const { system, fitted } = context.assemble(
    surroundings,
    {
      small: active.small,
      canEdit: asksForChange(request),
      mode: quest.mode,
      plan: quest.plan,
      tools: offered,
      messages: active.small ? toSmallConversation(stored) : toConversation(stored),
      window: active.contextWindow,
      answer: answerTokens,
    },
    trace,
  );
  if (!fitted.fits) {
    const words = `Your messages in this task no longer fit the window of ${active.displayName} (${active.contextWindow.toLocaleString("en-US")} tokens). Start a new task, attach less, or choose a model with a larger window.`;
    return fail(deps, run, notice("error", words, "choose_model"));
  }

  // From here to the stream nothing waits: what the owner says now comes after this message, and joins the next step.
  const message = store.addMessage({ questId, role: "assistant", parts: [], open: true });
  let done: Done;
  try {
    const events = models.stream(
      { system, messages: fitted.messages, tools: offered, ...(active.small ? { maxTokens: answerTokens } : {}) },
      { questId, parentId: turnId, signal },
    );
    done = await streamAnswer({ store, emit, redactor }, events, message, signal, (flush) => {
      run.flush = flush;
    });
  } catch (error) {
    if (run.ended) throw error;
    store.saveMessage(message, partialTurn({ message, turn: null, attachments: null }, "failed"));
    return fail(deps, run, noticeOf(error), message);
  }
  if (run.ended) signal.throwIfAborted();
  return useAnswer(deps, run, message, done, quest, turnId);
}

/** Stores the answer, makes its calls, and says whether the loop goes on. */
async function useAnswer(deps: LoopDeps, run: Run, message: Message, done: Done, quest: Quest, turnId: string): Promise<Outcome | null> {
  const { store, redactor } = deps;
  const { content, calls } = withUniqueCalls(done);
  const safe = protectContent(content, redactor);
  message.parts = toParts(safe.content, calls, done, redactor);
  if (message.parts.some((part) => part.type === "text" || part.type === "tool")) run.answered = true;
  const refused = done.stop === "refused";
  store.transaction(() => {
    const { usage } = store.quest(run.questId);
    store.patch(run.questId, {
      usage: {
        inputTokens: usage.inputTokens + done.usage.inputTokens,
        outputTokens: usage.outputTokens + done.usage.outputTokens,
        cachedInputTokens: usage.cachedInputTokens + done.usage.cachedInputTokens,
        reasoningTokens: usage.reasoningTokens + done.usage.reasoningTokens,
      },
    });
    message.open = calls.length > 0;
    const cut = refused ? "failed" : null;
    store.saveMessage(message, safe.content.length === 0 ? null : { kind: "assistant", content: safe.content, cut, altered: safe.altered });
  });

  if (refused) {
    return fail(
      deps,
      run,
      notice("warning", "The model declined to answer. Ask in another way, or choose another model.", "choose_model"),
      message,
    );
  }
  if (calls.length > 0 || done.malformed.length > 0) {
    const repeated = countMalformed(run, message, done) ?? (await makeCalls(deps, run, message, calls, quest, turnId));
    return repeated;
  }
  if (done.stop === "max_tokens") return goOnAfterLimit(deps, run, message);
  return message.parts.some((part) => part.type === "text") ? null : acceptSilence(deps, run, message);

  function countMalformed(run: Run, message: Message, { malformed }: Done): Outcome | null {
    for (const { name, raw, id } of malformed) {
      const part = message.parts.find((candidate): candidate is ToolPart => candidate.type === "tool" && candidate.callId === id);
      if (part !== undefined && run.failures.count(name, raw, "malformed") >= 3) {
        dropCalls(message, new Set(calls.map((call) => call.id)), "not run: the task was stopped");
        return fail(deps, run, repeatedNotice(part), message);
      }
    }
    return null;
  }
}

/** Nothing to add is an answer after work or a review; as the whole answer to the owner it is a failure. */
function acceptSilence(deps: LoopDeps, run: Run, message: Message): Outcome | null {
  const asked = deps.store.messages(run.questId).findLast((stored) => stored.message.role === "user");
  if (!run.answered && asked?.message.parts.some((part) => part.type === "text") === true) {
    return fail(deps, run, notice("warning", "The model gave no answer. Resume to ask again, or choose another model.", "resume"), message);
  }
  message.parts.push(notice("info", "The model had nothing to add."));
  deps.store.saveMessage(message, { kind: "assistant", content: [{ type: "text", text: "(nothing to add)" }], cut: null, altered: [] });
  return null;
}

async function makeCalls(
  deps: LoopDeps,
  run: Run,
  message: Message,
  calls: readonly PendingCall[],
  quest: Quest,
  parentId: string,
): Promise<Outcome | null> {
  let repeated: ToolPart | null = null;
  await runToolCalls(deps, message, calls, {
    run,
    mode: quest.mode,
    parentId,
    onRepeated: (part) => {
      repeated ??= part;
    },
  });
  run.controller.signal.throwIfAborted();
  dropCalls(message, new Set(calls.map((call) => call.id)), "not run: the task was stopped");
  message.open = false;
  if (repeated !== null) return fail(deps, run, repeatedNotice(repeated), message);
  deps.store.saveMessage(message);
  return null;
}

function repeatedNotice(part: ToolPart): Notice {
  const reason = (part.output ?? "").split("\n")[0]?.slice(0, 200) ?? "";
  return notice(
    "warning",
    `Stopped: ${part.tool} failed three times in the same way (${reason}). Say what to do differently, or resume to let it try again.`,
    "resume",
  );
}

function goOnAfterLimit({ store, ...deps }: LoopDeps, run: Run, message: Message): Outcome | null {
  if (run.continuedAfterLimit) {
    return fail(
      { store, ...deps },
      run,
      notice("warning", "The answer is cut off: it reached the model's length limit twice. Resume to let it go on.", "resume"),
      message,
    );
  }
  run.continuedAfterLimit = true;
  store.addMessage({
    questId: run.questId,
    role: "user",
    parts: [notice("info", "The answer reached the model's length limit; it goes on.")],
    turn: {
      kind: "user",
      content: [{ type: "text", text: "[Your answer reached the length limit. Continue exactly where you stopped.]" }],
    },
  });
  return null;
}

/** Calls a run before this one left, with the owner still to be asked or behind such a one: they are made now. */
async function finishPendingCalls(deps: LoopDeps, run: Run, trace: Trace): Promise<Outcome | null> {
  const stored = deps.store.messages(run.questId).findLast(({ message }) => message.parts.some(isUnfinished));
  if (stored === undefined) return null;
  const { message, turn } = stored;
  if (turn?.kind !== "assistant") {
    dropCalls(message, new Set(message.parts.filter(isUnfinished).map((part) => part.callId)));
    deps.store.saveMessage(message);
    return null;
  }
  const open = new Set(message.parts.filter(isUnfinished).map((part) => part.callId));
  const altered = new Set(turn.altered.filter((id) => open.has(id)));
  dropCalls(message, altered, "not run: its arguments held a secret, which is not stored; make the call again");
  const calls = turn.content.flatMap((item) =>
    item.type === "tool_call" && open.has(item.id) && !altered.has(item.id) ? [{ id: item.id, name: item.name, args: item.args }] : [],
  );
  message.open = true;
  deps.store.saveMessage(message);
  return makeCalls(deps, run, message, calls, deps.store.quest(run.questId), trace.parentId ?? run.receiptId);
}

/** Ids as the model gave them, made unique within the answer; malformed calls stand in it without arguments. */
function withUniqueCalls(done: Done): { content: AssistantContent[]; calls: PendingCall[] } {
  const seen = new Set<string>();
  const malformed = new Set(done.malformed.map(({ id }) => id));
  const calls: PendingCall[] = [];
  const content = done.content.map((item): AssistantContent => {
    if (item.type !== "tool_call") return item;
    let { id } = item;
    for (let copy = 2; seen.has(id); copy += 1) id = `${item.id}-${String(copy)}`;
    seen.add(id);
    if (!malformed.has(id)) calls.push({ id, name: item.name, args: item.args });
    return { ...item, id };
  });
  for (const { id, name } of done.malformed) if (!seen.has(id)) content.push({ type: "tool_call", id, name, args: {} });
  return { content: content.filter((item) => item.type === "tool_call" || item.text.trim() !== "" || "replay" in item), calls };
}

function toParts(content: readonly AssistantContent[], calls: readonly PendingCall[], done: Done, redactor: Redactor): Part[] {
  const cutOff = done.stop === "max_tokens";
  return content.flatMap((item): Part[] => {
    if (item.type !== "tool_call") return item.text.trim() === "" ? [] : [{ type: item.type, text: item.text }];
    const call = calls.find(({ id }) => id === item.id);
    if (call !== undefined) return [queuedPart(call, redactor)];
    const raw = done.malformed.find(({ id }) => id === item.id)?.raw ?? "";
    const why = cutOff ? "they were cut off by the length limit; make the call smaller" : "they were not a JSON object";
    return [
      {
        ...queuedPart({ id: item.id, name: item.name, args: {} }, redactor),
        status: "failure",
        output: `The arguments of this call could not be read: ${why}. Nothing was done. They began: ${redactor.text(raw.slice(0, 200)).text}`,
      },
    ];
  });
}

function lastRequest(turns: readonly Extract<ContextMessage, { role: "user" }>["content"][]): string {
  return (turns.at(-1) ?? []).map((item) => (item.type === "text" && item.attached !== true ? item.text : "")).join("\n");
}
