import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { CrusaderBadge, IconButton, Problem } from "../shared/components.tsx";
import { HostBanner } from "../shared/host-banner.tsx";
import { t } from "../shared/l10n.ts";
import { spokenText } from "../shared/markdown/spoken-text.ts";
import { plainText } from "../shared/message-log.ts";
import { Composer } from "./composer.tsx";
import { StartScreen, modelProblem, NoModel } from "./start-screen.tsx";
import { Footer } from "./footer.tsx";
import { MessageList } from "./message-list.tsx";
import { Quests } from "./quests.tsx";
import type { Chat } from "./chat-state.ts";
import { TaskLeftRow } from "./task-left.tsx";
import { PlanCard, StatusLine } from "./quest-status.tsx";
import { PendingRequests } from "./requests.tsx";

/** Characters of an answer that a screen reader announces. */
const maxAnnouncedLength = 1000;

/** Announces finished answers and pending requests to a screen reader. */
function Announcer({ chat }: { chat: Chat }): JSX.Element {
  const announcement = useSignal("");
  useEffect(
    () =>
      chat.conversation.onFinished((message) => {
        const text = spokenText(plainText(message).slice(0, maxAnnouncedLength));
        if (text !== "") announcement.value = text;
      }),
    [chat],
  );
  const shown = chat.conversation.questId.value;
  useEffect(() => {
    announcement.value = "";
  }, [shown]);
  const quest = chat.quest.value;
  const waiting = quest?.status === "waiting" ? quest.waitingFor : null;
  useEffect(() => {
    if (waiting === null) return;
    if (waiting.kind === "approval") announcement.value = t("Lancelot needs your approval.");
    else if (waiting.kind === "answer") announcement.value = waiting.question ?? t("Lancelot has a question for you.");
    else announcement.value = t("Lancelot proposed changes. Review them to continue.");
  }, [waiting?.id, waiting?.kind]);
  return (
    <div class="sr-only" role="status" aria-live="polite">
      {announcement.value}
    </div>
  );
}

function Header({ chat }: { chat: Chat }): JSX.Element {
  const listing = chat.page.value === "quests";
  const quest = chat.quest.value;
  return (
    <header class="header">
      <IconButton
        testId="toggle-task-list"
        icon={listing ? "arrow-left" : "history"}
        label={listing ? t("Back to Task") : t("Tasks")}
        pressed={listing}
        onClick={() => {
          chat.page.value = listing ? "conversation" : "quests";
        }}
      />
      <h1 class="header-title" title={quest?.title}>
        {listing ? t("Tasks") : (quest?.title ?? t("New task"))}
      </h1>
      {!listing && quest?.mode === "crusader" && <CrusaderBadge />}
      <IconButton testId="new-task" icon="add" label={t("New Task")} onClick={chat.newQuest} />
    </header>
  );
}

function Body({ chat }: { chat: Chat }): JSX.Element {
  const quest = chat.quest.value;
  const { problem, loading, messages, questId } = chat.conversation;
  const noModel = modelProblem(chat.store.models.value);
  if (questId.value === null) {
    return (
      <div class="conversation">
        <div class="messages">
          <StartScreen chat={chat} />
        </div>
      </div>
    );
  }
  return (
    <>
      {quest !== null && <PlanCard quest={quest} />}
      <MessageList chat={chat}>
        {problem.value !== null && <Problem text={problem.value} />}
        {loading.value && messages.value.length === 0 && <p class="quiet none">{t("Loading…")}</p>}
        {noModel !== null && !chat.running.value && <NoModel chat={chat} problem={noModel} />}
      </MessageList>
      <TaskLeftRow chat={chat} />
      <StatusLine chat={chat} />
    </>
  );
}

/** The chat view in the sidebar. */
export function App({ chat }: { chat: Chat }): JSX.Element {
  useEffect(() => {
    // Escape returns the focus to the composer unless another handler used the key.
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      if (chat.page.value === "quests") chat.page.value = "conversation";
      chat.focusRequests.value += 1;
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [chat]);
  return (
    <main class="chat">
      <Header chat={chat} />
      <HostBanner bridge={chat.bridge} />
      {chat.page.value === "quests" ? (
        <Quests chat={chat} />
      ) : (
        <>
          <Body chat={chat} />
          <PendingRequests chat={chat} />
          <Composer chat={chat} />
        </>
      )}
      <Footer chat={chat} />
      <Announcer chat={chat} />
    </main>
  );
}
