import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { ContextName } from "../../agent-server/contract/chat.ts";
import { Icon } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";
import { matchingCommands, type SlashCommand } from "./slash-commands.ts";
import { complete, type TextEdit, type Trigger, triggerAt } from "./mentions.ts";
import type { Chat } from "./chat-state.ts";

type Suggestion =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "context"; readonly name: ContextName; readonly description: string }
  | { readonly kind: "command"; readonly command: SlashCommand };

interface Popup {
  readonly trigger: Trigger;
  readonly items: readonly Suggestion[];
  readonly active: number;
}

/** The completion list at the caret: context and files after `@`, commands after `/`. */
export interface Suggestions {
  readonly popup: ReadonlySignal<Popup | null>;
  move(step: 1 | -1): void;
  /** Accepts the active item, or the item at `index`. */
  accept(index?: number): void;
  /** Closes the list until the token changes. */
  dismiss(): void;
}

function labelOf(item: Suggestion): string {
  switch (item.kind) {
    case "file":
      return item.path;
    case "context":
      return `@${item.name}`;
    case "command":
      return `/${item.command.name}`;
  }
}

/** What can be mentioned beside files, as far as the typed word allows. */
function matchingContexts(query: string): Suggestion[] {
  const descriptions: Readonly<Record<ContextName, string>> = {
    problems: t("Problems that the editor shows"),
    diff: t("Changes that are not committed"),
  };
  return (Object.keys(descriptions) as ContextName[])
    .filter((name) => name.startsWith(query.toLowerCase()))
    .map((name) => ({ kind: "context", name, description: descriptions[name] }));
}

/** Keeps the user's selection when a newer list arrives; falls back to the first item. */
function indexOfSelected(before: Popup | null, items: readonly Suggestion[]): number {
  const chosen = before !== null && before.active > 0 ? before.items[before.active] : undefined;
  return chosen === undefined ? 0 : Math.max(0, items.map(labelOf).indexOf(labelOf(chosen)));
}

/** @param replace puts the completed text into the field. */
export function useSuggestions(chat: Chat, caret: Signal<number>, replace: (edit: TextEdit) => void): Suggestions {
  const { draft } = chat;
  const popup = useSignal<Popup | null>(null);
  /** Commands of Markdown files, as they were when they were last listed. */
  const custom = useSignal<readonly SlashCommand[]>([]);
  /** The token whose list the user closed with Escape. */
  const dismissed = useSignal<string | null>(null);

  // The abort signal drops outdated results when the token changes.
  useEffect(() => {
    const trigger = triggerAt(draft.value, caret.value);
    const word = trigger === null ? null : draft.value.slice(trigger.start, caret.value);
    if (word !== dismissed.peek()) dismissed.value = null;
    if (trigger === null || dismissed.peek() !== null) {
      popup.value = null;
      return undefined;
    }
    if (trigger.kind === "command") {
      const show = (custom: readonly SlashCommand[]): void => {
        const items = matchingCommands(trigger.query, custom).map((command) => ({ kind: "command" as const, command }));
        const active = Math.min(popup.peek()?.active ?? 0, Math.max(0, items.length - 1));
        popup.value = items.length === 0 ? null : { trigger, items, active };
      };
      popup.value = null;
      show(custom.peek());
      const stop = new AbortController();
      chat.bridge
        .call("commands.list", {}, stop.signal)
        .then(({ items }) => {
          if (stop.signal.aborted) return;
          custom.value = items.map(({ name, description }) => ({ kind: "prompt" as const, name, description }));
          // A list that the user closed meanwhile stays closed.
          if (dismissed.peek() === null) show(custom.peek());
        })
        .catch(() => {
          // Without them, the product's own commands are listed.
        });
      return () => stop.abort();
    }
    const stop = new AbortController();
    const show = (paths: readonly string[]): void => {
      const contexts = matchingContexts(trigger.query);
      const files = paths.map((path): Suggestion => ({ kind: "file", path }));
      // One letter is more often the beginning of a file's name.
      const items = trigger.query.length === 1 ? [...files, ...contexts] : [...contexts, ...files];
      popup.value = items.length === 0 ? null : { trigger, items, active: indexOfSelected(popup.peek(), items) };
    };
    chat.bridge
      .call("workspace.files", { query: trigger.query, limit: 20 }, stop.signal)
      .then(({ items }) => {
        if (stop.signal.aborted) return;
        show(items);
      })
      .catch(() => {
        if (!stop.signal.aborted) show([]);
      });
    return () => stop.abort();
  }, [draft.value, caret.value]);

  return {
    popup,
    accept(index) {
      const shown = popup.peek();
      const item = shown?.items[index ?? shown.active];
      if (shown === null || item === undefined) return;
      popup.value = null;
      if (item.kind === "command" && item.command.kind === "action") {
        draft.value = "";
        chat.run(item.command.name);
        return;
      }
      const replacement = item.kind === "file" ? `@${item.path}` : labelOf(item);
      if (item.kind === "file") chat.chosen.value = [...chat.chosen.peek(), item.path];
      replace(complete(draft.peek(), shown.trigger.start, caret.peek(), replacement));
    },
    move(step) {
      const shown = popup.peek();
      if (shown === null) return;
      const { length } = shown.items;
      const active = (shown.active + step + length) % length;
      popup.value = { ...shown, active };
      document.getElementById(`suggestion-${active}`)?.scrollIntoView({ block: "nearest" });
    },
    dismiss() {
      const shown = popup.peek();
      if (shown !== null) dismissed.value = draft.peek().slice(shown.trigger.start, caret.peek());
      popup.value = null;
    },
  };
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
  if (item.kind === "context") {
    return (
      <>
        <Icon name={item.name === "problems" ? "warning" : "git-commit"} />
        <span>@{item.name}</span>
        <span class="quiet ellipsis">{item.description}</span>
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

/** Draws the list. The text field refers to its rows as `suggestion-<index>`. */
export function SuggestionList({ suggestions }: { suggestions: Suggestions }): JSX.Element | null {
  const shown = suggestions.popup.value;
  if (shown === null) return null;
  return (
    <div
      class="suggestions"
      id="suggestions"
      role="listbox"
      tabIndex={0}
      aria-label={shown.trigger.kind === "command" ? t("Commands") : t("Files and context")}
    >
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
            suggestions.accept(index);
          }}
        >
          <SuggestionRow item={item} />
        </div>
      ))}
    </div>
  );
}
