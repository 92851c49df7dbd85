import type { Intent } from "../contract/governance.ts";
import type { PlanArtifact, PlannedAction, PlannedStep, ProposedStep, StepCheck } from "../contract/plans.ts";
import type { ToolInfo } from "../contract/tools.ts";
import type { Governance } from "../governance/governance.ts";

type Known = ReadonlyMap<string, Pick<ToolInfo, "capability" | "action">>;

/** What a plan lacks to be about this request and this workspace; empty when it is specific. */
export function vagueSteps(steps: readonly ProposedStep[], tools: Known): string[] {
  return steps.flatMap((step, index) => {
    const number = `Step ${String(index + 1)} ("${step.title}")`;
    const actions = step.actions ?? [];
    if (actions.length === 0 && step.whyNoActions === undefined)
      return [`${number} names no file and no command. Name them in \`actions\`, or say in \`whyNoActions\` why they cannot be known yet.`];
    const unknown = actions.filter(({ tool }) => !tools.has(tool)).map(({ tool }) => tool);
    return unknown.length === 0 ? [] : [`${number} names tools that do not exist: ${[...new Set(unknown)].join(", ")}.`];
  });
}

/** The first of the earlier plans that has the same steps; null when the plan differs from all. */
export function repeated(steps: readonly ProposedStep[], earlier: readonly PlanArtifact[]): PlanArtifact | null {
  const key = keyOf(steps);
  return earlier.find(({ planSteps }) => keyOf(planSteps) === key) ?? null;
}

/** Steps are the same when they do the same to the same targets, whatever they are called; without actions, their titles decide. */
function keyOf(steps: readonly Pick<ProposedStep, "title" | "details" | "actions">[]): string {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
  return JSON.stringify(steps.map(({ title, details, actions }) => [plain(title), plain(details ?? ""), actions ?? []]));
}

/**
 * Lets governance judge the actions that the steps name, before the plan is shown. What it allows without a question is left out.
 * The judgement changes nothing: each action is decided again when it is made.
 */
export function checkSteps(
  steps: readonly ProposedStep[],
  { governance, tools, questId }: { governance: Pick<Governance, "evaluate">; tools: Known; questId: string },
): PlannedStep[] {
  return steps.map(({ title, details, doneWhen, actions = [] }, index) => ({
    id: String(index + 1),
    title,
    ...(details === undefined ? {} : { details }),
    doneWhen: [...doneWhen],
    actions: [...actions],
    status: "pending",
    checks: actions.flatMap((action) => checkAction(action, { governance, tools, questId })),
    attempts: 0,
    receiptId: null,
  }));
}

function checkAction(
  action: PlannedAction,
  { governance, tools, questId }: { governance: Pick<Governance, "evaluate">; tools: Known; questId: string },
): StepCheck[] {
  const info = tools.get(action.tool);
  if (info === undefined) return [];
  const intent: Intent = {
    capability: info.capability,
    action: info.action,
    args: argsOf(info.capability, action.target),
    questId,
    mode: "normal",
  };
  const { verdict, tier, rules } = governance.evaluate(intent);
  return verdict === "allow" ? [] : [{ ...action, verdict, tier, rules: rules.map(({ message }) => message) }];
}

function argsOf(capability: string, target: string): Record<string, unknown> {
  switch (capability) {
    case "file_ops":
      return { path: target };
    case "shell_exec":
      return { command: target };
    case "web_ops":
      return { url: target };
    default:
      return { target };
  }
}
