import type { Problem } from "../context/context.ts";
import type { PlanArtifact, PlannedStep } from "../contract/plans.ts";
import { notice, type Outcome, type Run, type RunLoop, type TurnDeps } from "../quests/quests.ts";
import { readEvidence } from "./evidence.ts";
import { createJudge } from "./judge.ts";
import type { PlanStore } from "./plan-store.ts";
import { runUntilEnd } from "./planner.ts";
import { readTaskFile } from "./task-file.ts";
import { type Finding, verifyStep } from "./verify.ts";

const maxAttempts = 3;

export interface ExecutorDeps {
  readonly plans: PlanStore;
  readonly runLoop: RunLoop;
}

/**
 * Runs the steps of a plan that are not done: each is a sub-goal of the loop, and is verified. A step has three attempts, each told what the
 * last one missed; then the plan ends with a partial result. Every change of state is stored before the next effect, so that a resumed run
 * carries on with the unfinished step. (Requirement A4.)
 */
export async function runPlan(
  { plans, runLoop }: ExecutorDeps,
  deps: TurnDeps,
  run: Run,
  planId: string,
  conclude: (outcome: Outcome) => void,
): Promise<void> {
  const { store } = deps;
  const errorsBefore = await errorsNow(deps, run, plans.get(planId).receiptId);
  for (;;) {
    const plan = plans.get(planId);
    const step = plan.planSteps.find(({ status }) => status !== "done");
    if (step === undefined) break;
    if (step.status !== "active" && step.attempts >= maxAttempts) return conclude(endPartially(plans, deps, run, plan, step));
    const outcome = await runStep({ plans, runLoop }, deps, run, { plan, step, errorsBefore });
    if (outcome !== null) return conclude(outcome);
  }
  plans.patch(planId, { status: "done", nextAction: "Review the proposed changes." });
  store.patch(run.questId, { plan: [] });
  // The loop reads what the user wrote in the meantime, and concludes.
  return runLoop(deps, run, conclude);
}

/** Runs one attempt at a step. @returns null to continue with what is stored, otherwise the outcome of the run */
async function runStep(
  { plans, runLoop }: ExecutorDeps,
  deps: TurnDeps,
  run: Run,
  of: { plan: PlanArtifact; step: PlannedStep; errorsBefore: Problem[] | null },
): Promise<Outcome | null> {
  const { plan, step, errorsBefore } = of;
  const { store, ledger } = deps;
  const { questId } = run;
  const index = plan.planSteps.indexOf(step);
  const isLast = index === plan.planSteps.length - 1;
  const criteria = isLast ? [...step.doneWhen, ...plan.doneWhen] : step.doneWhen;
  const isResumed = step.status === "active";
  const attempts = isResumed ? step.attempts : step.attempts + 1;
  await ledger.ready(run.controller.signal);
  const receiptId = ledger.open({
    actionType: "plan_step",
    actionName: "plan.step",
    inputs: { planId: plan.id, step: step.title, number: index + 1, attempt: attempts },
    riskTier: "T0",
    cognitionTier: "PLANNING",
    questId,
    parentId: plan.receiptId,
  });
  let status: "failure" | "cancelled" = "cancelled";
  let isClosed = false;
  try {
    store.transaction(() => {
      saveStep(plans, deps, plan.id, { ...step, status: "active", attempts, receiptId });
      if (!isResumed || !isLastTold(deps, questId)) {
        store.addMessage({
          questId,
          role: "user",
          parts: [
            notice(
              "info",
              attempts === 1
                ? `Step ${String(index + 1)}: ${step.title}`
                : `Step ${String(index + 1)}, attempt ${String(attempts)}: ${step.title}`,
            ),
          ],
          turn: { kind: "user", content: [{ type: "text", text: stepText(plan, step, index, attempts, criteria) }] },
        });
      }
    });
    run.parentId = receiptId;
    run.turns = 0;
    run.calls = 0;
    const outcome = await runUntilEnd(runLoop, deps, run);
    if (outcome.status === "failed") {
      status = "failure";
      return outcome;
    }
    const context = { questId, parentId: receiptId, signal: run.controller.signal };
    // Before its last step, a plan may leave errors that a later step mends.
    const errorsAfter = isLast && errorsBefore !== null ? await errorsNow(deps, run, receiptId) : null;
    const evidence = readEvidence(
      store.messages(questId).map(({ message }) => message),
      (path) => readTaskFile(deps, path, context),
      errorsBefore === null || errorsAfter === null ? null : { before: errorsBefore, after: errorsAfter },
    );
    const judge = createJudge(deps, { step, lastAnswer: lastAnswer(deps, questId), evidence, context });
    const { met, findings } = await verifyStep({ ...step, doneWhen: criteria }, evidence, judge);
    await ledger.ready(run.controller.signal);
    for (const finding of findings) recordFinding(deps, questId, receiptId, finding);
    const problem = findings.filter((finding) => !finding.met).map(({ criterion, why }) => `${criterion}: ${why}`);
    const unverified = findings.filter(({ by }) => by === "nobody").map(({ criterion, why }) => `${criterion}: ${why}`);
    const { problem: _, ...clean } = step;
    const text = [...problem, ...unverified].join("\n").slice(0, 4_000);
    // In one transaction, so that no crash leaves a step that is done with a receipt that says otherwise.
    store.transaction(() => {
      saveStep(plans, deps, plan.id, {
        ...clean,
        attempts,
        receiptId,
        status: met ? "done" : "failed",
        ...(text === "" ? {} : { problem: text }),
      });
      ledger.close(receiptId, { status: met ? "success" : "failure", outputs: { met, missed: problem } });
    });
    isClosed = true;
    return null;
  } finally {
    run.parentId = run.receiptId;
    await ledger.ready().catch(() => undefined);
    if (!isClosed) ledger.close(receiptId, { status });
  }
}

/** The errors that the editor shows now; null when nobody can say. */
async function errorsNow({ workState }: TurnDeps, { questId, controller }: Run, parentId: string): Promise<Problem[] | null> {
  return (await workState?.errors({ trace: { questId, parentId }, signal: controller.signal })) ?? null;
}

/** Stores a step, and shows the progress of the plan with the quest. */
function saveStep(plans: PlanStore, { store }: TurnDeps, planId: string, step: PlannedStep): void {
  store.transaction(() => {
    const before = plans.get(planId);
    const planSteps = before.planSteps.map((one) => (one.id === step.id ? step : one));
    const { questId } = plans.patch(planId, { planSteps, nextAction: `Step: ${step.title}` });
    store.patch(questId, {
      plan: planSteps.map(({ title, status, doneWhen }) => ({
        title: title.slice(0, 500),
        status: status === "failed" ? "active" : status,
        doneWhen: doneWhen.join("; ").slice(0, 500),
      })),
    });
  });
}

const stepMark = "[Step ";

/** True when nobody has written to the model since the step was told. */
function isLastTold({ store }: TurnDeps, questId: string): boolean {
  const last = store.messages(questId).findLast(({ turn }) => turn?.kind === "user")?.turn;
  return last?.kind === "user" && last.content.some((item) => item.type === "text" && item.text.startsWith(stepMark));
}

function stepText(plan: PlanArtifact, step: PlannedStep, index: number, attempt: number, criteria: readonly string[]): string {
  const actions = step.actions.map(({ tool, target }) => `- ${tool} ${target}`);
  return [
    `${stepMark}${String(index + 1)} of ${String(plan.planSteps.length)} of the approved plan: ${step.title}`,
    ...(step.details === undefined ? [] : [step.details]),
    ...(actions.length === 0 ? [] : ["Planned actions:", ...actions]),
    "It is done when:",
    ...criteria.map((criterion) => `- ${criterion}`),
    ...(attempt === 1 || step.problem === undefined
      ? []
      : [`This is attempt ${String(attempt)} of ${String(maxAttempts)}. The verification of the last one found:`, step.problem]),
    "Do this step only, run its commands after the last change exactly as they are written, and end with one sentence about the result.]",
  ].join("\n");
}

function lastAnswer({ store }: TurnDeps, questId: string): string {
  const last = store
    .messages(questId)
    .findLast(({ message }) => message.role === "assistant" && message.parts.some(({ type }) => type === "text"));
  return (last?.message.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

function recordFinding({ ledger }: TurnDeps, questId: string, parentId: string, { criterion, met, by, why, receiptId }: Finding): void {
  ledger.record(
    {
      actionType: "verification",
      actionName: "plan.verify",
      inputs: { criterion },
      riskTier: "T0",
      cognitionTier: by === "model" ? "SYNTHESIS" : "DETERMINISTIC",
      questId,
      parentId,
    },
    { status: met ? "success" : "failure", outputs: { met, by, why, evidence: receiptId } },
  );
}

/** Ends a plan whose step failed too often: says what is done, what is kept, and what was not begun. */
function endPartially(plans: PlanStore, deps: TurnDeps, run: Run, plan: PlanArtifact, step: PlannedStep): Outcome {
  const { store, changes } = deps;
  const { questId } = run;
  const titles = (wanted: (one: PlannedStep) => boolean): string =>
    plan.planSteps
      .filter(wanted)
      .map(({ title }) => title)
      .join("; ");
  const done = titles(({ status }) => status === "done");
  const left = titles(({ id, status }) => status !== "done" && id !== step.id);
  const kept = changes.list({ questId, open: true, limit: 500 }).length;
  const problem = `The plan stopped at "${step.title}" after ${String(step.attempts)} attempts: ${step.problem ?? "it could not be verified."}`;
  const lines = [
    problem,
    done === "" ? "No step is done." : `Done and verified: ${done}.`,
    ...(left === "" ? [] : [`Not begun: ${left}.`]),
    kept === 0
      ? "No proposed change waits for your review."
      : `${String(kept)} proposed ${kept === 1 ? "change is" : "changes are"} kept for your review. Nothing was undone.`,
  ];
  const text = lines.join("\n");
  store.transaction(() => {
    plans.patch(plan.id, { status: "failed", reason: problem, nextAction: "Review what is kept, or say what to do differently." });
    store.patch(questId, { plan: [] });
    store.addMessage({ questId, role: "assistant", parts: [notice("warning", text)] });
  });
  return { status: "failed", problem };
}
