import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Quest, QuestStatus } from "../../agent-server/contract/chat.ts";
import { isCancelled, problemOf } from "../shared/bridge.ts";
import { Button, CrusaderBadge, Icon, IconButton, Problem, RelativeTime, State, type StateProps } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";
import type { Chat } from "./chat-state.ts";

function stateOf(status: QuestStatus): StateProps {
  switch (status) {
    case "active":
      return { icon: "loading", text: t("Running"), kind: "", spin: true };
    case "waiting":
      return { icon: "bell", text: t("Waiting for you"), kind: "attention" };
    case "done":
      return { icon: "check", text: t("Done"), kind: "good" };
    case "failed":
      return { icon: "error", text: t("Failed"), kind: "bad" };
    case "cancelled":
      return { icon: "debug-stop", text: t("Stopped"), kind: "quiet" };
    case "interrupted":
      return { icon: "debug-disconnect", text: t("Interrupted"), kind: "attention" };
  }
}

/** Returns a file name for a title, without an extension. */
export function fileNameOf(title: string): string {
  const name = title
    .replaceAll(/[^\p{L}\p{N}]+/gu, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, 60);
  return name === "" ? "task" : name;
}

type RowMode = "plain" | "renaming" | "deleting";

function QuestRow({ quest, chat, onProblem }: { quest: Quest; chat: Chat; onProblem: (text: string) => void }): JSX.Element {
  const mode = useSignal<RowMode>("plain");
  const title = useSignal(quest.title);
  const field = useRef<HTMLInputElement>(null);
  const { id } = quest;
  useEffect(() => {
    if (mode.value === "renaming") field.current?.select();
  }, [mode.value]);

  const attempt = (work: Promise<unknown>): void => void work.catch((error: unknown) => onProblem(problemOf(error)));
  const rename = async (): Promise<void> => {
    mode.value = "plain";
    const newTitle = title.value.trim();
    if (newTitle !== "" && newTitle !== quest.title) chat.store.putQuest(await chat.bridge.call("quests.rename", { id, title: newTitle }));
  };
  const save = async (): Promise<void> => {
    const { markdown } = await chat.bridge.call("quests.export", { id });
    chat.bridge.ui({ action: "saveMarkdown", name: fileNameOf(quest.title), text: markdown });
  };

  if (mode.value === "renaming") {
    return (
      <li class="quest">
        <form
          class="answer-form"
          onSubmit={(event) => {
            event.preventDefault();
            attempt(rename());
          }}
        >
          <input
            ref={field}
            class="field"
            data-testid="task-title"
            aria-label={t("Task title")}
            value={title.value}
            maxLength={200}
            onInput={(event) => {
              title.value = event.currentTarget.value;
            }}
            onKeyDown={(event) => {
              if (event.key === "Escape") mode.value = "plain";
            }}
          />
          <Button testId="save-title" kind="primary" onClick={() => attempt(rename())}>
            {t("Rename")}
          </Button>
        </form>
      </li>
    );
  }
  if (mode.value === "deleting") {
    return (
      <li class="quest confirm">
        <span>{t("Delete “{0}” and its messages? Its receipts are kept.", quest.title)}</span>
        <div class="actions">
          <Button testId="confirm-delete" kind="primary" onClick={() => attempt(chat.bridge.call("quests.delete", { id }))}>
            {t("Delete")}
          </Button>
          <Button
            testId="cancel-delete"
            onClick={() => {
              mode.value = "plain";
            }}
          >
            {t("Cancel")}
          </Button>
        </div>
      </li>
    );
  }
  const resumable = quest.status === "interrupted" || quest.status === "failed" || quest.status === "cancelled";
  return (
    <li class={`quest ${chat.conversation.questId.value === id ? "current" : ""}`}>
      <button type="button" class="quest-open" onClick={() => chat.openQuest(id)}>
        <State {...stateOf(quest.status)} quiet />
        <span class="quest-title">{quest.title}</span>
        {quest.mode === "crusader" && <CrusaderBadge />}
        <span class="quiet">
          <RelativeTime at={quest.updatedAt} />
        </span>
      </button>
      <div class="quest-tools">
        {resumable && (
          <IconButton
            testId={`resume:${id}`}
            icon="debug-continue"
            label={t("Resume {0}", quest.title)}
            onClick={() => {
              chat.openQuest(id);
              chat.resume(id);
            }}
          />
        )}
        <IconButton
          testId={`rename:${id}`}
          icon="edit"
          label={t("Rename {0}", quest.title)}
          onClick={() => {
            title.value = quest.title;
            mode.value = "renaming";
          }}
        />
        <IconButton
          testId={`export:${id}`}
          icon="export"
          label={t("Export {0} as Markdown", quest.title)}
          onClick={() => attempt(save())}
        />
        <IconButton
          testId={`delete:${id}`}
          icon="trash"
          label={t("Delete {0}", quest.title)}
          onClick={() => {
            mode.value = "deleting";
          }}
        />
      </div>
    </li>
  );
}

/** All tasks of this workspace, with search and the actions open, rename, resume, export and delete. */
export function Quests({ chat }: { chat: Chat }): JSX.Element {
  const query = useSignal("");
  const found = useSignal<readonly string[] | null>(null);
  const cursor = useSignal<string | undefined>(undefined);
  const problem = useSignal<string | null>(null);
  const known = chat.store.quests.value;

  const search = async (more: boolean, signal?: AbortSignal): Promise<void> => {
    try {
      const text = query.peek().trim();
      const after = more ? cursor.peek() : undefined;
      const page = await chat.bridge.call(
        "quests.list",
        { limit: 100, ...(text === "" ? {} : { query: text }), ...(after === undefined ? {} : { cursor: after }) },
        signal,
      );
      for (const quest of page.items) chat.store.putQuest(quest);
      const ids = page.items.map((quest) => quest.id);
      found.value = more ? [...(found.peek() ?? []), ...ids] : ids;
      cursor.value = page.nextCursor;
      problem.value = null;
    } catch (error) {
      if (!isCancelled(error)) problem.value = problemOf(error);
    }
  };
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => void search(false, stop.signal), query.value === "" ? 0 : 150);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [query.value, chat.store.generation.value]);

  const all = query.value.trim() === "" ? chat.store.recentQuests.value : (found.value ?? []).flatMap((id) => known.get(id) ?? []);
  return (
    <section class="quests" aria-label={t("Tasks")}>
      <div class="search">
        <Icon name="search" />
        <input
          class="field"
          type="search"
          data-testid="search-tasks"
          aria-label={t("Search tasks")}
          placeholder={t("Search tasks")}
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value;
          }}
        />
      </div>
      {problem.value !== null && <Problem text={problem.value} />}
      {all.length === 0 && found.value !== null && (
        <p class="quiet none">
          {query.value.trim() === "" ? t("No tasks yet. Your tasks appear here.") : t("No tasks match your search.")}
        </p>
      )}
      <ul class="quest-list">
        {all.map((quest) => (
          <QuestRow
            key={quest.id}
            quest={quest}
            chat={chat}
            onProblem={(text) => {
              problem.value = text;
            }}
          />
        ))}
      </ul>
      {cursor.value !== undefined && (
        <Button testId="show-more" kind="link" onClick={() => void search(true)}>
          {t("Show More")}
        </Button>
      )}
    </section>
  );
}
