import type { JSX } from "preact";
import type { UsageRow, UsageSummary } from "../../../agent-server/contract/usage.ts";
import { commandAction } from "../../shared/commands.ts";
import { now } from "../../shared/components.tsx";
import { formatDay, formatNumber, formatUsd, t } from "../../shared/l10n.ts";
import { ShareBar, StackedColumns } from "../charts.tsx";
import { Block } from "../live-panel.tsx";
import { type Column, RecordTable } from "../record-table.tsx";
import type { WarRoom } from "../state.ts";
import type { Measure } from "./state.ts";
import { amountOf, costText, dayColumns, hasAmounts, laneName, laneParts, lastDay } from "./words.ts";

function formatOf(measure: Measure): (value: number) => string {
  return measure === "cost" ? formatUsd : formatNumber;
}

/** A bar as long as the row's share of the largest; the figure beside it says the same. */
function Bar({ value, most }: { value: number; most: number }): JSX.Element {
  const share = most <= 0 ? 0 : value / most;
  return (
    <span class="row-bar" aria-hidden="true">
      <span style={{ width: `${share * 100}%` }} />
    </span>
  );
}

interface Heading {
  readonly title: string;
  readonly cell: (row: UsageRow) => JSX.Element;
}

function UsageTable({
  heading,
  label,
  rows,
  measure,
}: {
  heading: Heading;
  label: string;
  rows: readonly UsageRow[];
  measure: Measure;
}): JSX.Element {
  const most = Math.max(0, ...rows.map((row) => amountOf(row, measure)));
  const columns: Column<UsageRow>[] = [
    heading,
    {
      title: t("Cost"),
      number: true,
      cell: (row) => (
        <>
          {costText(row)}
          {measure === "cost" && <Bar value={row.costUsd} most={most} />}
        </>
      ),
    },
    { title: t("Calls"), number: true, cell: ({ calls }) => formatNumber(calls) },
    {
      title: t("Tokens read"),
      number: true,
      cell: (row) => (
        <>
          {formatNumber(row.usage.inputTokens)}
          {measure === "tokens" && <Bar value={amountOf(row, measure)} most={most} />}
        </>
      ),
    },
    { title: t("from a cache"), number: true, cell: ({ usage }) => formatNumber(usage.cachedInputTokens) },
    { title: t("Tokens written"), number: true, cell: ({ usage }) => formatNumber(usage.outputTokens) },
    { title: t("for thinking"), number: true, cell: ({ usage }) => formatNumber(usage.reasoningTokens) },
  ];
  return <RecordTable label={label} rows={rows} rowKey={({ key }) => key} columns={columns} />;
}

function QuestLink({ room, row }: { room: WarRoom; row: UsageRow }): JSX.Element {
  if (row.key === "") return <span class="quiet">{t("Outside a task")}</span>;
  if (!room.store.quests.value.has(row.key)) return <span>{row.name}</span>;
  return (
    <button
      type="button"
      class="button link"
      title={t("Open this task in the chat")}
      onClick={() => room.bridge.ui(commandAction("openChat", { questId: row.key }))}
    >
      {row.name}
    </button>
  );
}

/** Cost and tokens as charts, each with the figures in a table. */
export function CostBlocks({ room, summary }: { room: WarRoom; summary: UsageSummary }): JSX.Element {
  const days = room.usage.days.value;
  const measure = room.usage.measure.value;
  const format = formatOf(measure);
  const lanes = laneParts(summary.byLane, measure);
  const nothing =
    measure === "cost" ? t("Nothing of this has a cost: it was done on this machine, or has no price.") : t("No tokens were used.");
  const columns = dayColumns(summary.byDay, days, lastDay(summary.byDay, new Date(now.value)), measure, formatDay);
  const title = measure === "cost" ? t("Cost by day") : t("Tokens by day");
  const tables: { title: string; rows: readonly UsageRow[]; heading: Heading }[] = [
    {
      title: t("By provider"),
      rows: summary.byProvider,
      heading: { title: t("Provider"), cell: ({ name }) => <span>{name}</span> },
    },
    {
      title: t("By model"),
      rows: summary.byModel,
      heading: {
        title: t("Model"),
        cell: ({ name, key }) => (
          <>
            <span class="mono">{name}</span> <span class="quiet">{key.slice(0, key.indexOf("/"))}</span>
          </>
        ),
      },
    },
    {
      title: t("By task"),
      rows: summary.byQuest,
      heading: { title: t("Task"), cell: (row) => <QuestLink room={room} row={row} /> },
    },
  ];
  return (
    <>
      <Block title={t("By lane")} wide>
        {hasAmounts(lanes) ? <ShareBar parts={lanes} label={t("By lane")} format={format} /> : <p class="quiet">{nothing}</p>}
        <UsageTable
          label={t("By lane")}
          rows={summary.byLane}
          measure={measure}
          heading={{ title: t("Lane"), cell: ({ key, name }) => <span>{laneName(key, name)}</span> }}
        />
      </Block>
      <Block title={title} wide>
        {columns.some(({ parts }) => hasAmounts(parts)) ? (
          <StackedColumns columns={columns} label={title} format={format} fractions={measure === "cost"} />
        ) : (
          <p class="quiet">{nothing}</p>
        )}
      </Block>
      {tables.map((table) => (
        <Block key={table.title} title={table.title} wide>
          <UsageTable label={table.title} rows={table.rows} measure={measure} heading={table.heading} />
        </Block>
      ))}
    </>
  );
}
