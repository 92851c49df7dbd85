import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { PlanArtifact, PlannedStep } from "../../agent-server/contract/plans.ts";
import { problemOf } from "../shared/bridge.ts";
import { Button, Card, Problem, State, type StateProps } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";
import { planState } from "../shared/plan-state.ts";
import type { Chat } from "./chat-state.ts";
import { type EditedStep, editedSteps, isComplete, PlanEditor, proposedSteps } from "./plan-editor.tsx";

function stepState(status: PlannedStep["status"]): StateProps {
  switch (status) {
    case "pending":
      return { icon: "circle-outline", text: t("Pending"), kind: "quiet" };
    case "active":
      return { icon: "loading", text: t("Running"), kind: "attention" };
    case "done":
      return { icon: "check", text: t("Done"), kind: "good" };
    case "failed":
      return { icon: "error", text: t("Failed"), kind: "bad" };
  }
}

/** A line with code between backticks. */
function Inline({ text }: { text: string }): JSX.Element {
  return (
    <>
      {text.split("`").map((part, index, { length }) => (index % 2 === 1 && index < length - 1 ? <code key={index}>{part}</code> : part))}
    </>
  );
}

function actionText(tool: string, target: string): string {
  switch (tool) {
    case "write_file":
      return t("Write {0}", target);
    case "edit_file":
      return t("Edit {0}", target);
    case "delete_file":
      return t("Delete {0}", target);
    case "run_command":
      return t("Run {0}", `\`${target}\``);
    case "git_commit":
      return t("Commit: {0}", target);
    case "git_push":
      return t("Push to {0}", target);
    default:
      return `\`${tool}\` ${target}`;
  }
}

function StepView({ step }: { step: PlannedStep }): JSX.Element {
  return (
    <li>
      <div class="plan-step-title">
        <span>
          <Inline text={step.title} />
        </span>{" "}
        <State {...stepState(step.status)} />
      </div>
      {step.details !== undefined && (
        <div class="quiet">
          <Inline text={step.details} />
        </div>
      )}
      <ul class="plan-facts">
        {step.actions.map(({ tool, target }, index) => (
          <li key={index}>
            <Inline text={actionText(tool, target)} />
          </li>
        ))}
        {step.checks.map(({ target, verdict, rules }, index) => (
          <li key={`check-${index}`} data-testid={`plan-check:${verdict}`}>
            {verdict === "ask" ? t("Will ask: {0}", target) : t("Not allowed: {0}", target)} <span class="quiet">{rules.join(" ")}</span>
          </li>
        ))}
        {step.doneWhen.map((criterion, index) => (
          <li key={`done-${index}`}>
            <Inline text={t("Done when: {0}", criterion)} />
          </li>
        ))}
      </ul>
      {step.problem !== undefined && <div class="plan-problem">{step.problem}</div>}
    </li>
  );
}

function Lines({ heading, lines }: { heading: string; lines: readonly string[] }): JSX.Element | null {
  if (lines.length === 0) return null;
  return (
    <>
      <h3>{heading}</h3>
      <ul>
        {lines.map((line, index) => (
          <li key={index}>
            <Inline text={line} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** A plan with its steps, what will ask, and the buttons to approve, edit and reject it. */
export function PlanCard({ planId, chat }: { planId: string; chat: Chat }): JSX.Element {
  const plan = useSignal<PlanArtifact | null>(null);
  const problem = useSignal<string | null>(null);
  const busy = useSignal(false);
  const form = useSignal<"edit" | "reject" | null>(null);
  const edited = useSignal<readonly EditedStep[]>([]);
  const reason = useSignal("");

  useEffect(() => {
    const stop = chat.bridge.onEvent((event) => {
      if (event.topic === "plan" && event.payload.id === planId) plan.value = event.payload;
    });
    const read = (): void =>
      void chat.bridge.call("plans.get", { id: planId }).then(
        (found) => {
          if (plan.peek() === null || found.updatedAt >= (plan.peek()?.updatedAt ?? "")) plan.value = found;
        },
        (error: unknown) => {
          problem.value = problemOf(error);
        },
      );
    read();
    const stopBroken = chat.bridge.onBroken(read);
    return () => {
      stop();
      stopBroken();
    };
  }, [planId, chat]);

  const act = async (work: () => Promise<PlanArtifact>): Promise<void> => {
    busy.value = true;
    problem.value = null;
    try {
      plan.value = await work();
      form.value = null;
    } catch (error) {
      problem.value = problemOf(error);
    } finally {
      busy.value = false;
    }
  };
  const current = plan.value;
  if (current === null) return problem.value === null ? <div class="quiet">{t("Loading…")}</div> : <Problem text={problem.value} />;

  const { call } = chat.bridge;
  const approve = (): Promise<void> =>
    act(async () => {
      if (current.status === "draft") await call("plans.approve", { id: planId, updatedAt: current.updatedAt });
      return call("plans.execute", { id: planId });
    });
  const save = (): Promise<void> => act(() => call("plans.update", { id: planId, steps: proposedSteps(edited.value) }));
  const reject = (): Promise<void> =>
    act(() => call("plans.reject", { id: planId, ...(reason.value.trim() === "" ? {} : { reason: reason.value.trim() }) }));
  const isOpen = current.status === "draft" || current.status === "approved";
  // Its task was stopped, or has answered a question in between. A task that was stopped has a button of its own.
  const quest = chat.quest.value;
  const isStopped = current.status === "running" && quest !== null && !chat.running.value;

  return (
    <Card
      icon="checklist"
      heading={t("Plan: {0}", current.goal)}
      kind="plan-card"
      aside={<State {...planState(current.status, isStopped)} />}
    >
      {problem.value !== null && <Problem text={problem.value} />}
      {form.value === "edit" ? (
        <PlanEditor steps={edited} />
      ) : (
        <ol class="plan-card-steps">
          {current.planSteps.map((step) => (
            <StepView key={step.id} step={step} />
          ))}
        </ol>
      )}
      <Lines heading={t("Assumptions")} lines={current.assumptions} />
      <Lines heading={t("Your decisions")} lines={current.decisionPoints} />
      <Lines heading={t("Risks")} lines={current.risks} />
      <Lines heading={t("Done when")} lines={current.doneWhen} />
      {current.reason !== null && <div class="plan-problem">{current.reason}</div>}
      {form.value === "reject" && (
        <textarea
          data-testid="plan-reason"
          rows={2}
          aria-label={t("What should be different?")}
          placeholder={t("What should be different?")}
          value={reason.value}
          onInput={(event) => {
            reason.value = event.currentTarget.value;
          }}
        />
      )}
      {isStopped && quest?.status === "done" && (
        <div class="actions">
          <Button
            testId="plan-continue"
            kind="primary"
            disabled={busy.value}
            onClick={() => void act(() => call("plans.execute", { id: planId }))}
          >
            {t("Continue Plan")}
          </Button>
        </div>
      )}
      {isOpen && (
        <div class="actions">
          {form.value === null && (
            <>
              <Button testId="plan-approve" kind="primary" disabled={busy.value} onClick={() => void approve()}>
                {t("Approve and Run")}
              </Button>
              {current.status === "draft" && (
                <Button
                  testId="plan-edit"
                  disabled={busy.value}
                  onClick={() => {
                    edited.value = editedSteps(current.planSteps);
                    form.value = "edit";
                  }}
                >
                  {t("Edit")}
                </Button>
              )}
              <Button
                testId="plan-reject"
                disabled={busy.value}
                onClick={() => {
                  form.value = "reject";
                }}
              >
                {t("Reject")}
              </Button>
            </>
          )}
          {form.value !== null && (
            <>
              <Button
                testId="plan-confirm"
                kind="primary"
                disabled={busy.value || (form.value === "edit" && !isComplete(edited.value))}
                onClick={() => void (form.value === "edit" ? save() : reject())}
              >
                {form.value === "edit" ? t("Save Plan") : t("Reject Plan")}
              </Button>
              <Button
                testId="plan-cancel"
                disabled={busy.value}
                onClick={() => {
                  form.value = null;
                }}
              >
                {t("Cancel")}
              </Button>
            </>
          )}
        </div>
      )}
    </Card>
  );
}
