import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { problemOf } from "../shared/bridge.ts";
import { Icon, IconButton, Problem } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";
import { matchingCommands, type SlashCommand } from "./commands.ts";
import { composerAction } from "./composer-keys.ts";
import { readImage } from "./images.ts";
import { complete, droppedPaths, insertMentions, type Trigger, triggerAt } from "./mentions.ts";
import type { Chat } from "./state.ts";

type Suggestion = { readonly kind: "file"; readonly path: string } | { readonly kind: "command"; readonly command: SlashCommand };

interface Popup {
  readonly trigger: Trigger;
  readonly items: readonly Suggestion[];
  readonly active: number;
}

const largestImages = 5;

function labelOf(item: Suggestion): string {
  return item.kind === "file" ? item.path : `/${item.command.name}`;
}

function SuggestionRow({ item }: { item: Suggestion }): JSX.Element {
  if (item.kind === "command") {
    return (
      <>
        <Icon name="terminal" />
        <span>/{item.command.name}</span>
        <span class="quiet ellipsis">{item.command.description}</span>
      </>
    );
  }
  const slash = item.path.lastIndexOf("/");
  return (
    <>
      <Icon name="file" />
      <span>{item.path.slice(slash + 1)}</span>
      <span class="quiet ellipsis">{slash < 0 ? "" : item.path.slice(0, slash)}</span>
    </>
  );
}

/** Where the file that the owner had moved to stands in a newer list; the first where they had not moved, or it is gone. */
function sameFile(before: Popup | null, paths: readonly string[]): number {
  const chosen = before !== null && before.active > 0 ? before.items[before.active] : undefined;
  return chosen?.kind === "file" ? Math.max(0, paths.indexOf(chosen.path)) : 0;
}

/** Where the owner writes: `@` files, `/` commands, pictures, history; Enter sends, Esc stops. */
export function Composer({ chat }: { chat: Chat }): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const popup = useSignal<Popup | null>(null);
  /** The word whose list was closed with Esc; it stays closed. */
  const dismissed = useSignal<string | null>(null);
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

  useLayoutEffect(() => {
    const element = field.current;
    if (element === null) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight + 2, Math.max(90, window.innerHeight * 0.4))}px`;
  }, [draft.value]);

  useEffect(() => {
    if (chat.focusRequests.value === 0) return;
    const element = field.current;
    element?.focus();
    element?.setSelectionRange(element.value.length, element.value.length);
  }, [chat.focusRequests.value]);

  // The list under the word at the caret. Older answers are dropped when the word changes.
  useEffect(() => {
    const trigger = triggerAt(draft.value, caret.value);
    const word = trigger === null ? null : draft.value.slice(trigger.start, caret.value);
    if (word !== dismissed.peek()) dismissed.value = null;
    if (trigger === null || dismissed.peek() !== null) {
      popup.value = null;
      return undefined;
    }
    if (trigger.kind === "command") {
      const items = matchingCommands(trigger.query).map((command) => ({ kind: "command" as const, command }));
      popup.value = items.length === 0 ? null : { trigger, items, active: 0 };
      return undefined;
    }
    const stop = new AbortController();
    chat.bridge
      .call("workspace.files", { query: trigger.query, limit: 20 }, stop.signal)
      .then(({ items }) => {
        if (stop.signal.aborted) return;
        popup.value =
          items.length === 0
            ? null
            : { trigger, items: items.map((path) => ({ kind: "file", path })), active: sameFile(popup.peek(), items) };
      })
      .catch(() => {
        popup.value = null;
      });
    return () => stop.abort();
  }, [draft.value, caret.value]);

  const accept = (shown: Popup, item: Suggestion): void => {
    popup.value = null;
    if (item.kind === "command" && item.command.kind === "action") {
      draft.value = "";
      chat.run(item.command.name);
      return;
    }
    const replacement = item.kind === "file" ? `@${item.path}` : labelOf(item);
    if (item.kind === "file") chat.chosen.value = [...chat.chosen.peek(), item.path];
    const edit = complete(draft.peek(), shown.trigger.start, caret.peek(), replacement);
    setText(edit.text, edit.caret);
  };

  const recall = (step: -1 | 1): void => {
    const texts = chat.history.peek();
    const next = (historyAt.peek() ?? texts.length) + step;
    if (next < 0) return;
    historyAt.value = next >= texts.length ? null : next;
    const text = texts[next] ?? "";
    setText(text, text.length);
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    const shown = popup.peek();
    const at = historyAt.peek();
    const action = composerAction({
      key: event.key,
      shift: event.shiftKey,
      modified: event.ctrlKey || event.altKey || event.metaKey,
      composing: event.isComposing,
      popup: shown !== null,
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
      case "stop":
        return chat.stop();
      case "cancelEdit":
        return chat.cancelEdit();
      case "historyBack":
        return recall(-1);
      case "historyForward":
        return recall(1);
      case "popupClose":
        if (shown !== null) dismissed.value = draft.peek().slice(shown.trigger.start, caret.peek());
        popup.value = null;
        return;
      case "popupAccept": {
        const item = shown?.items[shown.active];
        if (shown !== null && item !== undefined) accept(shown, item);
        return;
      }
      case "popupNext":
      case "popupPrevious": {
        if (shown === null) return;
        const { length } = shown.items;
        const active = (shown.active + (action === "popupNext" ? 1 : length - 1)) % length;
        popup.value = { ...shown, active };
        document.getElementById(`suggestion-${active}`)?.scrollIntoView({ block: "nearest" });
      }
    }
  };

  const attach = async (files: readonly File[]): Promise<void> => {
    chat.problem.value = null;
    for (const file of files) {
      if (chat.images.peek().length >= largestImages) {
        chat.problem.value = t("A message can have at most {0} pictures.", largestImages);
        return;
      }
      try {
        chat.images.value = [...chat.images.peek(), await readImage(file)];
      } catch (error) {
        chat.problem.value = problemOf(error);
      }
    }
  };

  const mentionDropped = async (uris: readonly string[]): Promise<void> => {
    const workspace = chat.store.info.peek()?.workspace ?? "";
    const paths: string[] = [];
    for (const uri of uris) {
      for (const candidate of workspace === "" ? [] : droppedPaths(uri, workspace)) {
        const { items } = await chat.bridge.call("workspace.files", { query: candidate, limit: 20 });
        if (items.includes(candidate)) {
          paths.push(candidate);
          break;
        }
      }
    }
    if (paths.length < uris.length) chat.problem.value = t("Only files of this workspace can be mentioned.");
    if (paths.length === 0) return;
    chat.chosen.value = [...chat.chosen.peek(), ...paths];
    const edit = insertMentions(draft.peek(), caret.peek(), paths);
    setText(edit.text, edit.caret);
  };

  const onDrop = (event: DragEvent): void => {
    dragging.value = false;
    const data = event.dataTransfer;
    if (data === null) return;
    event.preventDefault();
    const uris = (data.getData("application/vnd.code.uri-list") || data.getData("text/uri-list"))
      .split(/\r?\n/)
      .filter((line) => line.startsWith("file:") || line.startsWith("vscode-remote:"));
    const files = [...data.files];
    if (files.some((file) => file.type.startsWith("image/"))) void attach(files);
    else if (uris.length > 0) {
      mentionDropped(uris).catch((error: unknown) => {
        chat.problem.value = problemOf(error);
      });
    } else if (files.length > 0) void attach(files);
  };

  const onPaste = (event: ClipboardEvent): void => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    void attach(files);
  };

  const trackCaret = (): void => {
    caret.value = field.current?.selectionStart ?? 0;
  };
  const shown = popup.value;
  const placeholder = running.value ? t("Add to the running task…") : t("Ask Lancelot to do something…");

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
      {chat.problem.value !== null && (
        <Problem text={chat.problem.value}>
          <IconButton
            icon="close"
            label={t("Dismiss")}
            onClick={() => {
              chat.problem.value = null;
            }}
          />
        </Problem>
      )}
      {editing.value !== null && (
        <div class="editing">
          <Icon name="edit" />
          <span>{t("Editing a message: it and what follows are replaced.")}</span>
          <IconButton icon="close" label={t("Stop editing")} onClick={chat.cancelEdit} />
        </div>
      )}
      {chat.crusader.value && (
        <div class="editing crusader" role="status">
          <Icon name="flame" />
          <span>
            {t(
              "Crusader mode for the next message: edits in the workspace are applied after a checkpoint. Approvals and the soul still hold.",
            )}
          </span>
        </div>
      )}
      {shown !== null && (
        <div class="suggestions" id="suggestions" role="listbox" aria-label={shown.trigger.kind === "command" ? t("Commands") : t("Files")}>
          {shown.items.map((item, index) => (
            <div
              key={labelOf(item)}
              id={`suggestion-${index}`}
              role="option"
              aria-selected={index === shown.active}
              class={`suggestion ${index === shown.active ? "active" : ""}`}
              title={labelOf(item)}
              onMouseDown={(event) => {
                event.preventDefault();
                accept(shown, item);
              }}
            >
              <SuggestionRow item={item} />
            </div>
          ))}
        </div>
      )}
      <div class="composer-box">
        {chat.images.value.length > 0 && (
          <ul class="attachments" aria-label={t("Attached pictures")}>
            {chat.images.value.map((image, index) => (
              <li key={index}>
                <img src={`data:${image.mediaType};base64,${image.data}`} alt={t("Picture {0}", index + 1)} />
                <IconButton
                  icon="close"
                  label={t("Remove picture {0}", index + 1)}
                  onClick={() => {
                    chat.images.value = chat.images.peek().filter((_, at) => at !== index);
                  }}
                />
              </li>
            ))}
          </ul>
        )}
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
            icon="mention"
            label={t("Mention a file")}
            onClick={() => {
              const at = field.current?.selectionStart ?? draft.peek().length;
              const gap = at === 0 || /\s$/.test(draft.peek().slice(0, at)) ? "" : " ";
              setText(`${draft.peek().slice(0, at)}${gap}@${draft.peek().slice(at)}`, at + gap.length + 1);
            }}
          />
          <IconButton icon="file-media" label={t("Attach a picture")} onClick={() => picker.current?.click()} />
          <input
            ref={picker}
            type="file"
            accept="image/png,image/jpeg,image/gif,image/webp"
            multiple
            hidden
            aria-label={t("Pictures")}
            onChange={(event) => {
              void attach([...(event.currentTarget.files ?? [])]);
              event.currentTarget.value = "";
            }}
          />
          <IconButton
            icon="flame"
            label={t("Crusader mode for the next message")}
            pressed={chat.crusader.value}
            onClick={() => {
              chat.crusader.value = !chat.crusader.peek();
            }}
          />
          <span class="spring" />
          <IconButton
            icon={chat.sending.value ? "loading" : "send"}
            label={running.value ? t("Add to the task (Enter)") : t("Send (Enter)")}
            disabled={chat.sending.value || (draft.value.trim() === "" && chat.images.value.length === 0)}
            onClick={() => void chat.send()}
          />
        </div>
      </div>
    </div>
  );
}
