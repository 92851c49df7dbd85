import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import type { PlannedAction, PlannedStep, ProposedStep } from "../../agent-server/contract/plans.ts";
import { Button } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";

/** A step as the form holds it. Criteria and actions are lines of one text. */
export interface EditedStep {
  /** Stays the same while steps are moved, for the fields' focus. */
  readonly key: string;
  readonly title: string;
  readonly details: string;
  readonly doneWhen: string;
  readonly actions: string;
  /** As the plan has them: a line that was not edited keeps its action to the letter. */
  readonly planned: readonly PlannedAction[];
}

const lineOf = ({ tool, target }: PlannedAction): string => `${tool} ${target.replaceAll(/\s+/g, " ").trim()}`;

export function editedSteps(steps: readonly PlannedStep[]): EditedStep[] {
  return steps.map(({ id, title, details = "", doneWhen, actions }) => ({
    key: id,
    title,
    details,
    doneWhen: doneWhen.join("\n"),
    actions: actions.map(lineOf).join("\n"),
    planned: actions,
  }));
}

function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** The actions as written, each a tool and what it is used on; null when a line is none. */
function actionsOf({ actions, planned }: EditedStep): PlannedAction[] | null {
  const found = linesOf(actions).map((line): PlannedAction | null => {
    const { tool, target } = /^(?<tool>\w{1,100})[\s:]\s*(?<target>.{1,2000})$/.exec(line)?.groups ?? {};
    const written = tool === undefined || target === undefined ? null : { tool, target };
    return planned.find((action) => lineOf(action) === line) ?? written;
  });
  return found.every((action) => action !== null) ? found : null;
}

/** Criteria and actions per step. */
const maxCriteria = 10;
const maxActions = 20;

/** True when each step has a title and something that proves it, and no more than the host takes. */
export function isComplete(steps: readonly EditedStep[]): boolean {
  const hasCriteria = (step: EditedStep): boolean => {
    const { length } = linesOf(step.doneWhen);
    return length > 0 && length <= maxCriteria;
  };
  const hasActions = (step: EditedStep): boolean => (actionsOf(step)?.length ?? Infinity) <= maxActions;
  return steps.length > 0 && steps.every((step) => step.title.trim() !== "" && hasCriteria(step) && hasActions(step));
}

export function proposedSteps(steps: readonly EditedStep[]): ProposedStep[] {
  return steps.map((step) => {
    const actions = actionsOf(step) ?? [];
    return {
      title: step.title.trim(),
      ...(step.details.trim() === "" ? {} : { details: step.details.trim() }),
      doneWhen: linesOf(step.doneWhen),
      actions,
      ...(actions.length === 0 ? { whyNoActions: t("Edited by the user") } : {}),
    };
  });
}

/** The form of a plan's steps: titles, details, criteria and actions; steps can be added, moved and removed. */
export function PlanEditor({ steps }: { steps: Signal<readonly EditedStep[]> }): JSX.Element {
  const change = (index: number, patch: Partial<EditedStep>): void => {
    const old = steps.peek()[index];
    if (old !== undefined) steps.value = steps.peek().with(index, { ...old, ...patch });
  };
  const move = (index: number, by: -1 | 1): void => {
    const [one, other] = [steps.peek()[index], steps.peek()[index + by]];
    if (one !== undefined && other !== undefined)
      steps.value = steps
        .peek()
        .with(index, other)
        .with(index + by, one);
  };
  return (
    <div class="plan-edit">
      <ol>
        {steps.value.map((step, index) => (
          <li key={step.key}>
            <strong>{t("Step {0}", index + 1)}</strong>
            <input
              data-testid={`plan-step:${step.key}`}
              aria-label={t("Title of step {0}", index + 1)}
              value={step.title}
              maxLength={300}
              onInput={({ currentTarget: { value } }) => change(index, { title: value })}
            />
            <StepText
              testId={`plan-details:${step.key}`}
              hint={t("What to change, and how")}
              label={t("What to change in step {0}", index + 1)}
              maxLength={4_000}
              value={step.details}
              onValue={(details) => change(index, { details })}
            />
            <StepText
              testId={`plan-done:${step.key}`}
              hint={t("What proves it, one per line, at most {0}", maxCriteria)}
              label={t("What proves step {0}, one per line", index + 1)}
              placeholder={t("“npm test” passes")}
              value={step.doneWhen}
              onValue={(doneWhen) => change(index, { doneWhen })}
            />
            <StepText
              testId={`plan-actions:${step.key}`}
              hint={t("Files and commands, one per line: a tool and its target")}
              label={t("Files and commands of step {0}, one per line", index + 1)}
              placeholder="edit_file src/cart.js"
              isInvalid={actionsOf(step) === null}
              value={step.actions}
              onValue={(actions) => change(index, { actions })}
            />
            <div class="actions">
              <Button
                testId={`plan-up:${step.key}`}
                disabled={index === 0}
                label={t("Move step {0} up", index + 1)}
                onClick={() => move(index, -1)}
              >
                {t("Up")}
              </Button>
              <Button
                testId={`plan-down:${step.key}`}
                disabled={index === steps.value.length - 1}
                label={t("Move step {0} down", index + 1)}
                onClick={() => move(index, 1)}
              >
                {t("Down")}
              </Button>
              <Button
                testId={`plan-remove:${step.key}`}
                label={t("Remove step {0}", index + 1)}
                onClick={() => {
                  steps.value = steps.peek().toSpliced(index, 1);
                }}
              >
                {t("Remove")}
              </Button>
            </div>
          </li>
        ))}
      </ol>
      <Button
        testId="plan-add-step"
        disabled={steps.value.length >= 30}
        onClick={() => {
          steps.value = [...steps.peek(), { key: crypto.randomUUID(), title: "", details: "", doneWhen: "", actions: "", planned: [] }];
        }}
      >
        {t("Add Step")}
      </Button>
    </div>
  );
}

interface StepTextProps {
  testId: string;
  /** Shown above the field. */
  hint: string;
  /** For a screen reader. */
  label: string;
  placeholder?: string;
  maxLength?: number;
  isInvalid?: boolean;
  value: string;
  onValue: (value: string) => void;
}

function StepText({ testId, hint, label, placeholder, maxLength, isInvalid = false, value, onValue }: StepTextProps): JSX.Element {
  return (
    <>
      <span class="quiet" aria-hidden="true">
        {hint}
      </span>
      <textarea
        data-testid={testId}
        rows={2}
        maxLength={maxLength}
        aria-label={label}
        aria-invalid={isInvalid}
        placeholder={placeholder}
        value={value}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
      />
    </>
  );
}
