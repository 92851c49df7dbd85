import type { Message } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
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

/** How long (ms) the intent classifier may delay the answer. Rules classify the request after that. */
const classifyTimeoutMs = 400;

/**
 * Chooses the route of the next model call. Each message of the user is classified once.
 * @throws LancelotError `unavailable` with the next step when no model can answer
 */
export async function routeStep(deps: Deps, run: Run): Promise<Route> {
  const { store, models } = deps;
  const { override } = store.quest(run.questId);
  const request = lastRequest(store, run.questId);
  const before = run.routing;
  const sameChoice = before !== null && JSON.stringify(before.override) === JSON.stringify(override);
  const routing: RunRouting =
    before !== null && before.messageId === request?.id && sameChoice
      ? before
      : {
          messageId: request?.id ?? "",
          type: await typeOf(deps, run),
          text: request === undefined ? "" : withoutCrusader(userText(request)),
          override,
          // A new override resets the route. A further message to a running loop may raise its lane, but never lower it.
          route: sameChoice ? before.route : null,
          next: sameChoice ? before.next : null,
        };
  run.routing = routing;
  const { type, text } = routing;
  const route = routing.next ?? (await models.route({ type, text, override }, routing.route));
  routing.route = route;
  routing.next = null;
  return route;
}

/**
 * Switches to another model after a step failed, if one is available. Replaces the streamed text of the failed answer by the reason.
 * @param message the failed answer, still open; absent when none was started
 * @returns null after the switch, else the error that ends the run
 */
export async function failOver(deps: Deps, run: Run, route: Route, error: unknown, message?: Message): Promise<unknown> {
  let next: Route | null;
  try {
    next = await deps.models.reroute(route, error);
  } catch (rerouteError) {
    return rerouteError;
  }
  run.controller.signal.throwIfAborted();
  if (next === null) return error;
  const reason = switchModel(run, next);
  if (message === undefined) deps.store.addMessage({ questId: run.questId, role: "assistant", parts: [reason] });
  else {
    const { answeredBy: _, ...rest } = message;
    deps.store.saveMessage({ ...rest, parts: [reason], open: false }, null);
  }
  return null;
}

/**
 * Switches to a stronger model after unusable answers (repeated identical failures, or an empty answer). The conversation is kept.
 * @returns the reason for the chat; null when no stronger model is available
 */
export async function escalate({ models }: Deps, run: Run, problem: string): Promise<Notice | null> {
  const route = run.routing?.route;
  if (route === undefined || route === null) return null;
  const cause = new LancelotError("unavailable", problem, { data: { reason: "answer" } });
  const next = await models.reroute(route, cause).catch(() => null);
  run.controller.signal.throwIfAborted();
  return next === null ? null : switchModel(run, next);
}

function switchModel(run: Run, next: Route): Notice {
  if (run.routing !== null) run.routing.next = next;
  // The failures of one model say nothing about the next one.
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
 * The task type of the last request, by rules and, where they are not specific, by the intent classifier. A follow-up keeps the type of
 * the request before it. Earlier requests are classified only by rules, so that no request is classified by a model twice.
 */
async function typeOf(deps: Deps, run: Run): Promise<TaskType> {
  const messages = requests(deps.store, run.questId).map((message) => withoutCrusader(userText(message)));
  const text = messages.at(-1) ?? "";
  const before = messages.slice(0, -1).reduce<TaskType | null>((type, earlier) => taskTypeOf({ text: earlier, before: type }), null);
  const byRules = taskTypeOf({ text, before });
  if (deps.classify === undefined || !unspecific.has(byRules)) return byRules;
  const { signal } = run.controller;
  const intent = await deps
    .classify(
      { text },
      { questId: run.questId, parentId: run.receiptId, signal: AbortSignal.any([signal, AbortSignal.timeout(classifyTimeoutMs)]) },
    )
    .catch(() => null);
  signal.throwIfAborted();
  return taskTypeOf({ text, before, intent });
}

/** Task types that are not specific, so that the intent classifier is asked too. */
const unspecific: ReadonlySet<TaskType> = new Set(["chat", "question", "edit"]);
