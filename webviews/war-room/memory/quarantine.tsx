import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { QuarantineEntry } from "../../../agent-server/contract/memory.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, Icon, Problem, RelativeTime, State } from "../../shared/components.tsx";
import { DiffLines } from "../../shared/diff.tsx";
import { count, formatPercent, t } from "../../shared/l10n.ts";
import { FieldRow, Placeholder } from "../live-panel.tsx";
import { Segments } from "../segments.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { ListWithDetail } from "../list-with-detail.tsx";
import { Origin, problemFor, TaskLink, TextForm } from "./memory-parts.tsx";
import { changedLines, quarantineState, namespaceText, quarantinedEditText } from "./memory-labels.ts";

const rowHeight = 46;
const maxReasonLength = 2000;

function Row({ entry }: { entry: QuarantineEntry }): JSX.Element {
  return (
    <div class="memory-row">
      <span class="memory-row-title">
        <State
          {...(entry.status === "pending" && !entry.verifier.ok
            ? { icon: "warning", text: t("Failed a check"), kind: "bad" }
            : quarantineState(entry.status))}
          quiet
        />
        <span class="ellipsis">{entry.content ?? entry.current ?? ""}</span>
      </span>
      <span class="quiet memory-row-facts">
        <span>{quarantinedEditText(entry)}</span>
        <span>{t("confidence {0}", formatPercent(entry.confidence))}</span>
        <RelativeTime at={entry.createdAt} />
      </span>
    </div>
  );
}

/** Opens the editor's dialog for the approval. Does nothing for an entry that failed a check. */
function approve(warRoom: WarRoom, entry: QuarantineEntry): void {
  if (entry.verifier.ok) warRoom.bridge.ui(commandAction("promoteMemory", { id: entry.id }));
}

function Checks({ entry }: { entry: QuarantineEntry }): JSX.Element {
  const { ok, problems } = entry.verifier;
  if (ok)
    return (
      <p>
        <State icon="pass" text={t("No problems found.")} kind="good" />
      </p>
    );
  return (
    <div class="issues">
      <p>{t("Problems found:")}</p>
      <ul>
        {problems.map(({ rule, message }) => (
          <li key={`${rule} ${message}`} class="critical">
            <Icon name="error" />
            <span>
              {message} <span class="quiet mono">{rule}</span>
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Decide({ warRoom, entry, rejecting, onReject }: DecideProps): JSX.Element {
  const { memory } = warRoom;
  const busy = memory.busy.value !== null;
  if (rejecting)
    return (
      <TextForm
        testId="reject-reason"
        label={t("Reason for Lancelot (optional)")}
        rows={1}
        submitLabel={t("Reject")}
        optional
        maxLength={maxReasonLength}
        busy={busy}
        problem={problemFor(warRoom, entry.id)}
        onSend={(reason) => void memory.deny(entry, reason).then((ok) => ok && onReject(false))}
        onClose={() => onReject(false)}
      />
    );
  return (
    <div class="actions">
      <Button
        testId="approve-entry"
        kind="primary"
        icon="check"
        shortcut="A"
        disabled={busy || !entry.verifier.ok}
        onClick={() => approve(warRoom, entry)}
      >
        {t("Approve…")}
      </Button>
      <Button testId="reject-entry" icon="close" shortcut="R" disabled={busy} onClick={() => onReject(true)}>
        {t("Reject…")}
      </Button>
    </div>
  );
}

interface DecideProps {
  warRoom: WarRoom;
  entry: QuarantineEntry;
  rejecting: boolean;
  onReject: (open: boolean) => void;
}

function Detail(props: DecideProps): JSX.Element {
  const { warRoom, entry } = props;
  const { questId, promotedBy } = entry;
  const lines = changedLines(entry.current, entry.op === "delete" ? null : entry.content);
  return (
    <>
      <p>{entry.why}</p>
      {lines.length > 0 && <DiffLines lines={lines} label={t("Proposed change")} />}
      {entry.current === null && entry.itemId !== null && entry.op !== "set_aside" && (
        <p class="hint">
          <Icon name="info" /> {t("The entry to change was deleted.")}
        </p>
      )}
      <dl class="fields">
        <FieldRow name={t("Reason")}>{entry.reason}</FieldRow>
        <FieldRow name={t("Evidence")}>
          <Origin warRoom={warRoom} provenance={entry.provenance} questId={questId} />
        </FieldRow>
        {questId !== null && (
          <FieldRow name={t("Task")}>
            <TaskLink warRoom={warRoom} questId={questId} />
          </FieldRow>
        )}
        <FieldRow name={t("Scope")}>{namespaceText(entry.namespace)}</FieldRow>
        <FieldRow name={t("Proposed")}>
          <RelativeTime at={entry.createdAt} />{" "}
          <Button testId="commit" kind="link" onClick={() => warRoom.showMemory({ commitId: promotedBy ?? entry.commitId })}>
            {t("Commit")}
          </Button>
        </FieldRow>
        {entry.decidedAt !== null && (
          <FieldRow name={quarantineState(entry.status).text}>
            <RelativeTime at={entry.decidedAt} />
            {entry.decidedReason !== null && `: ${entry.decidedReason}`}
          </FieldRow>
        )}
      </dl>
      {entry.status === "pending" && (
        <>
          <Checks entry={entry} />
          <Decide {...props} />
        </>
      )}
      {entry.status === "denied" && entry.content !== null && (
        <div class="actions">
          <Button testId="approve-entry" icon="add" onClick={() => warRoom.bridge.ui(commandAction("promoteMemory", { id: entry.id }))}>
            {t("Approve…")}
          </Button>
        </div>
      )}
    </>
  );
}

function StatusFilter({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { quarantineStatus } = warRoom.memory;
  return (
    <div class="toolbar">
      <Segments
        label={t("Status filter")}
        testId="status"
        options={QuarantineEntry.shape.status.options}
        value={quarantineStatus.value}
        onChange={(status) => {
          quarantineStatus.value = status;
        }}
        text={(status) => quarantineState(status).text}
      />
    </div>
  );
}

function EmptyQuarantine({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  if (warRoom.memory.quarantineStatus.value !== "pending") return <Placeholder icon="shield" title={t("No entries")} />;
  return (
    <Placeholder
      icon="shield"
      title={t("There are no pending entries.")}
      text={t("Edits to the core blocks that need your approval appear here. Prompts use them only after you approve them.")}
    />
  );
}

/** Memory edits by the agent that need the user's approval. */
export function QuarantineSection({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { quarantine, entryId } = warRoom.memory;
  const rejecting = useSignal<string | null>(null);
  const wanted = entryId.value;
  const entries = quarantine.items.value;
  const entry = wanted === null ? undefined : entries.find(({ id }) => id === wanted);
  // After a decision, the next entry is selected.
  const index = wanted === null ? -1 : entries.findIndex(({ id }) => id === wanted);
  const lastIndex = useRef(-1);
  useEffect(() => {
    if (index < 0 && wanted !== null && lastIndex.current >= 0 && quarantine.loaded.value)
      entryId.value = entries[Math.min(lastIndex.current, entries.length - 1)]?.id ?? null;
    lastIndex.current = index;
  }, [index, wanted, entries]);
  const onKey = (event: KeyboardEvent): void => {
    if (entry?.status !== "pending" || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const key = event.key.toLowerCase();
    if (key === "a") approve(warRoom, entry);
    else if (key === "r") rejecting.value = entry.id;
    else return;
    event.preventDefault();
  };
  const gone = quarantine.loaded.value ? t("This entry is no longer pending. It was decided or withdrawn.") : t("Loading…");
  const detail =
    wanted === null
      ? null
      : {
          heading: entry === undefined ? t("Quarantined entry") : quarantinedEditText(entry),
          body:
            entry === undefined ? (
              <p class="quiet">{gone}</p>
            ) : (
              <Detail
                key={entry.id}
                warRoom={warRoom}
                entry={entry}
                rejecting={rejecting.value === entry.id}
                onReject={(open) => {
                  rejecting.value = open ? entry.id : null;
                }}
              />
            ),
        };
  const failed = problemFor(warRoom, wanted ?? "");
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of the entry that is on show, pressed in its list or beside it
    <div class="receipts" onKeyDown={onKey}>
      {failed !== null && rejecting.value === null && <Problem text={failed} />}
      <ListWithDetail
        id="memory-entry"
        label={t("Quarantined entries, newest first")}
        pages={quarantine}
        keyOf={({ id }) => id}
        rowHeight={rowHeight}
        row={(one) => <Row entry={one} />}
        selected={entryId}
        empty={<EmptyQuarantine warRoom={warRoom} />}
        countText={(n) => count(n, "{0} entry", "{0} entries")}
        before={<StatusFilter warRoom={warRoom} />}
        detail={detail}
      />
    </div>
  );
}
