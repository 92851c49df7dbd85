import type { PlanArtifact } from "../../../agent-server/contract/plans.ts";

const at = "2026-01-01T00:00:00.000Z";
/** A plan of two steps, the second of which asks. */
export const samplePlan = (patch: Partial<PlanArtifact> = {}): PlanArtifact => ({
  ...{
    id: "plan-1",
    questId: "quest-1",
    status: "draft",
    goal: "Make b",
    context: "",
    assumptions: [],
    decisionPoints: [],
    risks: ["Slow"],
  },
  ...{ doneWhen: ["`b.txt` exists"], nextAction: "", reason: null, receiptId: "r", createdAt: at, updatedAt: at },
  planSteps: [
    {
      ...{ id: "1", title: "Write b", doneWhen: ["`b.txt` exists"], status: "pending", attempts: 0, receiptId: null },
      actions: [{ tool: "write_file", target: "b.txt" }],
      checks: [],
    },
    {
      ...{ id: "2", title: "Push it", doneWhen: ["it is pushed"], status: "pending", attempts: 0, receiptId: null },
      actions: [{ tool: "git_push", target: "origin" }],
      checks: [{ tool: "git_push", target: "origin", verdict: "ask", tier: "T3", rules: ["Irreversible."] }],
    },
  ],
  ...patch,
});
