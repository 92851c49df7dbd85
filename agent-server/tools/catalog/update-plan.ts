import * as z from "zod";
import { PlanStep } from "../../contract/chat.ts";
import { defineTool } from "../tool.ts";

/** Models also write a step as a string, or omit its status. */
const Step = z.preprocess((value) => {
  if (typeof value === "string") return { title: value, status: "pending" };
  return typeof value === "object" && value !== null && !("status" in value) ? { ...value, status: "pending" } : value;
}, PlanStep.strict());

export const updatePlan = defineTool({
  name: "update_plan",
  description:
    "Show the user your plan and its progress for work with several steps. Give all steps each time; one is active. Not needed for a single edit or a question.",
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
    const text = next === undefined ? "Plan updated. Every step is done." : `Plan updated. Next: ${next.title}`;
    return Promise.resolve({ kind: "answer", text, outputs: { steps } });
  },
});
