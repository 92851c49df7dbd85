import type { JSX } from "preact";
import type { MemoryJob } from "../../../agent-server/contract/memory.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, Problem, RelativeTime, State, type StateProps } from "../../shared/components.tsx";
import { formatDuration, t } from "../../shared/l10n.ts";
import { Block, LivePanel } from "../live-panel.tsx";
import { type Column, RecordTable } from "../record-table.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { problemFor, ReceiptLink } from "./memory-parts.tsx";
import { jobText } from "./memory-labels.ts";

function jobState(status: NonNullable<MemoryJob["last"]>["status"]): StateProps {
  switch (status) {
    case "run":
      return { icon: "check", text: t("Done"), kind: "good" };
    case "failed":
      return { icon: "error", text: t("Failed"), kind: "bad" };
    case "skipped":
      return { icon: "debug-step-over", text: t("Skipped"), kind: "quiet" };
  }
}

function Last({ warRoom, job }: { warRoom: WarRoom; job: MemoryJob }): JSX.Element {
  const { last } = job;
  if (last === null)
    return (
      <span class="quiet" data-testid="never-run">
        {t("Never")}
      </span>
    );
  return (
    <>
      <div class="state-line">
        <State {...jobState(last.status)} />
        <RelativeTime at={last.at} />
        <span class="quiet">{formatDuration(last.durationMs)}</span>
        {last.receiptId !== null && <ReceiptLink warRoom={warRoom} id={last.receiptId} />}
      </div>
      {last.detail !== "" && <div class="quiet">{last.detail}</div>}
    </>
  );
}

function columns(warRoom: WarRoom): Column<MemoryJob>[] {
  const { memory } = warRoom;
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
    { title: t("Last run"), cell: (job) => <Last warRoom={warRoom} job={job} /> },
    {
      title: t("Next run"),
      cell: (job) => (job.nextAt === null ? <span class="quiet">{job.schedule}</span> : <RelativeTime at={job.nextAt} />),
    },
    {
      title: t("Action"),
      cell: (job) => {
        const failed = problemFor(warRoom, job.name);
        return (
          <>
            <Button
              testId={`run-job:${job.name}`}
              icon="play"
              label={t("Run Now: {0}", jobText(job.name))}
              disabled={memory.busy.value !== null}
              onClick={() => void memory.runJob(job.name)}
            >
              {memory.busy.value === job.name ? t("Running…") : t("Run Now")}
            </Button>
            {failed !== null && <Problem text={failed} />}
          </>
        );
      },
    },
  ];
}

function Files({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  return (
    <Block title={t("Export and backup")} wide>
      <p>{t("Export as Markdown to read memory, or as JSONL to import it later. A backup also contains the history.")}</p>
      <div class="actions">
        <Button testId="export-memory" icon="export" onClick={() => warRoom.bridge.ui(commandAction("exportMemory"))}>
          {t("Export…")}
        </Button>
        <Button testId="import-memory" icon="cloud-download" onClick={() => warRoom.bridge.ui(commandAction("importMemory"))}>
          {t("Import…")}
        </Button>
        <Button testId="back-up-memory" icon="save" onClick={() => warRoom.bridge.ui(commandAction("backUpMemory"))}>
          {t("Back Up…")}
        </Button>
      </div>
    </Block>
  );
}

/** Maintenance jobs, export, import and backup. */
export function MaintenanceSection({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  return (
    <LivePanel warRoom={warRoom} live={warRoom.memory.jobs} label={t("Maintenance")} after={<Files warRoom={warRoom} />}>
      {(jobs) => (
        <Block title={t("Jobs")} wide>
          <RecordTable label={t("Jobs")} rows={jobs} rowKey={({ name }) => name} columns={columns(warRoom)} />
        </Block>
      )}
    </LivePanel>
  );
}
