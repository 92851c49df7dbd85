import type { JSX } from "preact";
import type { UsageRow, UsageSummary } from "../../../agent-server/contract/usage.ts";
import { commandAction } from "../../shared/commands.ts";
import { now } from "../../shared/components.tsx";
import { formatDay, formatNumber, formatUsd, t } from "../../shared/l10n.ts";
import { ShareBar, StackedColumns } from "../charts.tsx";
import { Block } from "../live-panel.tsx";
import { type Column, RecordTable } from "../record-table.tsx";
import type { WarRoom } from "../war-room-state.ts";
import type { Measure } from "./usage-state.ts";
import { amountOf, costText, dayColumns, hasAmounts, laneName, laneParts, lastDay } from "./usage-labels.ts";

function formatOf(measure: Measure): (value: number) => string {
  return measure === "cost" ? formatUsd : formatNumber;
}

/** A bar for the row's share of the largest row. The adjacent number carries the meaning. */
function Bar({ value, max }: { value: number; max: number }): JSX.Element {
  const share = max <= 0 ? 0 : value / max;
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
  const max = Math.max(0, ...rows.map((row) => amountOf(row, measure)));
  const columns: Column<UsageRow>[] = [
    heading,
    {
      title: t("Cost"),
      number: true,
      cell: (row) => (
        <>
          {costText(row)}
          {measure === "cost" && <Bar value={row.costUsd} max={max} />}
        </>
      ),
    },
    { title: t("Calls"), number: true, cell: ({ calls }) => formatNumber(calls) },
    {
      title: t("Input tokens"),
      number: true,
      cell: (row) => (
        <>
          {formatNumber(row.usage.inputTokens)}
          {measure === "tokens" && <Bar value={amountOf(row, measure)} max={max} />}
        </>
      ),
    },
    { title: t("Cached input tokens"), number: true, cell: ({ usage }) => formatNumber(usage.cachedInputTokens) },
    { title: t("Output tokens"), number: true, cell: ({ usage }) => formatNumber(usage.outputTokens) },
    { title: t("Reasoning tokens"), number: true, cell: ({ usage }) => formatNumber(usage.reasoningTokens) },
  ];
  return <RecordTable label={label} rows={rows} rowKey={({ key }) => key} columns={columns} />;
}

function QuestLink({ warRoom, row }: { warRoom: WarRoom; row: UsageRow }): JSX.Element {
  if (row.key === "") return <span class="quiet">{t("No task")}</span>;
  if (!warRoom.store.quests.value.has(row.key)) return <span>{row.name}</span>;
  return (
    <button
      data-testid={`open-task:${row.key}`}
      type="button"
      class="button link"
      title={t("Open task in chat")}
      onClick={() => warRoom.bridge.ui(commandAction("openChat", { questId: row.key }))}
    >
      {row.name}
    </button>
  );
}

/** Cost and tokens as charts and tables. */
export function CostBlocks({ warRoom, summary }: { warRoom: WarRoom; summary: UsageSummary }): JSX.Element {
  const days = warRoom.usage.days.value;
  const measure = warRoom.usage.measure.value;
  const format = formatOf(measure);
  const lanes = laneParts(summary.byLane, measure);
  const nothing =
    measure === "cost"
      ? t("No cost in this period. The calls were local or have no known price.")
      : t("No tokens were used in this period.");
  const columns = dayColumns(summary.byDay, days, lastDay(summary.byDay, new Date(now.value)), measure, formatDay);
  const title = measure === "cost" ? t("Cost by day") : t("Tokens by day");
  const tables: { id: string; title: string; rows: readonly UsageRow[]; heading: Heading }[] = [
    {
      id: "by-provider",
      title: t("By provider"),
      rows: summary.byProvider,
      heading: { title: t("Provider"), cell: ({ name }) => <span>{name}</span> },
    },
    {
      id: "by-model",
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
      id: "by-task",
      title: t("By task"),
      rows: summary.byQuest,
      heading: { title: t("Task"), cell: (row) => <QuestLink warRoom={warRoom} row={row} /> },
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
        <Block testId={`usage:${table.id}`} key={table.title} title={table.title} wide>
          <UsageTable label={table.title} rows={table.rows} measure={measure} heading={table.heading} />
        </Block>
      ))}
    </>
  );
}
