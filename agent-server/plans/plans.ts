import { realpathSync } from "node:fs";
import type { Emit } from "../contract/events.ts";
import { LancelotError } from "../contract/errors.ts";
import { fail, notice, noticeOf, type RunLoop } from "../quests/quests.ts";
import type { Storage } from "../storage/storage.ts";
import { runPlan } from "./executor.ts";
import { createPlanStore, type PlanStore } from "./plan-store.ts";
import { noPlanMark, type PlanLoop } from "./plan-loop.ts";
import { makePlan } from "./planner.ts";

export { artifactHandlers } from "./artifacts/artifact-list.ts";
export { createClaimCheck } from "./claims/claims.ts";
export { recallExperiences } from "./reasoning/experiences.ts";
export { createReasoning } from "./reasoning/reasoning.ts";
export { createAskIntent } from "./routes/intent-question.ts";
export { createRoutedLoop } from "./routes/routed-loop.ts";
export { plansHandlers } from "./plan-handlers.ts";
export { plansMigrations } from "./plan-store.ts";

export interface Plans {
  readonly store: PlanStore;
  /** Makes a plan, and runs it at once or leaves it to the owner. Carries on a plan that runs. Small models plan nothing. */
  readonly planLoop: PlanLoop;
  /** The loop of a run: carries on a running plan, plans in plan mode, and is the ordinary loop otherwise. */
  readonly runLoop: RunLoop;
}

/** Plans, their execution and verification: the public interface of this module. */
export function createPlans(of: { storage: Storage; emit: Emit; workspace: string | null; runLoop: RunLoop; now?: () => Date }): Plans {
  const { runLoop } = of;
  const now = of.now ?? (() => new Date());
  const workspace = of.workspace === null ? "" : realpathSync(of.workspace);
  const plans = createPlanStore({ ...of, workspace, now });

  const planOrRun: PlanLoop = async (deps, run, conclude, { thenRun }) => {
    const running = plans.runningOf(run.questId);
    if (running !== null) return runPlan({ plans, runLoop }, deps, run, running.id, conclude);
    const model = await deps.models.active().catch(() => null);
    if (model === null || model.small) return runLoop(deps, run, conclude);
    const { plan, outcome } = await makePlan({ plans, runLoop, now }, deps, run);
    if (!thenRun || outcome.status === "failed") return conclude(outcome);
    if (plan === null) {
      deps.store.addMessage({
        questId: run.questId,
        role: "user",
        parts: [notice("info", "The model made no plan. Lancelot works on the request directly.")],
        turn: {
          kind: "user",
          content: [{ type: "text", text: `${noPlanMark} Planning is over, and you may change things again. Work on the request now.]` }],
        },
      });
      return runLoop(deps, run, conclude);
    }
    plans.patch(plan.id, { status: "running", nextAction: "The first step." });
    return runPlan({ plans, runLoop }, deps, run, plan.id, conclude);
  };

  const planLoop: PlanLoop = async (deps, run, conclude, options) => {
    try {
      await planOrRun(deps, run, conclude, options);
    } catch (error) {
      // As in the ordinary loop: a run that was ended from outside has written its state.
      if (run.ended) throw error;
      if (!(error instanceof LancelotError)) deps.log("a plan failed", error);
      conclude(fail(deps, run, noticeOf(error)));
    }
  };

  return {
    store: plans,
    planLoop,
    async runLoop(deps, run, conclude) {
      const isPlanned = deps.store.quest(run.questId).mode === "plan";
      if (!isPlanned && plans.runningOf(run.questId) === null) return runLoop(deps, run, conclude);
      // A question is answered; the plan that was stopped or interrupted waits until it is resumed.
      if (run.question) return runLoop(deps, run, conclude);
      const running = plans.runningOf(run.questId);
      // A new request in plan mode replaces a plan that was interrupted.
      if (isPlanned && running !== null)
        plans.patch(running.id, {
          status: "failed",
          reason: "Another plan was asked for.",
          nextAction: "It was replaced by a newer plan.",
        });
      return planLoop(deps, run, conclude, { thenRun: false });
    },
  };
}
