import * as z from "zod";
import { defineTool } from "../tool.ts";

/** What a model reports at the end of its work. */
export const OutcomeReport = z.strictObject({
  responseToUser: z.string().max(100_000).optional().describe("The answer, unless you have written it already"),
  actionsTaken: z
    .array(z.strictObject({ action: z.string().min(1).max(300), target: z.string().max(500).optional().describe("Path, command or URL") }))
    .max(50),
  nextAction: z.string().min(1).max(500).optional().describe("What the user could ask for next"),
});

export const reportOutcomeTool = "report_outcome";

export const reportOutcome = defineTool({
  name: reportOutcomeTool,
  description:
    "End a task: report the actions you took, one per tool call that had an effect. Call it alone, after all other calls. Each action is compared with its receipt, and what is not recorded is shown as such. Not for a question that you answered in text.",
  args: OutcomeReport,
  capability: "quest",
  action: "plan",
  baseTier: "T0",
  actionType: "plan_step",
  provider: { name: "quest", version: "1" },
  flag: "STRUCTURED_OUTPUT",
  title: ({ actionsTaken }) => `Report: ${String(actionsTaken.length)} ${actionsTaken.length === 1 ? "action" : "actions"}`,
  reads: () => [{ capability: "quest", action: "plan", args: {} }],
  plan({ actionsTaken }) {
    return Promise.resolve({ kind: "answer", text: "Reported. Now answer the user in text.", outputs: { actionsTaken } });
  },
});
