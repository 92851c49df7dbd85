import type { PlanArtifact } from "../../contract/plans.ts";

const marks = { pending: " ", active: " ", done: "x", failed: " " } as const;

/** A plan as Markdown: its steps with what proves them, and what it rests on. */
export function planText(plan: PlanArtifact): string {
  const steps = plan.planSteps.map(({ title, status, doneWhen, problem }, index) =>
    [
      `${index + 1}. [${marks[status]}] ${title}${status === "failed" ? " (failed)" : ""}`,
      ...doneWhen.map((line) => `   - Done when: ${line}`),
      ...(problem === undefined ? [] : [`   - Problem: ${problem}`]),
    ].join("\n"),
  );
  return [
    plan.goal,
    ...(plan.reason === null ? [] : [plan.reason]),
    `## Steps\n\n${steps.join("\n")}`,
    ...(plan.context === "" ? [] : [`## Context\n\n${plan.context}`]),
    ...listOf("Assumptions", plan.assumptions),
    ...listOf("Decision points", plan.decisionPoints),
    ...listOf("Risks", plan.risks),
    ...listOf("Done when", plan.doneWhen),
  ].join("\n\n");
}

/** A heading with a list; nothing for an empty list. */
export function listOf(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}\n\n${lines.map((line) => `- ${line}`).join("\n")}`];
}
