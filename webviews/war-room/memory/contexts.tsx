import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { MemoryItem } from "../../../agent-server/contract/memory.ts";
import { Button, Problem, RelativeTime } from "../../shared/components.tsx";
import { ExactText } from "../../shared/exact-text.tsx";
import { count, formatNumber, t } from "../../shared/l10n.ts";
import { ShareBar } from "../charts.tsx";
import { Meter, Placeholder } from "../live-panel.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { compileActionId } from "./memory-actions.ts";
import { ListWithDetail } from "../list-with-detail.tsx";
import { problemFor, ReceiptLink, TaskLink, TextForm } from "./memory-parts.tsx";
import type { ContextRow, ContextView } from "./memory-state.ts";
import { blockText, contextParts, placeText } from "./memory-labels.ts";

const rowHeight = 46;
const maxObjectiveLength = 20_000;
/** Number of included or excluded items that are shown at first. */
const rowsShown = 20;

function Row({ row }: { row: ContextRow }): JSX.Element {
  return (
    <div class="memory-row">
      <span class="ellipsis">{row.objective === "" ? t("No objective") : row.objective}</span>
      <span class="quiet memory-row-facts">
        <span>{t("{0} of {1} tokens", formatNumber(row.tokenEstimate), formatNumber(row.maxTokens))}</span>
        <span>{count(row.includedItemIds.length, "{0} item included", "{0} items included")}</span>
        <span>{t("{0} excluded", formatNumber(row.excluded.length))}</span>
        <RelativeTime at={row.createdAt} />
      </span>
    </div>
  );
}

/** Shows a candidate as readable text: a block by its name, an item by its content. Falls back to the id. */
function Candidate(props: { warRoom: WarRoom; id: string; texts: ReadonlyMap<string, MemoryItem | null> }): JSX.Element {
  const { warRoom, id, texts } = props;
  if (id.startsWith("core:")) return <strong>{blockText(id.slice("core:".length) as Parameters<typeof blockText>[0])}</strong>;
  const item = texts.get(id);
  if (item === null)
    return (
      <span class="quiet">
        {t("Deleted:")} <span class="mono">{id}</span>
      </span>
    );
  return (
    <button data-testid={`item:${id}`} type="button" class="button link item-link" onClick={() => warRoom.showMemory({ itemId: id })}>
      {item === undefined ? id : `${placeText(item)}: ${item.content}`}
    </button>
  );
}

interface CandidateRow {
  readonly id: string;
  readonly reason: string | null;
}

function CandidateList(props: { warRoom: WarRoom; view: ContextView; rows: readonly CandidateRow[]; none: string }): JSX.Element {
  const { warRoom, view, rows, none } = props;
  const all = useSignal(false);
  if (rows.length === 0) return <p class="quiet">{none}</p>;
  const shown = all.value || rows.length <= rowsShown + 5 ? rows : rows.slice(0, rowsShown);
  return (
    <>
      <ul class="sentences">
        {shown.map(({ id, reason }) => (
          <li key={id}>
            <Candidate warRoom={warRoom} id={id} texts={view.texts} /> {reason !== null && <span class="quiet">{reason}</span>}
          </li>
        ))}
      </ul>
      {shown.length < rows.length && (
        <Button
          testId="show-all"
          kind="link"
          onClick={() => {
            all.value = true;
          }}
        >
          {t("Show All {0}", formatNumber(rows.length))}
        </Button>
      )}
    </>
  );
}

function Detail({ warRoom, view }: { warRoom: WarRoom; view: ContextView }): JSX.Element {
  const { context } = view;
  const { questId, receiptId } = context;
  return (
    <>
      <p class="quiet">
        <RelativeTime at={context.createdAt} /> {questId !== null && <TaskLink warRoom={warRoom} questId={questId} />}{" "}
        {receiptId !== null && <ReceiptLink warRoom={warRoom} id={receiptId} />}
      </p>
      <Meter
        value={context.tokenEstimate}
        max={context.maxTokens}
        label={t("Tokens in this context")}
        text={t("{0} of {1} tokens", formatNumber(context.tokenEstimate), formatNumber(context.maxTokens))}
      />
      <ShareBar parts={contextParts(context.breakdown)} label={t("Tokens by part")} />
      <h3>{t("Included")}</h3>
      <CandidateList
        warRoom={warRoom}
        view={view}
        rows={context.includedItemIds.map((id) => ({ id, reason: null }))}
        none={
          context.includedBlocks.length === 0 ? t("None") : t("Only core blocks: {0}.", context.includedBlocks.map(blockText).join(", "))
        }
      />
      <h3>{t("Excluded, with reasons")}</h3>
      <CandidateList warRoom={warRoom} view={view} rows={context.excluded} none={t("Nothing was excluded.")} />
      <details class="whole">
        <summary>{t("Full text")}</summary>
        <ExactText text={context.renderedPrompt} label={t("Full text")} />
      </details>
    </>
  );
}

function SelectedContext({ warRoom, id }: { warRoom: WarRoom; id: string }): JSX.Element {
  const { context: live } = warRoom.memory;
  const view = live.value.value;
  const problem = live.problem.value;
  if (problem !== null) return <Problem text={problem.text} />;
  if (view === null || view.context.contextId !== id) return <p class="quiet">{t("Loading…")}</p>;
  return <Detail key={id} warRoom={warRoom} view={view} />;
}

function Compile({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const open = useSignal(false);
  const { memory } = warRoom;
  const close = (): void => {
    open.value = false;
  };
  if (!open.value)
    return (
      <div class="toolbar">
        <span class="quiet">{t("The memory that each prompt received")}</span>
        <div class="actions">
          <Button
            testId="compile-context"
            icon="play"
            onClick={() => {
              open.value = true;
            }}
          >
            {t("Compile…")}
          </Button>
        </div>
      </div>
    );
  return (
    <div class="toolbar">
      <TextForm
        testId="objective"
        label={t("What would the task be about?")}
        rows={1}
        submitLabel={t("Compile")}
        maxLength={maxObjectiveLength}
        busy={memory.busy.value !== null}
        problem={problemFor(warRoom, compileActionId)}
        onSend={(objective) =>
          void memory.compile(objective).then((id) => {
            if (id === null) return;
            memory.contextId.value = id;
            memory.contexts.reload();
            close();
          })
        }
        onClose={close}
      />
    </div>
  );
}

/** The memory that each prompt received: included items, and excluded items with reasons. */
export function ContextsSection({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { contexts, contextId, context } = warRoom.memory;
  const wanted = contextId.value;
  const view = context.value.value;
  const objective = view?.context.contextId === wanted ? (view?.context.objective ?? "") : "";
  return (
    <ListWithDetail
      id="memory-context"
      label={t("Compiled contexts, newest first")}
      pages={contexts}
      keyOf={(row) => row.contextId}
      rowHeight={rowHeight}
      row={(row) => <Row row={row} />}
      selected={contextId}
      empty={
        <Placeholder
          icon="layers"
          title={t("No contexts yet.")}
          text={t("Lancelot compiles memory into the prompt of each task. The included and excluded items appear here.")}
        />
      }
      countText={(n) => count(n, "{0} context", "{0} contexts")}
      before={<Compile warRoom={warRoom} />}
      detail={
        wanted === null
          ? null
          : { heading: objective === "" ? t("Compiled context") : objective, body: <SelectedContext warRoom={warRoom} id={wanted} /> }
      }
    />
  );
}
