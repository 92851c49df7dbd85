import type { JSX } from "preact";
import type { MemoryJob } from "../../../agent-server/contract/memory.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, Problem, RelativeTime, State } from "../../shared/components.tsx";
import { formatDuration, t } from "../../shared/l10n.ts";
import { Block, LivePanel } from "../live-panel.tsx";
import { type Column, RecordTable } from "../record-table.tsx";
import type { WarRoom } from "../state.ts";
import { problemFor, ReceiptLink } from "./parts.tsx";
import { jobText } from "./words.ts";

function runLook(status: NonNullable<MemoryJob["last"]>["status"]): { icon: string; text: string; kind: string } {
  switch (status) {
    case "run":
      return { icon: "check", text: t("done"), kind: "good" };
    case "failed":
      return { icon: "error", text: t("failed"), kind: "bad" };
    case "skipped":
      return { icon: "debug-step-over", text: t("skipped"), kind: "quiet" };
  }
}

function Last({ room, job }: { room: WarRoom; job: MemoryJob }): JSX.Element {
  const { last } = job;
  if (last === null) return <span class="quiet">{t("not yet")}</span>;
  return (
    <>
      <div class="state-line">
        <State {...runLook(last.status)} />
        <RelativeTime at={last.at} />
        <span class="quiet">{formatDuration(last.durationMs)}</span>
        {last.receiptId !== null && <ReceiptLink room={room} id={last.receiptId} />}
      </div>
      {last.detail !== "" && <div class="quiet">{last.detail}</div>}
    </>
  );
}

function columns(room: WarRoom): Column<MemoryJob>[] {
  const { memory } = room;
  return [
    {
      title: t("Job"),
      cell: (job) => (
        <>
          <strong>{jobText(job.name)}</strong>
          <div class="quiet">{job.what}</div>
        </>
      ),
    },
    { title: t("Last"), cell: (job) => <Last room={room} job={job} /> },
    {
      title: t("Next"),
      cell: (job) => (job.nextAt === null ? <span class="quiet">{job.schedule}</span> : <RelativeTime at={job.nextAt} />),
    },
    {
      title: t("Run"),
      cell: (job) => {
        const failed = problemFor(room, job.name);
        return (
          <>
            <Button
              icon="play"
              label={t("Run now: {0}", jobText(job.name))}
              disabled={memory.busy.value !== null}
              onClick={() => void memory.runJob(job.name)}
            >
              {memory.busy.value === job.name ? t("Running…") : t("Run now")}
            </Button>
            {failed !== null && <Problem text={failed} />}
          </>
        );
      },
    },
  ];
}

function Files({ room }: { room: WarRoom }): JSX.Element {
  return (
    <Block title={t("Files")} wide>
      <p>{t("An export is Markdown to read or JSONL to read in again. A backup holds everything, history too.")}</p>
      <div class="actions">
        <Button icon="export" onClick={() => room.bridge.ui(commandAction("exportMemory"))}>
          {t("Export…")}
        </Button>
        <Button icon="cloud-download" onClick={() => room.bridge.ui(commandAction("importMemory"))}>
          {t("Import…")}
        </Button>
        <Button icon="save" onClick={() => room.bridge.ui(commandAction("backUpMemory"))}>
          {t("Back up…")}
        </Button>
      </div>
    </Block>
  );
}

/** What keeps memory small and true, and how it gets in and out. */
export function UpkeepSection({ room }: { room: WarRoom }): JSX.Element {
  return (
    <LivePanel room={room} live={room.memory.jobs} label={t("Upkeep")} after={<Files room={room} />}>
      {(jobs) => (
        <Block title={t("Jobs")} wide>
          <RecordTable label={t("Jobs")} rows={jobs} rowKey={({ name }) => name} columns={columns(room)} />
        </Block>
      )}
    </LivePanel>
  );
}
