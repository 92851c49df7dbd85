import { computed, type Signal } from "@preact/signals";
import type { JSX } from "preact";
import { flushSync, memo } from "preact/compat";
import { useErrorBoundary, useMemo } from "preact/hooks";
import { isAnswer } from "../../agent-server/contract/artifacts.ts";
import type { Message, Part } from "../../agent-server/contract/chat.ts";
import type { AnsweredBy } from "../../agent-server/contract/router.ts";
import { Button, Icon, IconButton, RelativeTime } from "../shared/components.tsx";
import { type CommandName, commandAction } from "../shared/commands.ts";
import { t } from "../shared/l10n.ts";
import { answeredText, laneText, modelName } from "../shared/lanes.ts";
import { plainText } from "../shared/message-log.ts";
import { Markdown } from "../shared/markdown/markdown.tsx";
import { AnswerText } from "./answer-text.tsx";
import type { Chat } from "./chat-state.ts";
import { ReasoningCard } from "./reasoning-card.tsx";
import { OutcomeCard } from "./outcome.tsx";
import { PlanCard } from "./plan-card.tsx";
import { ToolCard } from "./tool-card.tsx";

type Notice = Extract<Part, { type: "notice" }>;

function noticeAction(action: NonNullable<Notice["action"]>): { text: string; command: CommandName | null } {
  switch (action) {
    case "resume":
      return { text: t("Resume"), command: null };
    case "choose_model":
      return { text: t("Choose Model"), command: "chooseModel" };
    case "set_key":
      return { text: t("Set API Key"), command: "setApiKey" };
    case "show_log":
      return { text: t("Show Log"), command: "showLog" };
    case "download_model":
      return { text: t("Download Local Model"), command: "downloadLocalModel" };
    case "raise_cap":
      return { text: t("Change Caps"), command: "setCaps" };
    case "open_memory":
      return { text: t("Open Memory"), command: "openMemory" };
  }
}

function NoticeView({ part, chat, questId }: { part: Notice; chat: Chat; questId: string }): JSX.Element {
  const action = part.action === undefined ? null : noticeAction(part.action);
  const act = (command: CommandName | null): void => {
    if (command === null) chat.resume(questId);
    else if (command === "setCaps") chat.bridge.ui(commandAction(command, { questId }));
    else chat.command(command);
  };
  return (
    <div class={`notice ${part.level}`} role="note">
      <Icon name={part.level === "info" ? "info" : part.level} />
      <span class="sr-only">{part.level === "error" ? t("Error:") : part.level === "warning" ? t("Warning:") : t("Note:")} </span>
      <div class="notice-text">{part.text}</div>
      {action !== null && (
        <Button testId={`notice:${action.command ?? "resume"}`} onClick={() => act(action.command)}>
          {action.text}
        </Button>
      )}
    </div>
  );
}

function Thinking({ text, streaming, chat }: { text: string; streaming: boolean; chat: Chat }): JSX.Element {
  return (
    <details class="thinking">
      <summary>
        <Icon name="chevron-right" />
        <span>{streaming ? t("Thinking…") : t("Reasoning")}</span>
      </summary>
      <Markdown text={text} streaming={streaming} bridge={chat.bridge} />
    </details>
  );
}

/** Shows the model and lane of the answer, with the reason in the tooltip and for a screen reader. */
function AnsweredLine({ by, chat }: { by: AnsweredBy; chat: Chat }): JSX.Element {
  const text = answeredText(by);
  return (
    <div class="answered quiet" title={text}>
      <span class="sr-only">{text}</span>
      <span aria-hidden="true">
        <Icon name={by.lane === "local_utility" || by.lane === "local_redaction" ? "device-desktop" : "sparkle"} />{" "}
        {modelName(chat.store.models.value, by)} · {laneText(by.lane)}
      </span>
    </div>
  );
}

interface PartProps {
  part: Part;
  own: boolean;
  streaming: boolean;
  /** True for a part of a finished answer. */
  answer: boolean;
  questId: string;
  messageId: string;
  index: number;
  chat: Chat;
}

const PartView = memo(function PartView(props: PartProps): JSX.Element | null {
  const { part, own, streaming, answer, questId, messageId, index, chat } = props;
  switch (part.type) {
    case "text":
      if (own) return <div class="own-text">{part.text}</div>;
      return <AnswerText text={part.text} isAnswer={answer} partIndex={index} {...{ streaming, questId, messageId, chat }} />;
    case "thinking":
      return part.text.trim() === "" ? null : <Thinking text={part.text} streaming={streaming} chat={chat} />;
    case "image":
      return /^image\/(png|jpeg|gif|webp)$/.test(part.mediaType) ? (
        <img class="picture" src={`data:${part.mediaType};base64,${part.data}`} alt={t("Attached image")} />
      ) : null;
    case "file":
      return (
        <Button kind="link" icon="file" onClick={() => chat.bridge.ui({ action: "openFile", path: part.path })}>
          {part.path}
        </Button>
      );
    case "reasoning":
      return <ReasoningCard part={part} chat={chat} />;
    case "tool":
      return <ToolCard part={part} chat={chat} />;
    case "plan":
      return <PlanCard planId={part.planId} chat={chat} />;
    case "notice":
      return <NoticeView part={part} chat={chat} questId={questId} />;
    case "outcome":
      return <OutcomeCard part={part} chat={chat} />;
  }
});

/** True for a finished message without text, such as an answer stopped before its first token. */
function isBlank({ open, parts }: Message): boolean {
  return !open && parts.every((part) => (part.type === "text" || part.type === "thinking") && part.text.trim() === "");
}

interface MessageProps {
  message: Signal<Message>;
  /** The message after it. */
  next?: Signal<Message> | undefined;
  chat: Chat;
}

/** True when the next message is by the same model for the same reason: the two share one line that says so. */
function isSameAnswerer(by: AnsweredBy, other: Message | undefined): boolean {
  return other?.answeredBy !== undefined && hasModelParts(other) && answeredText(other.answeredBy) === answeredText(by);
}

/** True when a model wrote something that is shown. */
function hasModelParts(message: Message): boolean {
  return !isBlank(message) && message.parts.some(({ type }) => type !== "notice");
}

/** Characters of a message that name it in a question. */
const maxTitle = 80;

/** A message of the user or of Lancelot. Streaming text redraws only this component. */
export const MessageView = memo(function MessageView({ message, next, chat }: MessageProps): JSX.Element | null {
  const { id, role, parts, open, createdAt, questId, answeredBy } = message.value;
  // A review outcome has the role `user`, but the user did not write it and cannot edit it.
  const own = role === "user" && !(parts.length > 0 && parts.every(({ type }) => type === "notice" || type === "reasoning"));
  const last = parts.length - 1;
  // Computed, so that the text of the next message, which may be streaming, does not redraw this one.
  const isShared = useMemo(
    () => computed(() => message.value.answeredBy !== undefined && isSameAnswerer(message.value.answeredBy, next?.value)),
    [message, next],
  );
  if (isBlank(message.value)) return null;
  return (
    <article
      class={`message ${own ? "user" : "assistant"} ${chat.editing.value?.id === id ? "edited" : ""}`}
      aria-label={own ? t("You") : t("Lancelot")}
      aria-busy={open}
    >
      <h2 class="sr-only">{own ? t("You") : t("Lancelot")}</h2>
      {own && (
        <div class="message-tools">
          <RelativeTime at={createdAt} />
          <IconButton
            testId="restore-to-message"
            icon="discard"
            label={t("Restore Files to Here…")}
            onClick={() => {
              const title = plainText(message.peek()).replace(/\s+/g, " ").slice(0, maxTitle);
              chat.bridge.ui(commandAction("restoreTo", { questId, since: createdAt, title }));
            }}
          />
          <IconButton
            testId="edit-and-resend"
            icon="edit"
            label={t("Edit and Resend")}
            onClick={() => {
              // Draws at once, so that the next key edits this message.
              flushSync(() => chat.edit(message.peek()));
            }}
          />
        </div>
      )}
      {parts.map((part, index) => (
        <PartView
          key={index}
          part={part}
          own={own}
          streaming={open && index === last}
          answer={isAnswer(message.value)}
          questId={questId}
          messageId={id}
          index={index}
          chat={chat}
        />
      ))}
      {answeredBy !== undefined && hasModelParts(message.value) && !isShared.value && <AnsweredLine by={answeredBy} chat={chat} />}
      {open && parts.length === 0 && (
        <div class="quiet working">
          <Icon name="loading" spin />
          <span>{t("Working…")}</span>
        </div>
      )}
    </article>
  );
});

/** A message that cannot be drawn shows as plain text, and the other messages stay. */
export function GuardedMessage({ message, next, chat }: MessageProps): JSX.Element {
  const [failure] = useErrorBoundary();
  if (failure === undefined) return <MessageView message={message} next={next} chat={chat} />;
  const text = message.value.parts.map((part) => ("text" in part ? part.text : "")).join("\n");
  return (
    <article class="message assistant unreadable">
      <div class="notice warning" role="note">
        <Icon name="warning" />
        <div class="notice-text">{t("This message could not be formatted.")}</div>
      </div>
      <pre>{text}</pre>
    </article>
  );
}
