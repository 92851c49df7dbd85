import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Quest } from "../../agent-server/contract/chat.ts";
import { Button, Icon, State, type StateProps } from "../shared/components.tsx";
import { count, t } from "../shared/l10n.ts";
import type { Chat } from "./chat-state.ts";

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
