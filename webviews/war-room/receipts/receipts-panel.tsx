import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useCallback, useEffect } from "preact/hooks";
import { commandAction } from "../../shared/commands.ts";
import { Button, Moment, Problem, State, TierBadge } from "../../shared/components.tsx";
import { count, formatDuration, t } from "../../shared/l10n.ts";
import { VirtualList } from "../../shared/virtual-list.tsx";
import { Placeholder } from "../live-panel.tsx";
import { type WarRoom } from "../war-room-state.ts";
import { noFilters } from "../war-room-types.ts";
import { ReceiptDetail } from "./receipt-detail.tsx";
import { ReceiptFilters } from "./receipt-filters.tsx";
import { exportRange, type Row } from "./receipts-state.ts";
import { useVerify } from "./verify-ledger.tsx";
import { receiptState, typeText } from "./receipt-labels.ts";

const rowHeight = 26;

function RowView({ row }: { row: Row }): JSX.Element {
  return (
    <div class="receipt-row">
      <span class="quiet receipt-time">
        <Moment at={row.timestamp} />
      </span>
      <State {...receiptState(row.status)} quiet />
      <span class="ellipsis receipt-name" title={row.subject}>
        {row.actionName} <span class="quiet">{row.subject}</span>
      </span>
      <span class="quiet ellipsis receipt-type">{typeText(row.actionType)}</span>
      <TierBadge tier={row.riskTier} />
      <span class="quiet receipt-duration">{row.durationMs === null ? "–" : formatDuration(row.durationMs)}</span>
    </div>
  );
}

function EmptyReceipts({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { filters, loading, loaded, problem } = warRoom.receipts;
  if (problem.value !== null) {
    return (
      <div class="nothing">
        <Problem text={problem.value}>
          <Button testId="try-again" onClick={warRoom.receipts.reload}>
            {t("Try Again")}
          </Button>
        </Problem>
      </div>
    );
  }
  if (loading.value || !loaded.value) return <div class="nothing quiet">{t("Loading…")}</div>;
  const filtered = JSON.stringify(filters.value) !== JSON.stringify(noFilters);
  if (!filtered)
    return (
      <Placeholder
        icon="verified"
        title={t("No receipts yet.")}
        text={t(
          "Lancelot records each action here before it runs and completes the record afterward. Start a task to see the first receipt.",
        )}
      />
    );
  return (
    <Placeholder icon="verified" title={t("No receipts match these filters.")}>
      <Button
        testId="clear-filters"
        onClick={() => {
          filters.value = noFilters;
        }}
      >
        {t("Clear Filters")}
      </Button>
    </Placeholder>
  );
}

/** The ledger, with search, filters, details, traces and verification. */
export function ReceiptsPanel({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { rows, selected, fresh, atTop, loading } = warRoom.receipts;
  const verify = useVerify(warRoom);
  const list = rows.value;
  const selectedIndex = selected.value === null ? -1 : list.findIndex((row) => row.id === selected.value);
  const cursorId = useSignal<string | null>(null);
  const cursorIndex = cursorId.value === null ? -1 : list.findIndex((row) => row.id === cursorId.value);
  useEffect(() => {
    cursorId.value = selected.value;
  }, [selected.value]);

  const onRange = useCallback(
    (first: number, last: number) => {
      atTop.value = first === 0;
      warRoom.receipts.needRow(last);
    },
    [warRoom],
  );
  return (
    <div class={`receipts ${selected.value === null ? "" : "with-detail"}`}>
      <div class="toolbar">
        <ReceiptFilters warRoom={warRoom} />
        <div class="actions">
          {verify.button}
          <Button
            testId="export-receipts"
            icon="export"
            onClick={() => warRoom.bridge.ui(commandAction("exportReceipts", exportRange(warRoom.receipts.filters.value)))}
          >
            {t("Export…")}
          </Button>
        </div>
      </div>
      {verify.result}
      <div class="split">
        <div class="list-side">
          {fresh.value > 0 && (
            <Button testId="show-new-receipts" kind="link" icon="refresh" onClick={warRoom.receipts.reload}>
              {count(fresh.value, "{0} new receipt", "{0} new receipts")}
            </Button>
          )}
          {list.length === 0 ? (
            <EmptyReceipts warRoom={warRoom} />
          ) : (
            <VirtualList
              id="receipt"
              count={list.length}
              rowHeight={rowHeight}
              label={t("Receipts, newest first")}
              active={cursorIndex >= 0 ? cursorIndex : selectedIndex}
              onActive={(index) => {
                const id = list[index]?.id ?? null;
                cursorId.value = id;
                // While the detail is open, the arrow keys select the next item.
                if (selected.peek() !== null) selected.value = id;
              }}
              onOpen={(index) => {
                selected.value = list[index]?.id ?? null;
              }}
              onRange={onRange}
              rowKey={(index) => list[index]?.id ?? String(index)}
              renderRow={(index) => {
                const row = list[index];
                return row === undefined ? <div /> : <RowView row={row} />;
              }}
            />
          )}
          <div class="list-foot quiet" role="status">
            {list.length > 0 && (loading.value ? t("Loading more…") : count(list.length, "{0} receipt loaded", "{0} receipts loaded"))}
          </div>
        </div>
        {selected.value !== null && <ReceiptDetail warRoom={warRoom} id={selected.value} />}
      </div>
    </div>
  );
}
