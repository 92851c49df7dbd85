import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { MemoryCommit, MemoryDiff } from "../../../agent-server/contract/memory.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, Icon, RelativeTime, State } from "../../shared/components.tsx";
import { count, formatNumber, t } from "../../shared/l10n.ts";
import type { WarRoom } from "../state.ts";
import { Split } from "./list.tsx";
import { Change, Origin, ReceiptLink, TaskLink } from "./parts.tsx";
import { authorText, commitLook, namespaceText, opText, percent, targetText } from "./words.ts";

const rowHeight = 46;
/** Changes of a commit that are drawn at a time. */
const changesShown = 50;

function changesText(n: number): string {
  return count(n, "{0} change", "{0} changes");
}

/** What a commit did, in a line: the change where it is one, else why it was made. */
function commitTitle({ diff, reason, rollbackOf, changes }: MemoryCommit): string {
  const [first, ...others] = diff;
  if (first !== undefined && (reason === "" || (others.length === 0 && rollbackOf.length === 0)))
    return `${opText(first.op)}: ${first.after ?? first.before ?? ""}`;
  return reason === "" ? changesText(changes) : reason;
}

function Row({ commit }: { commit: MemoryCommit }): JSX.Element {
  return (
    <div class="memory-row">
      <span class="memory-row-title">
        <State {...commitLook(commit)} quiet />
        <span class="ellipsis">{commitTitle(commit)}</span>
      </span>
      <span class="quiet memory-row-facts">
        <span>{t("by {0}", authorText(commit.author))}</span>
        <span>{changesText(commit.changes)}</span>
        {commit.quarantined > 0 && <span>{t("{0} in quarantine", formatNumber(commit.quarantined))}</span>}
        <RelativeTime at={commit.finishedAt ?? commit.createdAt} />
      </span>
    </div>
  );
}

function ChangeView({ room, commit, diff }: { room: WarRoom; commit: MemoryCommit; diff: MemoryDiff }): JSX.Element {
  return (
    <li>
      <p>
        <strong>{opText(diff.op)}</strong> {targetText(diff.target)}{" "}
        <span class="quiet">
          {namespaceText(diff.namespace)}, {t("{0} sure", percent(diff.confidence))},{" "}
          <Origin room={room} provenance={diff.provenance} questId={commit.questId} />
        </span>
      </p>
      <Change diff={diff} name={diff.after ?? diff.before ?? ""} />
      <div class="actions item-actions">
        <Button kind="link" onClick={() => room.showMemory({ itemId: diff.itemId })}>
          {t("History")}
        </Button>
        {commit.status === "committed" && commit.diff.length > 1 && (
          <Button
            kind="link"
            label={t("Roll back this alone: {0}", (diff.after ?? diff.before ?? "").slice(0, 80))}
            onClick={() => room.bridge.ui(commandAction("rollBackMemory", { commitId: commit.id, itemId: diff.itemId }))}
          >
            {t("Roll back this alone…")}
          </Button>
        )}
      </div>
    </li>
  );
}

function Others({ room, ids, text }: { room: WarRoom; ids: readonly string[]; text: string }): JSX.Element | null {
  if (ids.length === 0) return null;
  const titleOf = (id: string): string => {
    const known = room.memory.commits.items.value.find((commit) => commit.id === id);
    return known === undefined ? id : commitTitle(known);
  };
  return (
    <p class="quiet">
      {text}{" "}
      {ids.map((id) => (
        <Button key={id} kind="link" onClick={() => room.showMemory({ commitId: id })}>
          {titleOf(id)}
        </Button>
      ))}
    </p>
  );
}

function Detail({ room, commit }: { room: WarRoom; commit: MemoryCommit }): JSX.Element {
  const most = useSignal(changesShown);
  const { questId, receiptId, problem, diff } = commit;
  const shown = diff.slice(0, most.value);
  return (
    <>
      <p class="state-line">
        <State {...commitLook(commit)} /> <span>{t("by {0}", authorText(commit.author))},</span>
        <RelativeTime at={commit.finishedAt ?? commit.createdAt} />
        {receiptId !== null && <ReceiptLink room={room} id={receiptId} />}
      </p>
      {commit.reason !== "" && <p>{commit.reason}</p>}
      {questId !== null && (
        <p class="quiet">
          {t("Task:")} <TaskLink room={room} questId={questId} />
        </p>
      )}
      <Others room={room} ids={commit.rollbackOf} text={t("It took back:")} />
      <Others room={room} ids={commit.rolledBackBy === null ? [] : [commit.rolledBackBy]} text={t("It was taken back by:")} />
      {commit.quarantined > 0 && (
        <p class="quiet">
          {count(commit.quarantined, "{0} edit of it went to quarantine.", "{0} edits of it went to quarantine.")}{" "}
          <Button kind="link" onClick={() => room.showMemory({ section: "quarantine" })}>
            {t("Quarantine")}
          </Button>
        </p>
      )}
      {commit.status === "committed" &&
        (problem === null ? (
          <div class="actions">
            <Button icon="discard" onClick={() => room.bridge.ui(commandAction("rollBackMemory", { commitId: commit.id }))}>
              {t("Roll back…")}
            </Button>
          </div>
        ) : (
          <p class="hint">
            <Icon name="info" /> {t("It cannot be rolled back: {0}", problem)}
          </p>
        ))}
      <h3>{changesText(commit.changes)}</h3>
      {diff.length === 0 && commit.changes > 0 && <p class="quiet">{t("What it changed is no longer kept here; its receipt has it.")}</p>}
      <ul class="history">
        {shown.map((one) => (
          <ChangeView key={one.itemId} room={room} commit={commit} diff={one} />
        ))}
      </ul>
      {shown.length < diff.length && (
        <Button
          kind="link"
          onClick={() => {
            most.value += changesShown;
          }}
        >
          {t("Show more: {0} are left", formatNumber(diff.length - shown.length))}
        </Button>
      )}
    </>
  );
}

/** Every change of memory with its author, its reason and its way back. */
export function CommitsSection({ room }: { room: WarRoom }): JSX.Element {
  const { commits, commitId } = room.memory;
  const wanted = commitId.value;
  const shown = wanted === null ? undefined : commits.items.value.find(({ id }) => id === wanted);
  const missing = commits.loaded.value ? (
    <p class="quiet">{t("It is older than the commits that are listed here; its receipt has what it changed.")}</p>
  ) : (
    <p class="quiet">{t("Loading…")}</p>
  );
  return (
    <Split
      id="memory-commit"
      label={t("Commits, newest first")}
      pages={commits}
      keyOf={({ id }) => id}
      rowHeight={rowHeight}
      row={(commit) => <Row commit={commit} />}
      selected={commitId}
      nothing={
        <div class="nothing">
          <Icon name="git-commit" />
          <p>{t("Nothing was changed yet.")}</p>
          <p class="quiet">{t("Each change of memory becomes a commit here: what changed, who did it and why, and a way back.")}</p>
        </div>
      }
      countText={(n) => count(n, "{0} commit", "{0} commits")}
      before={
        commits.items.value.length > 0 && (
          <div class="toolbar">
            <span class="quiet">{t("A commit is all of it or nothing. Taking one back is a commit too.")}</span>
            <div class="actions">
              <Button icon="discard" onClick={() => room.bridge.ui(commandAction("rollBackMemory", { last: "ask" }))}>
                {t("Roll back the last…")}
              </Button>
            </div>
          </div>
        )
      }
      detail={
        wanted === null
          ? null
          : {
              heading: shown === undefined ? t("Commit") : commitTitle(shown),
              body: shown === undefined ? missing : <Detail key={shown.id} room={room} commit={shown} />,
            }
      }
    />
  );
}
