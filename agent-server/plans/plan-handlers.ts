import { LancelotError } from "../contract/errors.ts";
import type { PlanArtifact, PlanStatus } from "../contract/plans.ts";
import type { Handlers } from "../contract/table.ts";
import type { Governance } from "../governance/governance.ts";
import type { createQuests } from "../quests/quests.ts";
import { type Ledger, withReceipt } from "../receipts/receipts.ts";
import type { Redactor } from "../security/security.ts";
import type { Tools } from "../tools/tools.ts";
import { checkSteps } from "./plan-check.ts";
import type { PlanStore } from "./plan-store.ts";

type PlanHandlers = Pick<Handlers, Extract<keyof Handlers, `plans.${string}`>>;

/** Implements the plan methods of the contract. */
export function plansHandlers(of: {
  store: PlanStore;
  quests: Pick<ReturnType<typeof createQuests>, "run" | "send" | "runPlan" | "isRunning">;
  governance: Pick<Governance, "evaluate">;
  tools: Pick<Tools, "list">;
  ledger: Ledger;
  redactor: Redactor;
}): PlanHandlers {
  const { store, quests, governance, ledger, redactor } = of;

  function require(id: string, statuses: readonly PlanStatus[], what: string): PlanArtifact {
    const plan = store.get(id);
    if (!statuses.includes(plan.status)) throw new LancelotError("conflict", `The plan is ${plan.status}, so it cannot be ${what}.`);
    return plan;
  }

  const decided = <T>(actionName: string, plan: PlanArtifact, inputs: Record<string, unknown>, work: () => T): Promise<T> =>
    withReceipt(
      ledger,
      {
        actionType: "user_interaction",
        actionName,
        inputs: { planId: plan.id, ...inputs },
        riskTier: "T1",
        questId: plan.questId,
        parentId: plan.receiptId,
      },
      () => Promise.resolve(work()),
    );

  return {
    async "plans.create"({ goal, questId }, { owner, signal }) {
      const { quest_id: id, response } = await quests.run(
        { message: goal, mode: "plan", crusader_mode: false, ...(questId === undefined ? {} : { quest_id: questId }) },
        signal,
        owner,
      );
      const [plan] = store.list({ questId: id, limit: 1 });
      if (plan?.status === "draft") return plan;
      throw new LancelotError("unavailable", `No plan was made. ${response}`, { data: { questId: id } });
    },
    "plans.list": (filter) => ({ items: store.list(filter) }),
    "plans.get": ({ id }) => store.get(id),

    "plans.update": ({ id, goal, steps }) => {
      const plan = require(id, ["draft"], "changed");
      const tools = new Map(of.tools.list().map((tool) => [tool.name, tool]));
      const safe = redactor.value({ steps, ...(goal === undefined ? {} : { goal }) });
      return decided("plans.update", plan, { steps: steps.map(({ title }) => title) }, () =>
        store.patch(id, {
          ...(safe.goal === undefined ? {} : { goal: safe.goal }),
          planSteps: checkSteps(safe.steps, { governance, tools, questId: plan.questId }),
        }),
      );
    },

    "plans.approve": ({ id, updatedAt }) => {
      const plan = require(id, ["draft"], "approved");
      if (updatedAt !== undefined && updatedAt !== plan.updatedAt)
        throw new LancelotError("conflict", "The plan was changed in the meantime. Read it again before you approve it.");
      return decided("plans.approve", plan, {}, () => store.patch(id, { status: "approved", nextAction: "Run the plan." }));
    },

    "plans.execute": ({ id }) => {
      const plan = require(id, ["approved", "running"], "run before it is approved, or after it ended");
      if (quests.isRunning(plan.questId)) throw new LancelotError("conflict", "The task is running. Wait for it, or stop it first.");
      return decided("plans.execute", plan, {}, () => {
        const running = plan.status === "running" ? plan : store.patch(id, { status: "running", nextAction: "The first step." });
        try {
          quests.runPlan(plan.questId, "plan");
        } catch (error) {
          if (running !== plan) store.patch(id, { status: plan.status, nextAction: plan.nextAction });
          throw error;
        }
        return running;
      });
    },

    "plans.reject": ({ id, reason }) => {
      const plan = require(id, ["draft", "approved", "running", "failed"], "rejected");
      if (quests.isRunning(plan.questId)) throw new LancelotError("conflict", "The task is running. Stop it first.");
      return decided("plans.reject", plan, reason === undefined ? {} : { reason }, () => {
        const why = reason === undefined ? null : redactor.text(reason).text;
        const rejected = store.patch(id, {
          status: "rejected",
          reason: why,
          nextAction: reason === undefined ? "Say what to do instead." : "A different plan is made.",
        });
        if (reason !== undefined) quests.send({ questId: plan.questId, text: reason, mode: "plan" }, true);
        return rejected;
      });
    },
  };
}
