import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useCallback, useEffect } from "preact/hooks";
import { commandAction } from "../../shared/commands.ts";
import { Button, Icon, Moment, Problem, State, TierBadge } from "../../shared/components.tsx";
import { count, formatDuration, t } from "../../shared/l10n.ts";
import { VirtualList } from "../../shared/virtual-list.tsx";
import { noFilters, type WarRoom } from "../state.ts";
import { ReceiptDetail } from "./detail.tsx";
import { FilterBar } from "./filters.tsx";
import { exportRange, type Row } from "./state.ts";
import { useVerify } from "./verify.tsx";
import { statusLook, typeText } from "./words.ts";

const rowHeight = 26;

function RowView({ row }: { row: Row }): JSX.Element {
  return (
    <div class="receipt-row">
      <span class="quiet receipt-time">
        <Moment at={row.timestamp} />
      </span>
      <State {...statusLook(row.status)} quiet />
      <span class="ellipsis receipt-name" title={row.subject}>
        {row.actionName} <span class="quiet">{row.subject}</span>
      </span>
      <span class="quiet ellipsis receipt-type">{typeText(row.actionType)}</span>
      <TierBadge tier={row.riskTier} />
      <span class="quiet receipt-duration">{row.durationMs === null ? "–" : formatDuration(row.durationMs)}</span>
    </div>
  );
}

function Nothing({ room }: { room: WarRoom }): JSX.Element {
  const { filters, loading, loaded, problem } = room.receipts;
  if (problem.value !== null) {
    return (
      <div class="nothing">
        <Problem text={problem.value}>
          <Button onClick={room.receipts.reload}>{t("Try again")}</Button>
        </Problem>
      </div>
    );
  }
  if (loading.value || !loaded.value) return <div class="nothing quiet">{t("Loading…")}</div>;
  const filtered = JSON.stringify(filters.value) !== JSON.stringify(noFilters);
  return (
    <div class="nothing">
      <Icon name="verified" />
      <p>{filtered ? t("No receipt fits these filters.") : t("No receipts yet.")}</p>
      {!filtered && (
        <p class="quiet">
          {t("Each thing Lancelot does is written down here before it happens and closed after. Send it a task to see the first.")}
        </p>
      )}
      {filtered && (
        <Button
          onClick={() => {
            filters.value = noFilters;
          }}
        >
          {t("Clear filters")}
        </Button>
      )}
    </div>
  );
}

/** The ledger: search, filter, open, trace, verify. */
export function ReceiptsPanel({ room }: { room: WarRoom }): JSX.Element {
  const { rows, selected, fresh, atTop, loading } = room.receipts;
  const verify = useVerify(room);
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
      room.receipts.needRow(last);
    },
    [room],
  );
  return (
    <div class={`receipts ${selected.value === null ? "" : "with-detail"}`}>
      <div class="toolbar">
        <FilterBar room={room} />
        <div class="actions">
          {verify.button}
          <Button icon="export" onClick={() => room.bridge.ui(commandAction("exportReceipts", exportRange(room.receipts.filters.value)))}>
            {t("Export…")}
          </Button>
        </div>
      </div>
      {verify.result}
      <div class="split">
        <div class="list-side">
          {fresh.value > 0 && (
            <Button kind="link" icon="refresh" onClick={room.receipts.reload}>
              {count(fresh.value, "{0} new receipt", "{0} new receipts")}
            </Button>
          )}
          {list.length === 0 ? (
            <Nothing room={room} />
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
                // With the detail open, the arrows read on through the list.
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
        {selected.value !== null && <ReceiptDetail room={room} id={selected.value} />}
      </div>
    </div>
  );
}
