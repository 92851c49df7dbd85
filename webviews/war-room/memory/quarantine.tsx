import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { QuarantineEntry } from "../../../agent-server/contract/memory.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, Icon, Problem, RelativeTime, State } from "../../shared/components.tsx";
import { DiffLines } from "../../shared/diff.tsx";
import { count, t } from "../../shared/l10n.ts";
import type { WarRoom } from "../state.ts";
import { Split } from "./list.tsx";
import { Origin, problemFor, TaskLink, TextForm } from "./parts.tsx";
import { changedLines, entryLook, namespaceText, percent, wishText } from "./words.ts";

const rowHeight = 46;
const longestReason = 2000;

function Row({ entry }: { entry: QuarantineEntry }): JSX.Element {
  return (
    <div class="memory-row">
      <span class="memory-row-title">
        <State
          {...(entry.status === "pending" && !entry.verifier.ok
            ? { icon: "warning", text: t("The checks found something against it"), kind: "bad" }
            : entryLook(entry.status))}
          quiet
        />
        <span class="ellipsis">{entry.content ?? entry.current ?? ""}</span>
      </span>
      <span class="quiet memory-row-facts">
        <span>{wishText(entry)}</span>
        <span>{t("{0} sure", percent(entry.confidence))}</span>
        <RelativeTime at={entry.createdAt} />
      </span>
    </div>
  );
}

/** Lets it in after the editor's own dialog; nothing for one that the checks hold back. */
function promote(room: WarRoom, entry: QuarantineEntry): void {
  if (entry.verifier.ok) room.bridge.ui(commandAction("promoteMemory", { id: entry.id }));
}

function Checks({ entry }: { entry: QuarantineEntry }): JSX.Element {
  const { ok, problems } = entry.verifier;
  if (ok)
    return (
      <p>
        <State icon="pass" text={t("The checks find nothing against it.")} kind="good" />
      </p>
    );
  return (
    <div class="issues">
      <p>{t("The checks hold it back:")}</p>
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

function Decide({ room, entry, denying, onDeny }: DecideProps): JSX.Element {
  const { memory } = room;
  const busy = memory.busy.value !== null;
  if (denying)
    return (
      <TextForm
        label={t("Why not? Lancelot reads it. (may be empty)")}
        rows={1}
        yes={t("Deny")}
        optional
        maxLength={longestReason}
        busy={busy}
        problem={problemFor(room, entry.id)}
        onSend={(reason) => void memory.deny(entry, reason).then((ok) => ok && onDeny(false))}
        onClose={() => onDeny(false)}
      />
    );
  return (
    <div class="actions">
      <Button kind="primary" icon="check" shortcut="P" disabled={busy || !entry.verifier.ok} onClick={() => promote(room, entry)}>
        {t("Promote…")}
      </Button>
      <Button icon="close" shortcut="D" disabled={busy} onClick={() => onDeny(true)}>
        {t("Deny…")}
      </Button>
    </div>
  );
}

interface DecideProps {
  room: WarRoom;
  entry: QuarantineEntry;
  denying: boolean;
  onDeny: (open: boolean) => void;
}

function Detail(props: DecideProps): JSX.Element {
  const { room, entry } = props;
  const { questId, promotedBy } = entry;
  const lines = changedLines(entry.current, entry.op === "delete" ? null : entry.content);
  return (
    <>
      <p>{entry.why}</p>
      {lines.length > 0 && <DiffLines lines={lines} label={t("What it would change")} />}
      {entry.current === null && entry.itemId !== null && entry.op !== "set_aside" && (
        <p class="hint">
          <Icon name="info" /> {t("The entry it would change is gone.")}
        </p>
      )}
      <dl class="fields">
        <Field name={t("Reason")}>{entry.reason}</Field>
        <Field name={t("Evidence")}>
          <Origin room={room} provenance={entry.provenance} questId={questId} />
        </Field>
        {questId !== null && (
          <Field name={t("Task")}>
            <TaskLink room={room} questId={questId} />
          </Field>
        )}
        <Field name={t("Counts")}>{namespaceText(entry.namespace)}</Field>
        <Field name={t("Came")}>
          <RelativeTime at={entry.createdAt} />{" "}
          <Button kind="link" onClick={() => room.showMemory({ commitId: promotedBy ?? entry.commitId })}>
            {t("Commit")}
          </Button>
        </Field>
        {entry.decidedAt !== null && (
          <Field name={entryLook(entry.status).text}>
            <RelativeTime at={entry.decidedAt} />
            {entry.decidedReason !== null && `: ${entry.decidedReason}`}
          </Field>
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
          <Button icon="add" onClick={() => room.bridge.ui(commandAction("promoteMemory", { id: entry.id }))}>
            {t("Let it in after all…")}
          </Button>
        </div>
      )}
    </>
  );
}

function Field({ name, children }: { name: string; children: JSX.Element | string | (JSX.Element | string | false)[] }): JSX.Element {
  return (
    <div class="field-row">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function StatusChoice({ room }: { room: WarRoom }): JSX.Element {
  const { quarantineStatus } = room.memory;
  return (
    <div class="toolbar">
      <div class="segments" role="group" aria-label={t("Which are listed")}>
        {QuarantineEntry.shape.status.options.map((status) => (
          <button
            key={status}
            type="button"
            class="segment"
            aria-pressed={quarantineStatus.value === status}
            onClick={() => {
              quarantineStatus.value = status;
            }}
          >
            {entryLook(status).text}
          </button>
        ))}
      </div>
    </div>
  );
}

function Nothing({ room }: { room: WarRoom }): JSX.Element {
  const pending = room.memory.quarantineStatus.value === "pending";
  return (
    <div class="nothing">
      <Icon name="shield" />
      <p>{pending ? t("Nothing waits for you.") : t("There is none.")}</p>
      {pending && (
        <p class="quiet">
          {t("What Lancelot wants to change in the core blocks waits here until you let it in. Until then no prompt holds it.")}
        </p>
      )}
    </div>
  );
}

/** What the agent wants to change in the core, waiting for the owner's word. */
export function QuarantineSection({ room }: { room: WarRoom }): JSX.Element {
  const { quarantine, entryId } = room.memory;
  const denying = useSignal<string | null>(null);
  const wanted = entryId.value;
  const entries = quarantine.items.value;
  const entry = wanted === null ? undefined : entries.find(({ id }) => id === wanted);
  // When the one on show is decided, the next one takes its place.
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
    if (key === "p") promote(room, entry);
    else if (key === "d") denying.value = entry.id;
    else return;
    event.preventDefault();
  };
  const gone = quarantine.loaded.value ? t("It no longer waits; it was decided or withdrawn.") : t("Loading…");
  const detail =
    wanted === null
      ? null
      : {
          heading: entry === undefined ? t("Quarantined entry") : wishText(entry),
          body:
            entry === undefined ? (
              <p class="quiet">{gone}</p>
            ) : (
              <Detail
                key={entry.id}
                room={room}
                entry={entry}
                denying={denying.value === entry.id}
                onDeny={(open) => {
                  denying.value = open ? entry.id : null;
                }}
              />
            ),
        };
  const failed = problemFor(room, wanted ?? "");
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of the entry that is on show, pressed in its list or beside it
    <div class="receipts" onKeyDown={onKey}>
      {failed !== null && denying.value === null && <Problem text={failed} />}
      <Split
        id="memory-entry"
        label={t("Quarantined entries, newest first")}
        pages={quarantine}
        keyOf={({ id }) => id}
        rowHeight={rowHeight}
        row={(one) => <Row entry={one} />}
        selected={entryId}
        nothing={<Nothing room={room} />}
        countText={(n) => count(n, "{0} entry", "{0} entries")}
        before={<StatusChoice room={room} />}
        detail={detail}
      />
    </div>
  );
}
