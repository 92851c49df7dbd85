import { LancelotError } from "../../contract/errors.ts";
import { PlanProposal } from "../../contract/plans.ts";
import { defineTool } from "../tool.ts";

export const proposePlan = defineTool({
  name: "propose_plan",
  description:
    "Show the user your plan for this request, once you have looked at what it needs. Each step names the files it changes and the commands it runs, and what proves that it is done.",
  args: PlanProposal,
  capability: "quest",
  action: "plan",
  baseTier: "T0",
  actionType: "plan_step",
  provider: { name: "quest", version: "1" },
  title: ({ goal }) => `Plan: ${goal.length > 100 ? `${goal.slice(0, 100)}…` : goal}`,
  reads: () => [{ capability: "quest", action: "plan", args: {} }],
  plan(proposal, { call }) {
    if (call.proposePlan === undefined)
      throw new LancelotError("unavailable", "No plan is asked for. Do the task, and show its steps with update_plan.");
    const { text, accepted } = call.proposePlan(proposal);
    return Promise.resolve({
      kind: "answer",
      text,
      ...(accepted ? {} : { isError: true }),
      outputs: { accepted, steps: proposal.steps.length },
    });
  },
});
