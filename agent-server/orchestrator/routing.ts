import type { Message } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { ModelOverride } from "../contract/router.ts";
import { type Route, type TaskType, taskTypeOf } from "../models/models.ts";
import { withoutCrusader } from "./crusader.ts";
import type { LoopDeps } from "./loop-deps.ts";
import { type Notice, notice } from "./notices.ts";
import { ownersText } from "./quest-page.ts";
import type { Run } from "./quest-run.ts";
import type { QuestStore } from "./quest-store.ts";
import { createFailureCounter } from "./stop-rules.ts";

/** Where the calls of a run go. */
export interface Routing {
  /** The owner's message it was decided for, its type and words. */
  readonly messageId: string;
  readonly type: TaskType;
  readonly text: string;
  readonly override: ModelOverride | undefined;
  /** Of the last step: a tool loop that goes on keeps its lane. */
  route: Route | null;
  /** Decided for the next step already, since the last one failed. */
  next: Route | null;
}

type Deps = Pick<LoopDeps, "store" | "models">;

/**
 * Where the next call of a run goes. What kind of work it is, is found once for each message of the owner and kept.
 * @throws LancelotError `unavailable` with the next step when nothing can answer
 */
export async function routeStep({ store, models }: Deps, run: Run): Promise<Route> {
  const { override } = store.quest(run.questId);
  const asked = lastAsked(store, run.questId);
  const before = run.routing;
  const sameChoice = before !== null && JSON.stringify(before.override) === JSON.stringify(override);
  const routing: Routing =
    before !== null && before.messageId === asked?.id && sameChoice
      ? before
      : {
          messageId: asked?.id ?? "",
          type: typeOf(store, run.questId),
          text: asked === undefined ? "" : withoutCrusader(ownersText(asked)),
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
export async function goOnElsewhere(deps: Deps, run: Run, route: Route, error: unknown, message?: Message): Promise<unknown> {
  let next: Route | null;
  try {
    next = await deps.models.reroute(route, error);
  } catch (instead) {
    return instead;
  }
  run.controller.signal.throwIfAborted();
  if (next === null) return error;
  const words = takeOver(run, next);
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
export async function askStronger({ models }: Deps, run: Run, why: string): Promise<Notice | null> {
  const route = run.routing?.route;
  if (route === undefined || route === null) return null;
  const useless = new LancelotError("unavailable", why, { data: { reason: "answer" } });
  const next = await models.reroute(route, useless).catch(() => null);
  run.controller.signal.throwIfAborted();
  return next === null ? null : takeOver(run, next);
}

function takeOver(run: Run, next: Route): Notice {
  if (run.routing !== null) run.routing.next = next;
  // What one model could not do says nothing about the other.
  run.failures = createFailureCounter();
  return notice("warning", next.notice ?? next.rationale);
}

function lastAsked(store: QuestStore, questId: string): Message | undefined {
  return asked(store, questId).at(-1);
}

function asked(store: QuestStore, questId: string): Message[] {
  return store.messages(questId).flatMap(({ message, turn }) => (turn?.kind === "user" && ownersText(message) !== "" ? [message] : []));
}

/** Words that go on with what was asked before have its type. */
function typeOf(store: QuestStore, questId: string): TaskType {
  return asked(store, questId).reduce<TaskType>(
    (before, message, index) => taskTypeOf({ text: withoutCrusader(ownersText(message)), before: index === 0 ? null : before }),
    "chat",
  );
}
