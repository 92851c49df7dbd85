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

/** The first word is not held up by longer than this to learn what kind of request it answers (ms); words alone tell then. */
const patienceMs = 400;

/**
 * Where the next call of a run goes. What kind of work it is, is found once for each message of the owner and kept.
 * @throws LancelotError `unavailable` with the next step when nothing can answer
 */
export async function routeStep(deps: Deps, run: Run): Promise<Route> {
  const { store, models } = deps;
  const { override } = store.quest(run.questId);
  const asked = lastAsked(store, run.questId);
  const before = run.routing;
  const sameChoice = before !== null && JSON.stringify(before.override) === JSON.stringify(override);
  const routing: RunRouting =
    before !== null && before.messageId === asked?.id && sameChoice
      ? before
      : {
          messageId: asked?.id ?? "",
          type: await typeOf(deps, run),
          text: asked === undefined ? "" : withoutCrusader(userText(asked)),
          override,
          // The owner's choice begins anew; their words to a loop that runs may lift it, never lower it.
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
 * After a step failed: whether the task goes on with another model. What could not be used stands in the chat, and what the failed
 * try streamed is taken back.
 * @param message the answer that failed, still open; absent where none was begun
 * @returns null when it goes on, else the error that ends the run
 */
export async function failOver(deps: Deps, run: Run, route: Route, error: unknown, message?: Message): Promise<unknown> {
  let next: Route | null;
  try {
    next = await deps.models.reroute(route, error);
  } catch (instead) {
    return instead;
  }
  run.controller.signal.throwIfAborted();
  if (next === null) return error;
  const words = switchModel(run, next);
  if (message === undefined) deps.store.addMessage({ questId: run.questId, role: "assistant", parts: [words] });
  else {
    const { answeredBy: _, ...rest } = message;
    deps.store.saveMessage({ ...rest, parts: [words], open: false }, null);
  }
  return null;
}

/**
 * After answers that were of no use (the same call failing again and again, no words at all): whether a stronger model takes over. What
 * was said and done stays. @returns null when none does
 */
export async function escalate({ models }: Deps, run: Run, why: string): Promise<Notice | null> {
  const route = run.routing?.route;
  if (route === undefined || route === null) return null;
  const useless = new LancelotError("unavailable", why, { data: { reason: "answer" } });
  const next = await models.reroute(route, useless).catch(() => null);
  run.controller.signal.throwIfAborted();
  return next === null ? null : switchModel(run, next);
}

function switchModel(run: Run, next: Route): Notice {
  if (run.routing !== null) run.routing.next = next;
  // What one model could not do says nothing about the other.
  run.failures = createFailureCounter();
  return notice("warning", next.notice ?? next.rationale);
}

function lastAsked(store: QuestStore, questId: string): Message | undefined {
  return asked(store, questId).at(-1);
}

function asked(store: QuestStore, questId: string): Message[] {
  return store.messages(questId).flatMap(({ message, turn }) => (turn?.kind === "user" && userText(message) !== "" ? [message] : []));
}

/**
 * By the words, and by the intent lane where they do not tell. Words that go on with what was asked before have its type; what came
 * before is typed by words alone, so that nothing is asked twice.
 */
async function typeOf(deps: Deps, run: Run): Promise<TaskType> {
  const messages = asked(deps.store, run.questId).map((message) => withoutCrusader(userText(message)));
  const text = messages.at(-1) ?? "";
  const before = messages.slice(0, -1).reduce<TaskType | null>((type, words) => taskTypeOf({ text: words, before: type }), null);
  const byWords = taskTypeOf({ text, before });
  if (deps.classify === undefined || !undecided.has(byWords)) return byWords;
  const { signal } = run.controller;
  const intent = await deps
    .classify(
      { text },
      { questId: run.questId, parentId: run.receiptId, signal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]) },
    )
    .catch(() => null);
  signal.throwIfAborted();
  return taskTypeOf({ text, before, intent });
}

/** Types that say little: more is asked of the intent lane. */
const undecided: ReadonlySet<TaskType> = new Set(["chat", "question", "edit"]);
