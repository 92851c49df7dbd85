import type { Message, PlanStep, ToolPart, WaitingFor } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import type { ActionMode } from "../contract/governance.ts";
import type { Log, Redactor } from "../security/security.ts";
import type { ToolOutcome, Tools } from "../tools/tools.ts";
import type { ChangeReview } from "../workspace/workspace.ts";
import {
  countCall,
  hasOpenChanges,
  interruptedOutput,
  maxPrompts,
  maxSameFailures,
  type QuestStore,
  type Run,
  type Spawn,
} from "../quests/quests.ts";
import { createLiveOutput } from "./live-output.ts";
import { writePatiently } from "./patient-write.ts";
import { runInOrder } from "./side-by-side.ts";
import { untilReviewed } from "./review-wait.ts";

/** A call with the complete arguments of the model, which its stored card may truncate. */
export interface PendingCall {
  id: string;
  name: string;
  args: Record<string, unknown>;
}

/** Maximum number of concurrent reads. */
const parallelReads = 6;
/** Bytes of the arguments that a card shows. The receipt and the diff show the rest. */
const cardBytes = 20_000;

interface Deps {
  store: QuestStore;
  tools: Tools;
  changes: ChangeReview;
  redactor: Redactor;
  emit: Emit;
  canAsk: boolean;
  spawn: Spawn | null;
  log: Log;
}

/** The card of a queued call. */
export function queuedPart(call: PendingCall, redactor: Redactor): ToolPart {
  return {
    type: "tool",
    callId: call.id,
    tool: call.name,
    args: redactor.value(call.args, cardBytes),
    title: call.name,
    status: "queued",
    tier: null,
    verdict: null,
    rules: [],
    output: null,
    durationMs: null,
    receiptId: null,
    approvalId: null,
    changeId: null,
  };
}

/** Why the calls stop the loop. */
export type StopReason = "repeated" | "unanswered" | "prompts";

export interface CallContext {
  run: Run;
  mode: ActionMode;
  parentId: string;
  /** Called when the loop must stop: a call failed repeatedly, the task asked the user too often, or an approval request expired and the soul stops the task then. */
  onStop: (part: ToolPart, why: StopReason) => void;
}

/**
 * Makes the calls of one answer: concurrently when all are reads (T0), else one after the other in the order of the model. Each call
 * is stored as running before it is made, so that the state after a crash shows which calls had started. Stops early when the run ends
 * or a failure repeats.
 */
export async function runToolCalls(deps: Deps, message: Message, calls: readonly PendingCall[], context: CallContext): Promise<void> {
  const infos = new Map(deps.tools.list().map((tool) => [tool.name, tool]));
  const readsOnly = calls.every(({ name }) => infos.get(name)?.baseTier === "T0" && infos.get(name)?.capability !== "quest");
  let stop = false;
  const once = async (call: PendingCall): Promise<void> => {
    if (stop || context.run.controller.signal.aborted) return;
    if (context.run.prompts >= maxPrompts) {
      stop = true;
      const part = partOf(message, call);
      if (part !== undefined) context.onStop(part, "prompts");
      return;
    }
    countCall(context.run);
    await runOne(deps, message, call, {
      ...context,
      onStop: (part, why) => {
        stop = true;
        context.onStop(part, why);
      },
    });
  };
  if (!readsOnly) return runInOrder(calls, once);
  const queue = [...calls];
  const worker = async (): Promise<void> => {
    for (let call = queue.shift(); call !== undefined; call = queue.shift()) await once(call);
  };
  await Promise.all(Array.from({ length: Math.min(parallelReads, calls.length) }, worker));
}

function partOf(message: Message, { id }: PendingCall): ToolPart | undefined {
  return message.parts.find((candidate): candidate is ToolPart => candidate.type === "tool" && candidate.callId === id);
}

async function runOne(
  { store, tools, changes, redactor, emit, canAsk, spawn, log }: Deps,
  message: Message,
  call: PendingCall,
  context: CallContext,
): Promise<void> {
  const { run } = context;
  const part = partOf(message, call);
  if (part === undefined) return;
  const { signal } = run.controller;
  await store.ready(signal);

  const liveOutput = createLiveOutput({ part, message, store, emit, ended: () => run.ended });
  const update = (card: Partial<ToolPart>): void => {
    if (run.ended) return;
    Object.assign(part, card, { type: "tool", callId: call.id });
    // Stored before the task becomes `waiting`, so that after a crash in between the call is known not to have run.
    store.saveMessage(message);
    if (part.status === "waiting" && part.approvalId !== null) {
      wait({ kind: "approval", id: part.approvalId });
    } else if (part.status !== "waiting") {
      noWait();
    }
  };
  const wait = (waitingFor: WaitingFor): void => {
    if (waitingFor.kind !== "review" && !run.waits.has(call.id)) run.prompts += 1;
    run.waits.set(call.id, waitingFor);
    const { quest } = store.stored(run.questId);
    if (quest.waitingFor === null) store.patch(run.questId, { status: "waiting", waitingFor });
  };
  const noWait = (): void => {
    if (!run.waits.delete(call.id)) return;
    const [next] = run.waits.values();
    store.patch(run.questId, next === undefined ? { status: "active", waitingFor: null } : { waitingFor: next });
  };
  const askOwner = async (question: string, options: readonly string[] | undefined, asked: AbortSignal): Promise<string> => {
    const earlier = store.stored(run.questId).answer;
    if (earlier?.callId === call.id) return earlier.answer;
    const shown = redactor.text(question).text;
    update({ status: "waiting" });
    wait({ kind: "answer", id: call.id, question: shown, ...(options === undefined ? {} : { options: [...options] }) });
    try {
      return await new Promise<string>((resolve, reject) => {
        const cancelled = (): void => reject(new LancelotError("cancelled", "The question was withdrawn."));
        if (asked.aborted) return cancelled();
        asked.addEventListener("abort", cancelled, { once: true });
        run.questions.set(call.id, (answer) => {
          asked.removeEventListener("abort", cancelled);
          resolve(answer);
        });
      });
    } finally {
      run.questions.delete(call.id);
      update({ status: "running" });
    }
  };
  /** Waits until the user has reviewed all proposed changes, because the call needs them on disk. */
  const settleReview = async (asked: AbortSignal): Promise<void> => {
    if (!hasOpenChanges(changes, run.questId)) return;
    update({ status: "waiting" });
    wait({ kind: "review", id: call.id });
    try {
      await untilReviewed(changes, run.questId, asked);
    } finally {
      update({ status: "running" });
    }
  };
  const updatePlan = (steps: readonly PlanStep[]): void => {
    if (run.ended) return;
    store.patch(run.questId, { plan: steps.map((step) => ({ ...step, title: redactor.text(step.title).text })) });
  };

  update({ status: "running", output: null, approvalId: null });
  const started = performance.now();
  let outcome: ToolOutcome;
  try {
    outcome = await tools.invoke({
      tool: call.name,
      args: call.args,
      callId: call.id,
      quest: run.questId,
      parent: context.parentId,
      actor: "agent",
      mode: context.mode,
      signal,
      ...(run.subtask === null ? {} : { soulScope: run.subtask.soulScope }),
      ...(canAsk ? { askOwner, settleReview } : {}),
      ...(spawn === null ? {} : { spawn: (request) => spawn(run, request) }),
      updatePlan,
      ...(run.planning === null ? {} : { proposePlan: run.planning.propose }),
      onUpdate: update,
      onOutput: liveOutput.add,
    });
    liveOutput.end();
  } catch (error) {
    liveOutput.end();
    if (signal.aborted) return;
    if (!(error instanceof LancelotError)) log(`${call.name} failed`, error);
    const text = error instanceof LancelotError ? error.message : "The tool failed because of an internal error. The log has details.";
    outcome = { text, isError: true, receiptId: part.receiptId, changeId: null, card: { status: "failure" } };
  }
  await store.ready(signal);
  if (run.ended) return;
  const save = (): void => {
    const { card } = outcome;
    update({
      ...card,
      status: card.status === undefined || isOpen(card.status) ? (outcome.isError ? "failure" : "success") : card.status,
      output: outcome.text,
      durationMs: card.durationMs ?? Math.round(performance.now() - started),
      receiptId: outcome.receiptId ?? card.receiptId ?? part.receiptId,
      changeId: outcome.changeId ?? card.changeId ?? part.changeId,
    });
    if (store.stored(run.questId).answer?.callId === call.id) store.patch(run.questId, { answer: null });
  };
  await writePatiently(emit, message, signal, () => store.transaction(save));
  if (outcome.error?.data?.["escalation"] === "stop_task") context.onStop(part, "unanswered");
  else if (outcome.isError && run.failures.count(call.name, call.args, outcome.text) >= maxSameFailures) context.onStop(part, "repeated");
}

function isOpen(status: ToolPart["status"]): boolean {
  return status === "queued" || status === "waiting" || status === "running";
}

/** Cancels calls that can no longer be made. `output` is the reason for the model and the user. */
export function dropCalls(message: Message, ids: ReadonlySet<string>, output: string = interruptedOutput): void {
  for (const part of message.parts) {
    if (part.type === "tool" && ids.has(part.callId) && isOpen(part.status)) {
      part.status = "cancelled";
      part.output = output;
    }
  }
}
