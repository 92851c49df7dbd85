import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { Quest, WaitingFor } from "../../agent-server/contract/chat.ts";
import { ApprovalCard } from "../shared/approval-card.tsx";
import { problemOf } from "../shared/bridge.ts";
import { Button, Card, Icon, Problem } from "../shared/components.tsx";
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

/** Names the other tasks that wait for an approval: their cards are not in this conversation. */
function OtherTasks({ chat }: { chat: Chat }): JSX.Element | null {
  const shown = chat.quest.value?.id;
  const ids = new Set(chat.store.pendingApprovals.value.map(({ questId }) => questId));
  const asking = [...chat.store.quests.value.values()].filter(({ id }) => id !== shown && ids.has(id));
  const [quest] = asking;
  if (quest === undefined) return null;
  return (
    <div class="other-tasks">
      <Icon name="shield" />
      <span>
        {asking.length === 1
          ? t("“{0}” waits for your approval.", quest.title)
          : t("“{0}” and {1} wait for your approval.", quest.title, count(asking.length - 1, "{0} other task", "{0} other tasks"))}
      </span>
      <Button testId="open-asking-task" kind="link" onClick={() => chat.openQuest(quest.id)}>
        {t("Open Task")}
      </Button>
    </div>
  );
}

/**
 * What waits for the user, above the composer: it stays in view while the conversation scrolls. Several approvals of a task are a queue,
 * whose first one is shown.
 */
export function PendingRequests({ chat }: { chat: Chat }): JSX.Element {
  const quest = chat.quest.value;
  const approvals = chat.store.pendingApprovals.value
    .filter((approval) => quest !== null && approval.questId === quest.id)
    .toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
  const [approval] = approvals;
  const waiting = quest?.status === "waiting" && quest.waitingFor?.kind === "answer" ? quest.waitingFor : null;
  return (
    <div class="requests">
      <OtherTasks chat={chat} />
      {approval !== undefined && (
        <ApprovalCard
          key={approval.id}
          approval={approval}
          bridge={chat.bridge}
          store={chat.store}
          queue={{ at: 1, of: approvals.length }}
          onKeys={chat.takeApprovalKeys}
        />
      )}
      {quest !== null && waiting !== null && <QuestionCard key={waiting.id} quest={quest} waiting={waiting} chat={chat} />}
    </div>
  );
}
