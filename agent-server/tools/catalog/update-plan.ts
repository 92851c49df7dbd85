import * as z from "zod";
import { PlanStep } from "../../contract/chat.ts";
import { defineTool } from "../tool.ts";

/** Models also give a step as a text, or leave its status out. */
const Step = z.preprocess((value) => {
  if (typeof value === "string") return { title: value, status: "pending" };
  return typeof value === "object" && value !== null && !("status" in value) ? { ...value, status: "pending" } : value;
}, PlanStep.strict());

export const updatePlan = defineTool({
  name: "update_plan",
  description:
    "Show the owner your plan, and its progress, for work of several steps. Give all steps each time; one is active. Not needed for a single edit or a question.",
  args: z.strictObject({ steps: z.array(Step).min(1).max(50) }),
  capability: "quest",
  action: "plan",
  baseTier: "T0",
  actionType: "plan_step",
  provider: { name: "quest", version: "1" },
  title: ({ steps }) =>
    `Plan: ${steps.filter(({ status }) => status === "done" || status === "skipped").length} of ${steps.length} steps done`,
  reads: () => [{ capability: "quest", action: "plan", args: {} }],
  plan({ steps }, { call }) {
    call.updatePlan?.(steps);
    const next = steps.find(({ status }) => status === "active") ?? steps.find(({ status }) => status === "pending");
    const text = next === undefined ? "The plan is kept; every step is done." : `The plan is kept. Next: ${next.title}`;
    return Promise.resolve({ kind: "answer", text, outputs: { steps } });
  },
});
