import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { CrusaderBadge, IconButton, Problem } from "../shared/components.tsx";
import { HostBanner } from "../shared/host-state.tsx";
import { t } from "../shared/l10n.ts";
import { plainText } from "../shared/message-log.ts";
import { Composer } from "./composer.tsx";
import { Empty, modelProblem, NoModel } from "./empty.tsx";
import { Footer } from "./footer.tsx";
import { MessageList } from "./message-list.tsx";
import { Quests } from "./quests.tsx";
import type { Chat } from "./state.ts";
import { PlanCard, StatusLine, Waiting } from "./waiting.tsx";

/** Characters of an answer that are read out; the rest is in the list. */
const longestAnnounced = 1000;

/** Says what happened to a screen reader: answers when they are whole, and what waits for the owner. */
function Announcer({ chat }: { chat: Chat }): JSX.Element {
  const said = useSignal("");
  useEffect(
    () =>
      chat.conversation.onFinished((message) => {
        const text = plainText(message);
        if (text !== "") said.value = text.slice(0, longestAnnounced);
      }),
    [chat],
  );
  const shown = chat.conversation.questId.value;
  useEffect(() => {
    said.value = "";
  }, [shown]);
  const quest = chat.quest.value;
  const waiting = quest?.status === "waiting" ? quest.waitingFor : null;
  useEffect(() => {
    if (waiting === null) return;
    if (waiting.kind === "approval") said.value = t("Lancelot asks for your approval.");
    else if (waiting.kind === "answer") said.value = waiting.question ?? t("Lancelot asks you something.");
    else said.value = t("Changes wait for your review.");
  }, [waiting?.id, waiting?.kind]);
  return (
    <div class="sr-only" role="status" aria-live="polite">
      {said.value}
    </div>
  );
}

function Header({ chat }: { chat: Chat }): JSX.Element {
  const listing = chat.page.value === "quests";
  const quest = chat.quest.value;
  return (
    <header class="header">
      <IconButton
        icon={listing ? "arrow-left" : "history"}
        label={listing ? t("Back to the task") : t("Tasks")}
        pressed={listing}
        onClick={() => {
          chat.page.value = listing ? "conversation" : "quests";
        }}
      />
      <h1 class="header-title" title={quest?.title}>
        {listing ? t("Tasks") : (quest?.title ?? t("New task"))}
      </h1>
      {!listing && quest?.mode === "crusader" && <CrusaderBadge />}
      <IconButton icon="add" label={t("New task")} onClick={chat.newQuest} />
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
          <Empty chat={chat} />
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
        <Waiting chat={chat} />
        {noModel !== null && !chat.running.value && <NoModel chat={chat} problem={noModel} />}
      </MessageList>
      <StatusLine chat={chat} />
    </>
  );
}

/** The chat of the sidebar. */
export function App({ chat }: { chat: Chat }): JSX.Element {
  useEffect(() => {
    // Esc leads back to the composer from anywhere that has no other use for it.
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
          <Composer chat={chat} />
        </>
      )}
      <Footer chat={chat} />
      <Announcer chat={chat} />
    </main>
  );
}
