import { addUsage, type Message, type Part, type Quest, type ToolPart } from "../contract/chat.ts";
import type { Trace } from "../context/context.ts";
import type { AssistantContent, ModelEvent } from "../models/models.ts";
import type { Redactor } from "../security/security.ts";
import {
  addRunUsage,
  fail,
  isUnfinished,
  maxCallsPerAnswer,
  maxPrompts,
  maxSameFailures,
  notice,
  type Notice,
  type Outcome,
  protectContent,
  type Run,
  type TurnDeps,
} from "../quests/quests.ts";
import { escalate } from "./turn-routing.ts";
import { enforceTone } from "./answer-checks.ts";
import { checkAnswer } from "./checked-answer.ts";
import { reportTool, showReport, withoutEarlyReport } from "./outcome-report.ts";
import { writePatiently } from "./patient-write.ts";
import { dropCalls, type PendingCall, queuedPart, runToolCalls, type StopReason } from "./tool-calls.ts";

type Done = Extract<ModelEvent, { type: "done" }>;

/** Stores the answer and makes its tool calls. @returns null to continue the loop, else the outcome of the run */
export async function useAnswer(
  deps: TurnDeps,
  run: Run,
  message: Message,
  done: Done,
  quest: Quest,
  { turnId, small }: { readonly turnId: string; readonly small: boolean },
): Promise<Outcome | null> {
  const { store, redactor } = deps;
  const { content, calls } = withUniqueCalls(done);
  const safe = protectContent(content, redactor);
  message.parts = toParts(safe.content, calls, done, redactor);
  if (message.parts.some((part) => part.type === "text" || part.type === "tool")) run.answered = true;
  const refused = done.stop === "refused";
  message.open = calls.length > 0;
  await writePatiently(deps.emit, message, run.controller.signal, () =>
    store.transaction(() => {
      const { usage } = store.quest(run.questId);
      store.patch(run.questId, {
        usage: addUsage(usage, done.usage),
        ...(run.promptSize === undefined ? {} : { context: run.promptSize }),
      });
      addRunUsage(store, run, done.usage);
      const cut = refused ? "failed" : null;
      store.saveMessage(
        message,
        safe.content.length === 0 ? null : { kind: "assistant", content: safe.content, cut, altered: safe.altered },
      );
    }),
  );

  if (refused) {
    return fail(
      deps,
      run,
      notice("warning", "The model declined to answer. Rephrase the request, or choose another model.", "choose_model"),
      message,
    );
  }
  const [first] = calls;
  const reports = first?.name === reportTool && calls.length === 1 && done.malformed.length === 0;
  if (calls.length > 0 || done.malformed.length > 0) {
    const repeated = (await countMalformed(run, message, done)) ?? (await makeCalls(deps, run, message, calls, quest, turnId));
    if (repeated !== null || !reports || !showReport(deps, run, message, safe.content)) return repeated;
  }
  if (done.stop === "max_tokens") return continueAfterLimit(deps, run, message);
  if (!message.parts.some((part) => part.type === "text")) return acceptSilence(deps, run, message);
  const tone = deps.governance.tone();
  if (tone !== null && enforceTone(deps, run, message, tone, turnId)) return null;
  checkAnswer(deps, run, message, { turnId, small, mode: quest.mode });
  return null;

  async function countMalformed(run: Run, message: Message, { malformed }: Done): Promise<Outcome | null> {
    for (const { name, raw, id } of malformed) {
      const part = message.parts.find((candidate): candidate is ToolPart => candidate.type === "tool" && candidate.callId === id);
      if (part !== undefined && run.failures.count(name, raw, "malformed") >= maxSameFailures) {
        dropCalls(message, new Set(calls.map((call) => call.id)), "not run: the task was stopped");
        return stopRepeated(deps, run, message, part);
      }
    }
    return null;
  }
}

/** An empty answer is fine after work or a review, but a failure as the only answer to a request. */
async function acceptSilence(deps: TurnDeps, run: Run, message: Message): Promise<Outcome | null> {
  const request = deps.store.messages(run.questId).findLast((stored) => stored.message.role === "user");
  if (!run.answered && request?.message.parts.some((part) => part.type === "text") === true) {
    const stronger = await escalate(run, "returned no answer");
    if (stronger !== null) return continueWith(deps, message, stronger);
    return fail(
      deps,
      run,
      notice("warning", "The model returned no answer. Resume to try again, or choose another model.", "resume"),
      message,
    );
  }
  message.parts.push(notice("info", "The model had nothing to add."));
  deps.store.saveMessage(message, { kind: "assistant", content: [{ type: "text", text: "(nothing to add)" }], cut: null, altered: [] });
  return null;
}

async function makeCalls(
  deps: TurnDeps,
  run: Run,
  message: Message,
  all: readonly PendingCall[],
  quest: Quest,
  parentId: string,
): Promise<Outcome | null> {
  const calls = withoutEarlyReport(deps, message, all).slice(0, maxCallsPerAnswer);
  returnExcess(deps, message, all.slice(maxCallsPerAnswer));
  const stops: { part: ToolPart; why: StopReason }[] = [];
  await runToolCalls(deps, message, calls, {
    run,
    mode: run.question ? "question" : run.planning === null ? quest.mode : "plan",
    parentId,
    onStop: (part, why) => {
      stops.push({ part, why });
    },
  });
  run.controller.signal.throwIfAborted();
  const [stop] = stops;
  dropCalls(message, new Set(calls.map((call) => call.id)), stop?.why === "prompts" ? tooManyPrompts : "not run: the task was stopped");
  message.open = false;
  if (run.question) tellHowToGoOn(deps, message);
  if (stop?.why === "prompts") return fail(deps, run, promptsNotice, message);
  if (stop?.why === "repeated") return stopRepeated(deps, run, message, stop.part);
  if (stop !== undefined) return fail(deps, run, unansweredApprovalNotice(stop.part), message);
  deps.store.saveMessage(message);
  return null;
}

/** Tells the user once for each question that changes were denied, and how to go on. */
function tellHowToGoOn({ store }: TurnDeps, message: Message): void {
  const wasDenied = message.parts.some((part) => part.type === "tool" && part.rules.some(({ id }) => id === "mode.question"));
  if (!wasDenied) return;
  const stored = store.messages(message.questId).map((one) => one.message);
  const asked = stored.findLastIndex(({ role, parts }) => role === "user" && parts.some((part) => part.type === "text"));
  const isTold = stored.slice(asked + 1).some(({ parts }) => parts.some((part) => part.type === "notice" && part.text === lookedOnly.text));
  if (!isTold) message.parts.push(lookedOnly);
}

const lookedOnly = notice("info", "Your message was read as a question, so nothing was changed. To make the change, answer “do it”.");

/** The model learns from the result of each call, and the user from a notice, that an answer made too many. */
function returnExcess({ store }: TurnDeps, message: Message, excess: readonly PendingCall[]): void {
  if (excess.length === 0) return;
  const limit = String(maxCallsPerAnswer);
  const output = `not run: one answer may make at most ${limit} calls; look at the results of the first ${limit}, then make the calls that are still needed`;
  dropCalls(message, new Set(excess.map((call) => call.id)), output);
  const count = excess.length.toLocaleString("en-US");
  message.parts.push(
    notice(
      "warning",
      `The model made more than ${limit} tool calls at once. Lancelot returned ${count} of them to it without running them.`,
    ),
  );
  store.saveMessage(message);
}

const tooManyPrompts = `not run: this task has asked the user ${String(maxPrompts)} times, which is its limit; ask less often, and put related questions into one`;
const promptsNotice = notice(
  "warning",
  `Stopped: this task has asked you ${String(maxPrompts)} times. Resume to allow ${String(maxPrompts)} more questions, or tell Lancelot to ask less often.`,
  "resume",
);

/** After three identical failures: escalates to a stronger model once, else stops the task. */
async function stopRepeated(deps: TurnDeps, run: Run, message: Message, part: ToolPart): Promise<Outcome | null> {
  const stronger = await escalate(run, `failed three times with the same error (${part.tool})`);
  return stronger === null ? fail(deps, run, repeatedNotice(part), message) : continueWith(deps, message, stronger);
}

/** Shows why another model continues the task. */
function continueWith({ store }: TurnDeps, message: Message, reason: Notice): null {
  message.parts.push(reason);
  store.saveMessage({ ...message, open: false });
  return null;
}

function repeatedNotice(part: ToolPart): Notice {
  const reason = (part.output ?? "").split("\n")[0]?.slice(0, 200) ?? "";
  return notice(
    "warning",
    `Stopped: ${part.tool} failed three times with the same error (${reason}). Tell Lancelot what to do differently, or resume to try again.`,
    "resume",
  );
}

/** The notice after an approval request expired and the soul stops the task in that case. */
export function unansweredApprovalNotice(part: ToolPart): Notice {
  return notice(
    "warning",
    `Stopped: the approval request for "${part.title}" expired, and your soul stops the task in that case. Resume to be asked again.`,
    "resume",
  );
}

function continueAfterLimit({ store, ...deps }: TurnDeps, run: Run, message: Message): Outcome | null {
  if (run.continuedAfterLimit) {
    return fail(
      { store, ...deps },
      run,
      notice("warning", "The answer is cut off because it reached the model's length limit twice. Resume to continue it.", "resume"),
      message,
    );
  }
  run.continuedAfterLimit = true;
  store.addMessage({
    questId: run.questId,
    role: "user",
    parts: [notice("info", "The answer reached the model's length limit. The model continues it.")],
    turn: {
      kind: "user",
      content: [{ type: "text", text: "[Your answer reached the length limit. Continue exactly where you stopped.]" }],
    },
  });
  return null;
}

/** Makes the calls that an earlier run left pending: those that waited for the user, and those queued behind them. */
export async function finishPendingCalls(deps: TurnDeps, run: Run, trace: Trace): Promise<Outcome | null> {
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
  dropCalls(message, altered, "not run: its arguments contained a secret, which is not stored; make the call again");
  const calls = turn.content.flatMap((item) =>
    item.type === "tool_call" && open.has(item.id) && !altered.has(item.id) ? [{ id: item.id, name: item.name, args: item.args }] : [],
  );
  message.open = true;
  deps.store.saveMessage(message);
  return makeCalls(deps, run, message, calls, deps.store.quest(run.questId), trace.parentId ?? run.receiptId);
}

/** Makes the call ids of the model unique within the answer. Malformed calls remain in it without arguments. */
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
    const problem = cutOff ? "they were cut off by the length limit; make the call smaller" : "they were not a JSON object";
    return [
      {
        ...queuedPart({ id: item.id, name: item.name, args: {} }, redactor),
        status: "failure",
        output: `The arguments of this call could not be parsed: ${problem}. The call was not made. The arguments began: ${redactor.text(raw.slice(0, 200)).text}`,
      },
    ];
  });
}
