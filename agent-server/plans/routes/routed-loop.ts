import type { Message } from "../../contract/chat.ts";
import { type Run, type RouteName, type RunLoop, type TurnDeps, userText, withoutCrusader } from "../../quests/quests.ts";
import { noPlanMark, type PlanLoop } from "../plan-loop.ts";
import { isUndecided, type PlanStore } from "../plan-store.ts";
import { type AskIntent } from "./intent-question.ts";
import { type RequestRoute, routeByModel, routeByRules } from "./request-route.ts";

export interface RoutedLoopDeps {
  /** Carries on a plan that runs, and plans in plan mode. */
  readonly runLoop: RunLoop;
  readonly planLoop: PlanLoop;
  readonly store: Pick<PlanStore, "get" | "runningOf">;
  /** UNIFIED_CLASSIFICATION. Off: every request takes the agentic loop. */
  readonly isEnabled: () => boolean;
  readonly askIntent: AskIntent;
}

/**
 * The loop of a run by the route of the message that started it (requirements A1, A2). A run that continues (a resume, a finished
 * review) keeps the route of its last message; that is decided only if the run before ended before it was.
 */
export function createRoutedLoop({ runLoop, planLoop, store, isEnabled, askIntent }: RoutedLoopDeps): RunLoop {
  return async (deps, run, conclude) => {
    // A sub-task works on the goal that its task gave it, and looks only where its task does.
    if (run.subtask !== null) return runLoop(deps, run, conclude);
    const { mode } = deps.store.quest(run.questId);
    const route = isEnabled() && mode === "normal" ? await routeOf(deps, run, askIntent) : "loop";
    // A plan that the owner runs or resumes is no answer to a question that came in between.
    const carriesOn = run.startMessageId === null && store.runningOf(run.questId) !== null;
    run.question = route === "answer" && !carriesOn;
    const plans = (route === "plan" || route === "plan-run") && !isPlanned(deps, run, store);
    if (plans) return planLoop(deps, run, conclude, { thenRun: route === "plan-run" });
    return runLoop(deps, run, conclude);
  };
}

/**
 * True for a run that continues after planning: the plan's own state says what is left of it, or there is none. A plan that still waits
 * for its approval belongs to planning that was interrupted, so that nothing is executed before it.
 */
function isPlanned({ store }: TurnDeps, run: Run, plans: RoutedLoopDeps["store"]): boolean {
  if (run.startMessageId !== null) return false;
  const messages = store.messages(run.questId);
  const at = messages.findLastIndex(({ message, turn }) => turn?.kind === "user" && userText(message) !== "");
  const later = messages.slice(at + 1);
  const shown = later.flatMap(({ message }) => message.parts).findLast((part) => part.type === "plan");
  if (shown !== undefined) return !isUndecided(plans.get(shown.planId));
  return later.some(
    ({ turn }) => turn?.kind === "user" && turn.content.some((item) => item.type === "text" && item.text.startsWith(noPlanMark)),
  );
}

/** False while a run may have ended before the route of its message was decided, such as one that waited in the queue. */
function hasAnswer(messages: ReturnType<TurnDeps["store"]["messages"]>): boolean {
  return messages.some(
    ({ message }) => message.role === "assistant" && message.parts.some(({ type }) => type === "text" || type === "tool"),
  );
}

async function routeOf(deps: TurnDeps, run: Run, askIntent: AskIntent): Promise<RouteName> {
  const { store } = deps;
  const messages = store.messages(run.questId);
  const at = messages.findLastIndex(({ message, turn }) => turn?.kind === "user" && userText(message) !== "");
  const stored = messages[at];
  if (stored?.turn?.kind !== "user") return "loop";
  const { route } = stored.turn;
  if (run.startMessageId === null && (route !== undefined || hasAnswer(messages.slice(at + 1)))) return route ?? "loop";
  try {
    const decided = await decide(deps, run, stored.message, askIntent);
    // It may have been changed or removed while a model was asked.
    const now = store.message(stored.message.id);
    if (now?.turn?.kind === "user" && decided.route !== "loop") {
      await deps.ledger.ready(run.controller.signal);
      store.keepTurn(stored.message.id, { ...now.turn, route: decided.route });
    }
    return decided.route;
  } catch (error) {
    run.controller.signal.throwIfAborted();
    // The loop itself reports what is broken, such as a locked database.
    deps.log("could not decide the route of a request", error);
    return "loop";
  }
}

/** Decides the route of a message, with a receipt that says why. */
async function decide(deps: TurnDeps, run: Run, message: Message, askIntent: AskIntent): Promise<RequestRoute> {
  const { ledger, redactor } = deps;
  const { questId } = run;
  const text = withoutCrusader(userText(message));
  const ruled = routeByRules(text);
  await ledger.ready(run.controller.signal);
  const receipt = {
    actionType: "system",
    actionName: "route",
    inputs: { messageId: message.id },
    riskTier: "T0",
    cognitionTier: "CLASSIFICATION",
    questId,
    parentId: run.receiptId,
  } as const;
  const outputsOf = ({ route, intent, why }: RequestRoute, method: string) => ({ route, intent, why: redactor.text(why).text, method });
  if (ruled.isCertain) {
    ledger.record(receipt, { status: "success", outputs: outputsOf(ruled, "rules") });
    return ruled;
  }
  const parentId = ledger.open(receipt);
  let chosen: RequestRoute = ruled;
  let method = "rules";
  try {
    const { told, local } = await askIntent(deps, text, { questId, parentId, signal: run.controller.signal });
    if (local !== null) run.classified = { messageId: message.id, intent: local };
    if (told !== null) [chosen, method] = [routeByModel(text, told), "model"];
  } finally {
    await ledger.ready().catch(() => undefined);
    ledger.close(parentId, {
      status: run.controller.signal.aborted ? "cancelled" : "success",
      outputs: outputsOf(chosen, method),
    });
  }
  return chosen;
}
