import type { JSX } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import type { Quest, WaitingFor } from "../../agent-server/contract/chat.ts";
import { ApprovalCard } from "../shared/approval-card.tsx";
import { problemOf } from "../shared/bridge.ts";
import { Button, Card, Icon, Problem, State, type StateProps } from "../shared/components.tsx";
import { count, t } from "../shared/l10n.ts";
import type { Chat } from "./chat-state.ts";

function QuestionCard({ quest, waiting, chat }: { quest: Quest; waiting: WaitingFor; chat: Chat }): JSX.Element {
  const id = useId();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const answer = (reply: string): void => {
    if (reply.trim() === "" || busy) return;
    setBusy(true);
    setProblem(null);
    chat.bridge.call("chat.answer", { questId: quest.id, callId: waiting.id, answer: reply.trim() }).catch((error: unknown) => {
      setProblem(problemOf(error));
      setBusy(false);
    });
  };
  const question = waiting.question ?? t("Lancelot has a question for you.");
  return (
    <Card kind="question" icon="comment-discussion" heading={t("Question for you")}>
      <p class="question-text" id={`${id}-question`}>
        {question}
      </p>
      {(waiting.options ?? []).length > 0 && (
        <div class="options" role="group" aria-labelledby={`${id}-question`}>
          {waiting.options?.map((option) => (
            <Button testId={`option:${option}`} key={option} disabled={busy} onClick={() => answer(option)}>
              {option}
            </Button>
          ))}
        </div>
      )}
      <form
        class="answer-form"
        onSubmit={(event) => {
          event.preventDefault();
          answer(text);
        }}
      >
        <input
          class="field"
          aria-label={t("Your answer")}
          placeholder={t("Your answer")}
          value={text}
          disabled={busy}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <Button testId="answer" kind="primary" disabled={busy || text.trim() === ""} onClick={() => answer(text)}>
          {t("Answer")}
        </Button>
      </form>
      {problem !== null && <Problem text={problem} />}
    </Card>
  );
}

/** The pending approvals and the pending question of this quest. */
export function PendingRequests({ chat }: { chat: Chat }): JSX.Element | null {
  const quest = chat.quest.value;
  if (quest === null) return null;
  const approvals = chat.store.pendingApprovals.value.filter((approval) => approval.questId === quest.id);
  const { waitingFor } = quest;
  return (
    <>
      {approvals.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} bridge={chat.bridge} store={chat.store} />
      ))}
      {quest.status === "waiting" && waitingFor?.kind === "answer" && (
        <QuestionCard key={waitingFor.id} quest={quest} waiting={waitingFor} chat={chat} />
      )}
    </>
  );
}

/** The plan with the status of each step. */
export function PlanCard({ quest }: { quest: Quest }): JSX.Element | null {
  const { plan } = quest;
  if (plan.length === 0) return null;
  const done = plan.filter((step) => step.status === "done" || step.status === "skipped").length;
  const current = plan.find((step) => step.status === "active");
  return (
    <details class="plan">
      <summary>
        <Icon name="chevron-right" />
        <Icon name="checklist" />
        <span class="plan-title">{current?.title ?? t("Plan")}</span>
        <span class="quiet">{t("{0} of {1}", done, plan.length)}</span>
      </summary>
      <ol>
        {plan.map((step, index) => (
          <li key={index} class={step.status} aria-current={step.status === "active" ? "step" : undefined}>
            <StepState status={step.status} />
            <div>
              {step.title}
              {step.doneWhen !== undefined && <div class="quiet">{t("Success criterion: {0}", step.doneWhen)}</div>}
            </div>
          </li>
        ))}
      </ol>
    </details>
  );
}

function StepState({ status }: { status: Quest["plan"][number]["status"] }): JSX.Element {
  switch (status) {
    case "done":
      return <State icon="pass-filled" kind="good" text={t("Done")} quiet />;
    case "active":
      return <State icon="play-circle" kind="attention" text={t("In progress")} quiet />;
    case "skipped":
      return <State icon="circle-slash" kind="quiet" text={t("Skipped")} quiet />;
    case "pending":
      return <State icon="circle-large" kind="quiet" text={t("Pending")} quiet />;
  }
}

/** The line above the composer: the quest's status and the next action. */
export function StatusLine({ chat }: { chat: Chat }): JSX.Element | null {
  const quest = chat.quest.value;
  const questId = quest?.id ?? "";
  const ofQuest = [...chat.store.changes.value.values()].filter((change) => change.questId === questId);
  const applied = chat.hasRestorableFiles.value || ofQuest.some(({ status }) => status === "accepted" || status === "mixed");
  useEffect(() => (applied ? chat.fileComparison.watch({ questId }) : undefined), [applied, questId, chat]);
  if (quest === null) return null;
  const undone = applied && chat.fileComparison.changedPaths({ questId }).value?.size === 0;
  // Other tools keep running during an approval, so the quest status stays `active`.
  const asked = chat.store.pendingApprovals.value.some((approval) => approval.questId === quest.id);
  const open = chat.store.openChanges.value.filter((change) => change.questId === quest.id);
  const review = open.length > 0 && (
    <Button
      testId="review-all"
      kind={quest.status === "active" ? "secondary" : "primary"}
      icon="diff-multiple"
      onClick={() => chat.bridge.ui({ action: "reviewAll", questId: quest.id })}
    >
      {t("Review All")}
    </Button>
  );
  const stop = (
    <Button testId="stop" icon="debug-stop" title={t("Stop immediately (Escape in the message field)")} onClick={chat.stop}>
      {t("Stop")}
    </Button>
  );
  const resume = (
    <Button testId="resume" kind="primary" icon="debug-continue" onClick={() => chat.resume(quest.id)}>
      {t("Resume")}
    </Button>
  );
  const changed = ofQuest.length > 0 || chat.hasRestorableFiles.value;
  const undo = changed && !undone && (
    <Button testId="undo-task" kind="link" icon="discard" onClick={chat.undo}>
      {t("Undo Task")}
    </Button>
  );
  const line = (state: StateProps, buttons: JSX.Element | false | (JSX.Element | false)[]): JSX.Element => (
    <div class="status-line">
      <State {...state} />
      <span class="spring" />
      {buttons}
    </div>
  );
  const waitingReview = count(open.length, "{0} change to review", "{0} changes to review");
  switch (quest.status) {
    case "active":
      if (asked) return line({ icon: "shield", text: t("Waiting for your approval"), kind: "attention" }, stop);
      if (quest.queued === true)
        return line({ icon: "clock", text: t("Waiting for its turn: other tasks are running"), kind: "quiet" }, [review, stop]);
      return line({ icon: "loading", text: t("Running…"), spin: true }, [review, stop]);
    case "waiting":
      switch (quest.waitingFor?.kind) {
        case "approval":
          return line({ icon: "shield", text: t("Waiting for your approval"), kind: "attention" }, stop);
        case "answer":
          return line({ icon: "comment-discussion", text: t("Waiting for your answer"), kind: "attention" }, stop);
        case "review":
        case undefined:
          return line({ icon: "diff-multiple", text: waitingReview, kind: "attention" }, [review, undo]);
      }
    case "interrupted":
      return line({ icon: "debug-disconnect", text: quest.problem ?? t("Interrupted"), kind: "attention" }, [review, resume]);
    case "failed":
      // The conversation shows the reason and the next step.
      return line({ icon: "error", text: t("This task failed"), kind: "bad" }, [undo, resume]);
    case "cancelled":
      return line({ icon: "debug-stop", text: t("Stopped"), kind: "quiet" }, [undo, resume]);
    case "done":
      if (open.length > 0) return line({ icon: "diff-multiple", text: waitingReview, kind: "attention" }, [review, undo]);
      if (undone) return line({ icon: "discard", text: t("Undone. The files are restored."), kind: "quiet" }, false);
      return changed ? line({ icon: "check", text: t("Done"), kind: "good" }, undo) : null;
  }
}
