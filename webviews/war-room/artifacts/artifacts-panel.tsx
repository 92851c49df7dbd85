import type { JSX } from "preact";
import type { Artifact } from "../../../agent-server/contract/artifacts.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, RelativeTime, State, type StateProps } from "../../shared/components.tsx";
import { count, t } from "../../shared/l10n.ts";
import { Markdown } from "../../shared/markdown/markdown.tsx";
import { planState } from "../../shared/plan-state.ts";
import { Placeholder } from "../live-panel.tsx";
import { ListWithDetail } from "../list-with-detail.tsx";
import { FilterBar } from "../search-field.tsx";
import { Select } from "../select.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { type ArtifactFilters, noArtifactFilters } from "./artifacts-state.ts";

const rowHeight = 46;
/** Number of tasks that the filter offers, and characters of their titles. */
const maxTasks = 100;
const maxTaskTitle = 60;

function kindState(kind: Artifact["kind"]): StateProps {
  switch (kind) {
    case "section":
      return { icon: "note", text: t("Section of an answer") };
    case "plan":
      return { icon: "checklist", text: t("Plan") };
    case "reasoning":
      return { icon: "lightbulb", text: t("Strategy") };
  }
}

function Row({ artifact }: { artifact: Artifact }): JSX.Element {
  const { kind, title, questTitle, planStatus, at } = artifact;
  return (
    <div class="memory-row">
      <span class="memory-row-title">
        <State {...kindState(kind)} quiet />
        <span class="ellipsis">{title}</span>
      </span>
      <span class="quiet memory-row-facts">
        {planStatus !== undefined && <span>{planState(planStatus).text}</span>}
        <span class="ellipsis">{questTitle}</span>
        <RelativeTime at={at} />
      </span>
    </div>
  );
}

function Detail({ warRoom, artifact }: { warRoom: WarRoom; artifact: Artifact }): JSX.Element {
  const { kind, questId, questTitle, planStatus, at, text } = artifact;
  return (
    <>
      <p class="state-line">
        <State {...kindState(kind)} />
        {planStatus !== undefined && <State {...planState(planStatus)} />}
        <RelativeTime at={at} />
      </p>
      <p class="quiet">
        {t("Task:")} {questTitle}
      </p>
      <div class="actions">
        <Button testId="open-task" icon="comment-discussion" onClick={() => warRoom.bridge.ui(commandAction("openChat", { questId }))}>
          {t("Open Task")}
        </Button>
        <Button testId="copy-artifact" icon="copy" onClick={() => warRoom.bridge.ui({ action: "copy", text })}>
          {t("Copy")}
        </Button>
      </div>
      <div data-testid="artifact-text">
        <Markdown text={text} streaming={false} bridge={warRoom.bridge} />
      </div>
    </>
  );
}

function Filters({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { filters, selected } = warRoom.artifacts;
  const current = filters.value;
  const change = (next: ArtifactFilters): void => {
    selected.value = null;
    filters.value = next;
  };
  const tasks = warRoom.store.recentQuests.value
    .slice(0, maxTasks)
    .map(({ id, title }) => ({ value: id, text: title.slice(0, maxTaskTitle) }));
  const isListed = current.questId === "" || tasks.some(({ value }) => value === current.questId);
  const title = warRoom.store.quests.value.get(current.questId)?.title ?? t("This task");
  return (
    <div class="toolbar">
      <FilterBar
        label={t("Search artifacts")}
        testId="search-artifacts"
        query={current.query}
        onQuery={(query) => change({ ...filters.peek(), query })}
        filtered={current.query !== "" || current.questId !== ""}
        onClear={() => change(noArtifactFilters)}
      >
        <Select
          label={t("Task")}
          value={current.questId}
          options={[
            { value: "", text: t("All tasks") },
            ...(isListed ? [] : [{ value: current.questId, text: title.slice(0, maxTaskTitle) }]),
            ...tasks,
          ]}
          onChange={(questId) => change({ ...filters.peek(), questId })}
        />
      </FilterBar>
    </div>
  );
}

function Empty({ filtered }: { filtered: boolean }): JSX.Element {
  if (filtered) return <Placeholder icon="library" title={t("No artifacts match these filters.")} />;
  return (
    <Placeholder
      icon="library"
      title={t("No artifacts yet.")}
      text={t("Plans, strategies, and the assumptions, risks, estimates and other details of answers appear here.")}
    />
  );
}

/** What the tasks of this workspace produced besides their answers: details of answers, plans and reasoning. */
export function ArtifactsPanel({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { list, selected, shown, filters } = warRoom.artifacts;
  if (warRoom.bridge.host.value.state !== "ready" && !list.loaded.value)
    return <div class="nothing quiet">{t("Start the agent host to see this content.")}</div>;
  const artifact = shown.value;
  const missing = (
    <p class="quiet" data-testid="artifact-missing">
      {list.loaded.value ? t("This artifact no longer exists. Its message may have been edited or deleted.") : t("Loading…")}
    </p>
  );
  return (
    <div class="artifacts receipts">
      <ListWithDetail
        id="artifact"
        label={t("Artifacts, newest first")}
        pages={list}
        filterKey={JSON.stringify(filters.value)}
        keyOf={({ id }) => id}
        rowHeight={rowHeight}
        row={(item) => <Row artifact={item} />}
        selected={selected}
        empty={<Empty filtered={JSON.stringify(filters.value) !== JSON.stringify(noArtifactFilters)} />}
        countText={(n) => count(n, "{0} artifact", "{0} artifacts")}
        before={<Filters warRoom={warRoom} />}
        detail={
          selected.value === null
            ? null
            : {
                heading: artifact?.title ?? t("Artifact"),
                body: artifact === null ? missing : <Detail key={artifact.id} warRoom={warRoom} artifact={artifact} />,
              }
        }
      />
    </div>
  );
}
