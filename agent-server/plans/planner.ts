import { randomUUID } from "node:crypto";
import type { PlanArtifact } from "../contract/plans.ts";
import { notice, type Outcome, type Planning, type Run, type RunLoop, type TurnDeps, userText } from "../quests/quests.ts";
import { checkSteps, repeated, vagueSteps } from "./plan-check.ts";
import { isUndecided, type PlanStore } from "./plan-store.ts";

export interface PlannerDeps {
  readonly plans: PlanStore;
  readonly runLoop: RunLoop;
  readonly now: () => Date;
}

const instruction = "[Make a plan";
const reminder = "[Present the plan";

/**
 * Makes a plan: the ordinary loop in action mode `plan`, with tools that only look, which ends with the call `propose_plan`.
 * @returns the accepted plan, or null when the model made none; `outcome` is how the loop ended
 */
export async function makePlan(
  { plans, runLoop, now }: PlannerDeps,
  deps: TurnDeps,
  run: Run,
): Promise<{ plan: PlanArtifact | null; outcome: Outcome }> {
  const { ledger } = deps;
  const { questId } = run;
  const receiptId = ledger.open({
    actionType: "plan_step",
    actionName: "plan",
    inputs: {},
    riskTier: "T0",
    cognitionTier: "PLANNING",
    questId,
    parentId: run.receiptId,
  });
  const earlier = plans.list({ questId, limit: 200 }).filter(({ status }) => status === "rejected" || status === "failed");
  const planning = createPlanning({ plans, now, deps, questId, receiptId, earlier });
  run.planning = planning;
  run.parentId = receiptId;
  run.routing = null;
  let status: "success" | "failure" | "cancelled" = "cancelled";
  try {
    tell(deps, run, instruction, planText(earlier), "Lancelot makes a plan first. Nothing is changed meanwhile.");
    let outcome = await runUntilEnd(runLoop, deps, run);
    if (outcome.status === "done" && !planning.isFinished()) {
      tell(
        deps,
        run,
        reminder,
        `${reminder} now: call propose_plan. If there is nothing to plan, say why in one sentence.]`,
        "The model was asked for the plan.",
      );
      outcome = await runUntilEnd(runLoop, deps, run);
    }
    status = planning.isFinished() ? "success" : "failure";
    return { plan: planning.made(), outcome };
  } finally {
    run.planning = null;
    run.parentId = run.receiptId;
    run.routing = null;
    await ledger.ready().catch(() => undefined);
    ledger.close(receiptId, { status, outputs: { planId: planning.made()?.id ?? null } });
  }
}

/** Runs the loop, and returns its outcome in place of ending the run. */
export async function runUntilEnd(runLoop: RunLoop, deps: TurnDeps, run: Run): Promise<Outcome> {
  const ended: Outcome[] = [];
  await runLoop(deps, run, (outcome) => ended.push(outcome));
  run.controller.signal.throwIfAborted();
  return ended[0] ?? { status: "done" };
}

/** Adds a message of the host once after the last message of the user, also after a resume. */
function tell({ store }: TurnDeps, { questId }: Run, marker: string, text: string, shown: string): void {
  const messages = store.messages(questId);
  const request = messages.findLastIndex(({ message }) => message.role === "user" && userText(message) !== "");
  const wasTold = messages
    .slice(request + 1)
    .some(({ turn }) => turn?.kind === "user" && turn.content.some((item) => item.type === "text" && item.text.startsWith(marker)));
  if (wasTold) return;
  store.addMessage({
    questId,
    role: "user",
    parts: [notice("info", shown)],
    turn: { kind: "user", content: [{ type: "text", text }] },
  });
}

function planText(earlier: readonly PlanArtifact[]): string {
  const rejected = earlier.slice(0, 3).map(({ goal, reason, planSteps }) => {
    const steps = planSteps.map(({ title }) => title).join("; ");
    return `- "${goal}" (${steps})${reason === null ? "" : `: ${reason}`}`;
  });
  const differ = rejected.length === 0 ? "" : ` These plans were rejected or failed, so make a different one:\n${rejected.join("\n")}\n`;
  return `${instruction} for the request above. Only look: nothing is changed now, and commands that change something are refused. Read what the plan depends on first. Then call propose_plan with steps that name the files and commands of this workspace, and for each step what proves that it is done.${differ}]`;
}

/** The plan that an interrupted run has made for the last request already; null without one. */
function planAfterRequest(plans: PlanStore, { store }: TurnDeps, questId: string): PlanArtifact | null {
  const request = store.messages(questId).findLast(({ message }) => message.role === "user" && userText(message) !== "");
  const [newest] = plans.list({ questId, limit: 1 });
  const isLater = newest !== undefined && request !== undefined && newest.createdAt >= request.message.createdAt;
  return isLater && isUndecided(newest) ? newest : null;
}

function createPlanning(of: {
  plans: PlanStore;
  now: () => Date;
  deps: TurnDeps;
  questId: string;
  receiptId: string;
  earlier: readonly PlanArtifact[];
}): Planning & { made(): PlanArtifact | null } {
  const { plans, now, deps, questId, receiptId, earlier } = of;
  const { store, redactor, governance } = deps;
  const tools = new Map(deps.tools.list().map((tool) => [tool.name, tool]));
  let made = planAfterRequest(plans, deps, questId);
  let wasReturned = false;

  return {
    isFinished: () => made !== null,
    made: () => made,
    propose(proposal) {
      const refuse = (text: string): { text: string; accepted: boolean } => ({ text, accepted: false });
      if (made !== null) return refuse("A plan was proposed already.");
      const safe = redactor.value(proposal);
      const same = repeated(safe.steps, earlier);
      if (same !== null)
        return refuse(
          `These steps were ${same.status === "failed" ? "tried, and failed" : "rejected"}${same.reason === null ? "" : ` (${same.reason})`}. Propose a different way.`,
        );
      const vague = vagueSteps(safe.steps, tools);
      if (vague.length > 0 && !wasReturned) {
        wasReturned = true;
        return refuse(
          `The plan is not specific to this workspace:\n${vague.map((problem) => `- ${problem}`).join("\n")}\nLook at the files, then propose it again.`,
        );
      }
      const at = now().toISOString();
      const { steps, assumptions = [], decisionPoints = [], risks = [], ...rest } = safe;
      const plan: PlanArtifact = {
        ...rest,
        ...{ id: randomUUID(), questId, status: "draft", assumptions, decisionPoints, risks, receiptId, reason: null },
        planSteps: checkSteps(steps, { governance, tools, questId }),
        nextAction: "Approve the plan, edit it, or reject it.",
        ...{ createdAt: at, updatedAt: at },
      };
      plans.transaction(() => {
        for (const draft of plans.list({ questId, limit: 200 }).filter(isUndecided))
          plans.patch(draft.id, { status: "rejected", nextAction: "It was replaced by a newer plan." });
        made = plans.put(plan);
        store.addMessage({ questId, role: "assistant", parts: [{ type: "plan", planId: plan.id }] });
      });
      return { text: "The plan is shown to the user.", accepted: true };
    },
  };
}
