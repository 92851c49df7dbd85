import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { PlanArtifact, PlannedStep } from "../../agent-server/contract/plans.ts";
import { problemOf } from "../shared/bridge.ts";
import { Button, Card, Problem, State, type StateProps } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";
import { planState } from "../shared/plan-state.ts";
import type { Chat } from "./chat-state.ts";

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

function StepView({ step }: { step: PlannedStep }): JSX.Element {
  return (
    <li>
      <div class="plan-step-title">
        <span>{step.title}</span> <State {...stepState(step.status)} />
      </div>
      {step.details !== undefined && <div class="quiet">{step.details}</div>}
      <ul class="plan-facts">
        {step.actions.map(({ tool, target }, index) => (
          <li key={index}>
            <code>{tool}</code> {target}
          </li>
        ))}
        {step.checks.map(({ target, verdict, rules }, index) => (
          <li key={`check-${index}`} data-testid={`plan-check:${verdict}`}>
            {verdict === "ask" ? t("Will ask: {0}", target) : t("Not allowed: {0}", target)} <span class="quiet">{rules.join(" ")}</span>
          </li>
        ))}
        {step.doneWhen.map((criterion, index) => (
          <li key={`done-${index}`}>{t("Done when: {0}", criterion)}</li>
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
          <li key={index}>{line}</li>
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
  const titles = useSignal<readonly string[]>([]);
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
      if (current.status === "draft") await call("plans.approve", { id: planId });
      return call("plans.execute", { id: planId });
    });
  const save = (): Promise<void> =>
    act(() =>
      call("plans.update", {
        id: planId,
        steps: current.planSteps.flatMap(({ details, doneWhen, actions }, index) => {
          const title = (titles.value[index] ?? "").trim();
          return title === "" ? [] : [{ title, ...(details === undefined ? {} : { details }), doneWhen, actions }];
        }),
      }),
    );
  const reject = (): Promise<void> =>
    act(() => call("plans.reject", { id: planId, ...(reason.value.trim() === "" ? {} : { reason: reason.value.trim() }) }));
  const isOpen = current.status === "draft" || current.status === "approved";

  return (
    <Card icon="checklist" heading={t("Plan: {0}", current.goal)} kind="plan-card" aside={<State {...planState(current.status)} />}>
      {problem.value !== null && <Problem text={problem.value} />}
      {form.value === "edit" ? (
        <ol class="plan-edit">
          {current.planSteps.map(({ id }, index) => (
            <li key={id}>
              <input
                data-testid={`plan-step:${id}`}
                aria-label={t("Step {0}; leave it empty to remove it", index + 1)}
                value={titles.value[index] ?? ""}
                maxLength={300}
                onInput={(event) => {
                  titles.value = titles.peek().with(index, event.currentTarget.value);
                }}
              />
            </li>
          ))}
        </ol>
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
                    titles.value = current.planSteps.map(({ title }) => title);
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
                disabled={busy.value || (form.value === "edit" && titles.value.every((title) => title.trim() === ""))}
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
