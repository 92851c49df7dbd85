import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { MemoryItem } from "../../../agent-server/contract/memory.ts";
import { Button, Icon, Problem, RelativeTime } from "../../shared/components.tsx";
import { Exact } from "../../shared/exact.tsx";
import { count, formatNumber, t } from "../../shared/l10n.ts";
import { ShareBar } from "../charts.tsx";
import { Meter } from "../live-panel.tsx";
import type { WarRoom } from "../state.ts";
import { compileAct } from "./acts.ts";
import { Split } from "./list.tsx";
import { problemFor, ReceiptLink, TaskLink, TextForm } from "./parts.tsx";
import type { ContextRow, ContextView } from "./state.ts";
import { blockText, contextParts, placeText } from "./words.ts";

const rowHeight = 46;
const longestObjective = 20_000;
/** Rows of what went in or stayed out that are drawn before the rest is asked for. */
const rowsShown = 20;

function Row({ row }: { row: ContextRow }): JSX.Element {
  return (
    <div class="memory-row">
      <span class="ellipsis">{row.objective === "" ? t("Without an objective") : row.objective}</span>
      <span class="quiet memory-row-facts">
        <span>{t("{0} of {1} tokens", formatNumber(row.tokenEstimate), formatNumber(row.maxTokens))}</span>
        <span>{count(row.includedItemIds.length, "{0} item in", "{0} items in")}</span>
        <span>{t("{0} left out", formatNumber(row.excluded.length))}</span>
        <RelativeTime at={row.createdAt} />
      </span>
    </div>
  );
}

/** A candidate by what it says: a block by its name, an item by its text, one that is gone or far down by its id. */
function Candidate(props: { room: WarRoom; id: string; texts: ReadonlyMap<string, MemoryItem | null> }): JSX.Element {
  const { room, id, texts } = props;
  if (id.startsWith("core:")) return <strong>{blockText(id.slice("core:".length) as Parameters<typeof blockText>[0])}</strong>;
  const item = texts.get(id);
  if (item === null)
    return (
      <span class="quiet">
        {t("No longer remembered:")} <span class="mono">{id}</span>
      </span>
    );
  return (
    <button type="button" class="button link item-link" onClick={() => room.showMemory({ itemId: id })}>
      {item === undefined ? id : `${placeText(item)}: ${item.content}`}
    </button>
  );
}

interface Candidates {
  readonly id: string;
  readonly reason: string | null;
}

function CandidateList(props: { room: WarRoom; view: ContextView; rows: readonly Candidates[]; none: string }): JSX.Element {
  const { room, view, rows, none } = props;
  const all = useSignal(false);
  if (rows.length === 0) return <p class="quiet">{none}</p>;
  const shown = all.value || rows.length <= rowsShown + 5 ? rows : rows.slice(0, rowsShown);
  return (
    <>
      <ul class="sentences">
        {shown.map(({ id, reason }) => (
          <li key={id}>
            <Candidate room={room} id={id} texts={view.texts} /> {reason !== null && <span class="quiet">{reason}</span>}
          </li>
        ))}
      </ul>
      {shown.length < rows.length && (
        <Button
          kind="link"
          onClick={() => {
            all.value = true;
          }}
        >
          {t("Show all {0}", formatNumber(rows.length))}
        </Button>
      )}
    </>
  );
}

function Detail({ room, view }: { room: WarRoom; view: ContextView }): JSX.Element {
  const { context } = view;
  const { questId, receiptId } = context;
  return (
    <>
      <p class="quiet">
        <RelativeTime at={context.createdAt} /> {questId !== null && <TaskLink room={room} questId={questId} />}{" "}
        {receiptId !== null && <ReceiptLink room={room} id={receiptId} />}
      </p>
      <Meter
        value={context.tokenEstimate}
        most={context.maxTokens}
        label={t("Tokens of the context")}
        text={t("{0} of {1} tokens", formatNumber(context.tokenEstimate), formatNumber(context.maxTokens))}
      />
      <ShareBar parts={contextParts(context.breakdown)} label={t("Tokens by part")} />
      <h3>{t("What went in")}</h3>
      <CandidateList
        room={room}
        view={view}
        rows={context.includedItemIds.map((id) => ({ id, reason: null }))}
        none={
          context.includedBlocks.length === 0
            ? t("Nothing.")
            : t("No single item; the blocks: {0}.", context.includedBlocks.map(blockText).join(", "))
        }
      />
      <h3>{t("What stayed out, and why")}</h3>
      <CandidateList room={room} view={view} rows={context.excluded} none={t("Nothing stayed out.")} />
      <details class="whole">
        <summary>{t("The whole text")}</summary>
        <Exact text={context.renderedPrompt} label={t("The whole text")} />
      </details>
    </>
  );
}

function Shown({ room, id }: { room: WarRoom; id: string }): JSX.Element {
  const { context: live } = room.memory;
  const view = live.value.value;
  const problem = live.problem.value;
  if (problem !== null) return <Problem text={problem.text} />;
  if (view === null || view.context.contextId !== id) return <p class="quiet">{t("Loading…")}</p>;
  return <Detail key={id} room={room} view={view} />;
}

function Compile({ room }: { room: WarRoom }): JSX.Element {
  const open = useSignal(false);
  const { memory } = room;
  const close = (): void => {
    open.value = false;
  };
  if (!open.value)
    return (
      <div class="toolbar">
        <span class="quiet">{t("What memory gave to each prompt.")}</span>
        <div class="actions">
          <Button
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
        label={t("What would the task be about?")}
        rows={1}
        yes={t("Compile")}
        maxLength={longestObjective}
        busy={memory.busy.value !== null}
        problem={problemFor(room, compileAct)}
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

/** What memory gave to each prompt: what went in, what stayed out and why. */
export function ContextsSection({ room }: { room: WarRoom }): JSX.Element {
  const { contexts, contextId, context } = room.memory;
  const wanted = contextId.value;
  const view = context.value.value;
  const objective = view?.context.contextId === wanted ? (view?.context.objective ?? "") : "";
  return (
    <Split
      id="memory-context"
      label={t("Compiled contexts, newest first")}
      pages={contexts}
      keyOf={(row) => row.contextId}
      rowHeight={rowHeight}
      row={(row) => <Row row={row} />}
      selected={contextId}
      nothing={
        <div class="nothing">
          <Icon name="layers" />
          <p>{t("Nothing was compiled yet.")}</p>
          <p class="quiet">{t("With each task memory is compiled into its prompt. What went in and what stayed out is kept here.")}</p>
        </div>
      }
      countText={(n) => count(n, "{0} context", "{0} contexts")}
      before={<Compile room={room} />}
      detail={
        wanted === null ? null : { heading: objective === "" ? t("Compiled context") : objective, body: <Shown room={room} id={wanted} /> }
      }
    />
  );
}
