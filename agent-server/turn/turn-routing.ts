import type { Message } from "../contract/chat.ts";
import { type Route, type TaskType, taskTypeOf } from "../models/models.ts";
import {
  createFailureCounter,
  notice,
  type Notice,
  userText,
  type QuestStore,
  type Run,
  type RunRouting,
  type TurnDeps,
  withoutCrusader,
} from "../quests/quests.ts";

type Deps = Pick<TurnDeps, "store" | "models" | "classify">;

/** The first token waits no longer than this (ms) for the intent classifier; without its answer, rules decide. */
const classifyTimeoutMs = 400;

/**
 * The route of a run's next call. The kind of work is determined once for each message of the user.
 * @throws LancelotError `unavailable` with the next step when nothing can answer
 */
export async function routeStep(deps: Deps, run: Run): Promise<Route> {
  const { store, models } = deps;
  const { override } = store.quest(run.questId);
  const request = lastRequest(store, run.questId);
  const before = run.routing;
  const hasSameOverride = before !== null && JSON.stringify(before.override) === JSON.stringify(override);
  const routing: RunRouting =
    before !== null && before.messageId === request?.id && hasSameOverride
      ? before
      : {
          messageId: request?.id ?? "",
          type: run.planning === null ? await typeOf(deps, run) : "plan",
          text: request === undefined ? "" : withoutCrusader(userText(request)),
          override,
          // A new choice of the user starts a new sequence; a new message may move a running loop up a lane, never down.
          routes: hasSameOverride ? before.routes : models.routes(),
        };
  run.routing = routing;
  return routing.routes.next({ type: routing.type, text: routing.text, override });
}

/**
 * After a failed step: continues the task with another model where there is one. The chat shows what failed, and the text of the failed
 * attempt is discarded.
 * @param message the answer that failed, still open; absent when it was not begun
 * @returns null when the task continues, otherwise the error that ends the run
 */
export async function failOver(deps: Deps, run: Run, error: unknown, message?: Message): Promise<unknown> {
  let next: Route;
  try {
    if (run.routing === null) return error;
    next = await run.routing.routes.failover(error);
  } catch (final) {
    return final;
  }
  run.controller.signal.throwIfAborted();
  const part = switchModel(run, next);
  if (message === undefined) deps.store.addMessage({ questId: run.questId, role: "assistant", parts: [part] });
  else {
    const { answeredBy: _, ...rest } = message;
    deps.store.saveMessage({ ...rest, parts: [part], open: false }, null);
  }
  return null;
}

/**
 * After unusable answers (the same call failing again and again, or no text at all): lets a stronger model continue. The conversation
 * stays. @returns null when there is none
 */
export async function escalate(run: Run, problem: string): Promise<Notice | null> {
  const next = (await run.routing?.routes.escalate(problem)) ?? null;
  run.controller.signal.throwIfAborted();
  return next === null ? null : switchModel(run, next);
}

function switchModel(run: Run, next: Route): Notice {
  // The failures of one model say nothing about the next.
  run.failures = createFailureCounter();
  return notice("warning", next.notice ?? next.rationale);
}

function lastRequest(store: QuestStore, questId: string): Message | undefined {
  return requests(store, questId).at(-1);
}

function requests(store: QuestStore, questId: string): Message[] {
  return store.messages(questId).flatMap(({ message, turn }) => (turn?.kind === "user" && userText(message) !== "" ? [message] : []));
}

/**
 * By rules, and by the intent classifier where they are unspecific. A follow-up has the type of the request before it; earlier messages
 * are typed by rules only, so that nothing is classified twice.
 */
async function typeOf(deps: Deps, run: Run): Promise<TaskType> {
  const asked = requests(deps.store, run.questId);
  const messages = asked.map((message) => withoutCrusader(userText(message)));
  const text = messages.at(-1) ?? "";
  const before = messages.slice(0, -1).reduce<TaskType | null>((type, earlier) => taskTypeOf({ text: earlier, before: type }), null);
  const byRules = taskTypeOf({ text, before });
  if (deps.classify === undefined || !unspecific.has(byRules)) return byRules;
  const { signal } = run.controller;
  if (run.classified !== null && run.classified.messageId === asked.at(-1)?.id)
    return taskTypeOf({ text, before, intent: run.classified.intent });
  const intent = await deps
    .classify(
      { text },
      { questId: run.questId, parentId: run.receiptId, signal: AbortSignal.any([signal, AbortSignal.timeout(classifyTimeoutMs)]) },
    )
    .catch(() => null);
  signal.throwIfAborted();
  return taskTypeOf({ text, before, intent });
}

/** Types that the intent classifier may refine. */
const unspecific: ReadonlySet<TaskType> = new Set(["chat", "question", "edit"]);
