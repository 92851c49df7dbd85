import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon, IconButton, Problem } from "../shared/components.tsx";
import { count, t } from "../shared/l10n.ts";
import { AttachedImages, attach, ImagePicker, handleDrop } from "./attachments.tsx";
import { composerAction } from "./composer-keys.ts";
import { type ComposerMode, composerModes, type ModeChoice } from "./composer-mode.ts";
import { insertMentions } from "./mentions.ts";
import type { Chat } from "./chat-state.ts";
import { SuggestionList, useSuggestions } from "./suggestions.tsx";

/** The notices above the field: errors, edit mode, crusader mode and unsent messages. */
function Notices({ chat }: { chat: Chat }): JSX.Element {
  const outgoing = chat.outgoing.value;
  return (
    <>
      {chat.problem.value !== null && (
        <Problem text={chat.problem.value}>
          <IconButton
            testId="dismiss"
            icon="close"
            label={t("Dismiss")}
            onClick={() => {
              chat.problem.value = null;
            }}
          />
        </Problem>
      )}
      {outgoing.length > 0 && (
        <div class="outgoing" role="status">
          <Icon name="loading" spin />
          <span class="ellipsis">{t("Sending: {0}", outgoing[0]?.text ?? "")}</span>
          {outgoing.length > 1 && <span class="quiet">{count(outgoing.length - 1, "{0} more queued", "{0} more queued")}</span>}
        </div>
      )}
      {chat.editing.value !== null && (
        <div class="editing">
          <Icon name="edit" />
          <span>{t("You are editing a message. Sending it replaces the message and everything after it.")}</span>
          <IconButton testId="cancel-edit" icon="close" label={t("Cancel Edit")} onClick={chat.cancelEdit} />
        </div>
      )}
      {chat.crusader.value && (
        <div class="editing crusader" role="status" data-testid="crusader-notice">
          <Icon name="flame" />
          <span>
            {t(
              "Crusader mode is on for the next message: Lancelot applies edits in the workspace after a checkpoint. Approvals and the soul still apply.",
            )}
          </span>
        </div>
      )}
    </>
  );
}

/** What happens to the edits of the task, or that a plan comes first. Ctrl+. goes to the next. */
function ModeSelect({ choice }: { choice: ModeChoice }): JSX.Element {
  const names: Readonly<Record<ComposerMode, string>> = { plan: t("Plan"), review: t("Review edits"), auto: t("Auto-apply") };
  const meanings: Readonly<Record<ComposerMode, string>> = {
    plan: t("Plan: nothing is changed until you approve a plan."),
    review: t("Review edits: Lancelot proposes edits, and you review them before they are applied."),
    auto: t("Auto-apply: Lancelot applies edits after a checkpoint, and you can undo them. Approvals and the soul still apply."),
  };
  const mode = choice.mode.value;
  return (
    <>
      <select
        class="composer-mode"
        data-testid="mode"
        aria-label={t("Mode")}
        title={`${meanings[mode]}\n${t("Ctrl+. chooses the next mode.")}`}
        value={mode}
        onChange={(event) => {
          const chosen = composerModes.find((one) => one === event.currentTarget.value);
          if (chosen !== undefined) choice.choose(chosen);
          // The host may refuse it, and answers later.
          event.currentTarget.value = choice.mode.peek();
        }}
      >
        {composerModes.map((one) => (
          <option key={one} value={one}>
            {names[one]}
          </option>
        ))}
      </select>
      <span class="sr-only" role="status">
        {meanings[mode]}
      </span>
    </>
  );
}

function placeholderOf({ approvalKeys, running }: Chat): string {
  if (approvalKeys.value !== null) return t("Ctrl+Enter allows once, Ctrl+Backspace denies. Or write to the task…");
  return running.value ? t("Add a message to the running task…") : t("What should I do?");
}

/** The message field with `@` mentions, `/` commands, images and history. Enter sends, Escape stops; while an approval waits, Ctrl+Enter allows it once. */
export function Composer({ chat }: { chat: Chat }): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  const caret = useSignal(0);
  const historyAt = useSignal<number | null>(null);
  const dragging = useSignal(false);
  const { draft, running, editing } = chat;

  const setText = (text: string, at: number): void => {
    draft.value = text;
    requestAnimationFrame(() => {
      field.current?.focus();
      field.current?.setSelectionRange(at, at);
      caret.value = at;
    });
  };
  const suggestions = useSuggestions(chat, caret, (edit) => setText(edit.text, edit.caret));

  useLayoutEffect(() => {
    const element = field.current;
    if (element === null) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight + 2, Math.max(90, window.innerHeight * 0.4))}px`;
  }, [draft.value]);

  // A layout effect runs before the next key event, so no key lands at the old caret position.
  useLayoutEffect(() => {
    if (chat.focusRequests.value === 0) return;
    const element = field.current;
    element?.focus();
    element?.setSelectionRange(element.value.length, element.value.length);
  }, [chat.focusRequests.value]);

  const recall = (step: -1 | 1): void => {
    const texts = chat.history.peek();
    const next = (historyAt.peek() ?? texts.length) + step;
    if (next < 0) return;
    historyAt.value = next >= texts.length ? null : next;
    const text = texts[next] ?? "";
    setText(text, text.length);
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    const at = historyAt.peek();
    const action = composerAction({
      key: event.key,
      shift: event.shiftKey,
      modified: event.ctrlKey || event.altKey || event.metaKey,
      command: (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && !event.repeat,
      asked: chat.approvalKeys.peek() !== null,
      composing: event.isComposing,
      popup: suggestions.popup.peek() !== null,
      empty: draft.peek() === "",
      fromHistory: at !== null && chat.history.peek()[at] === draft.peek(),
      running: running.peek(),
      editing: editing.peek() !== null,
    });
    if (action === null) return;
    event.preventDefault();
    event.stopPropagation();
    switch (action) {
      case "send":
        historyAt.value = null;
        void chat.send();
        return;
      case "approve":
        return chat.approvalKeys.peek()?.("allow_once");
      case "deny":
        return chat.approvalKeys.peek()?.("deny");
      case "nextMode":
        return chat.mode.next();
      case "stop":
        return chat.stop();
      case "cancelEdit":
        return chat.cancelEdit();
      case "historyBack":
        return recall(-1);
      case "historyForward":
        return recall(1);
      case "popupClose":
        return suggestions.dismiss();
      case "popupAccept":
        return suggestions.accept();
      case "popupNext":
        return suggestions.move(1);
      case "popupPrevious":
        return suggestions.move(-1);
    }
  };

  const onDrop = (event: DragEvent): void => {
    dragging.value = false;
    if (event.dataTransfer === null) return;
    event.preventDefault();
    handleDrop(chat, event.dataTransfer, (paths) => {
      chat.chosen.value = [...chat.chosen.peek(), ...paths];
      const edit = insertMentions(draft.peek(), caret.peek(), paths);
      setText(edit.text, edit.caret);
    });
  };

  const onPaste = (event: ClipboardEvent): void => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    void attach(chat, files);
  };

  const trackCaret = (): void => {
    caret.value = field.current?.selectionStart ?? 0;
  };
  const shown = suggestions.popup.value;
  const placeholder = placeholderOf(chat);

  return (
    <div
      class={`composer ${dragging.value ? "dragging" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        dragging.value = true;
      }}
      onDragLeave={() => {
        dragging.value = false;
      }}
      onDrop={onDrop}
    >
      <Notices chat={chat} />
      <SuggestionList suggestions={suggestions} />
      <div class="composer-box">
        <AttachedImages chat={chat} />
        <textarea
          ref={field}
          rows={2}
          aria-label={placeholder}
          aria-autocomplete="list"
          aria-haspopup="listbox"
          aria-controls={shown === null ? undefined : "suggestions"}
          aria-activedescendant={shown === null ? undefined : `suggestion-${shown.active}`}
          placeholder={placeholder}
          value={draft.value}
          maxLength={100_000}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
            trackCaret();
          }}
          onKeyDown={onKeyDown}
          onKeyUp={trackCaret}
          onClick={trackCaret}
          onPaste={onPaste}
        />
        <div class="composer-tools">
          <IconButton
            testId="mention-file"
            icon="mention"
            label={t("Mention File")}
            onClick={() => {
              const at = field.current?.selectionStart ?? draft.peek().length;
              const gap = at === 0 || /\s$/.test(draft.peek().slice(0, at)) ? "" : " ";
              setText(`${draft.peek().slice(0, at)}${gap}@${draft.peek().slice(at)}`, at + gap.length + 1);
            }}
          />
          <ImagePicker chat={chat} />
          <IconButton
            testId="crusader-mode"
            icon="flame"
            label={t("Crusader Mode for Next Message")}
            pressed={chat.crusader.value}
            onClick={() => {
              chat.crusader.value = !chat.crusader.peek();
            }}
          />
          <ModeSelect choice={chat.mode} />
          <span class="spring" />
          <IconButton
            testId="send"
            icon="send"
            label={running.value ? t("Add to Task (Enter)") : t("Send (Enter)")}
            disabled={draft.value.trim() === "" && chat.images.value.length === 0}
            onClick={() => void chat.send()}
          />
        </div>
      </div>
    </div>
  );
}
