import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { MemoryCommit, MemoryDiff } from "../../../agent-server/contract/memory.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, Icon, RelativeTime, State } from "../../shared/components.tsx";
import { count, formatNumber, formatPercent, t } from "../../shared/l10n.ts";
import { Placeholder } from "../live-panel.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { ListWithDetail } from "../list-with-detail.tsx";
import { Change, Origin, ReceiptLink, TaskLink } from "./memory-parts.tsx";
import { authorText, commitState, namespaceText, opText, targetText } from "./memory-labels.ts";

const rowHeight = 46;
/** Number of changes of a commit that are shown at a time. */
const changesShown = 50;

function changesText(n: number): string {
  return count(n, "{0} change", "{0} changes");
}

/** Describes a commit in one line: its change if it has just one, otherwise its reason. */
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
        <State {...commitState(commit)} quiet />
        <span class="ellipsis">{commitTitle(commit)}</span>
      </span>
      <span class="quiet memory-row-facts">
        <span>{t("by {0}", authorText(commit.author))}</span>
        <span>{changesText(commit.changes)}</span>
        {commit.quarantined > 0 && <span>{t("{0} quarantined", formatNumber(commit.quarantined))}</span>}
        <RelativeTime at={commit.finishedAt ?? commit.createdAt} />
      </span>
    </div>
  );
}

function ChangeView({ warRoom, commit, diff }: { warRoom: WarRoom; commit: MemoryCommit; diff: MemoryDiff }): JSX.Element {
  return (
    <li>
      <p>
        <strong>{opText(diff.op)}</strong> {targetText(diff.target)}{" "}
        <span class="quiet">
          {namespaceText(diff.namespace)}, {t("confidence {0}", formatPercent(diff.confidence))},{" "}
          <Origin warRoom={warRoom} provenance={diff.provenance} questId={commit.questId} />
        </span>
      </p>
      <Change diff={diff} name={diff.after ?? diff.before ?? ""} />
      <div class="actions item-actions">
        <Button testId={`item-history:${diff.itemId}`} kind="link" onClick={() => warRoom.showMemory({ itemId: diff.itemId })}>
          {t("History")}
        </Button>
        {commit.status === "committed" && commit.diff.length > 1 && (
          <Button
            testId={`roll-back-change:${diff.itemId}`}
            kind="link"
            label={t("Roll Back Only This Change: {0}", (diff.after ?? diff.before ?? "").slice(0, 80))}
            onClick={() => warRoom.bridge.ui(commandAction("rollBackMemory", { commitId: commit.id, itemId: diff.itemId }))}
          >
            {t("Roll Back Only This Change…")}
          </Button>
        )}
      </div>
    </li>
  );
}

function RelatedCommits({ warRoom, ids, text }: { warRoom: WarRoom; ids: readonly string[]; text: string }): JSX.Element | null {
  if (ids.length === 0) return null;
  const titleOf = (id: string): string => {
    const known = warRoom.memory.commits.items.value.find((commit) => commit.id === id);
    return known === undefined ? id : commitTitle(known);
  };
  return (
    <p class="quiet">
      {text}{" "}
      {ids.map((id) => (
        <Button testId={`commit:${id}`} key={id} kind="link" onClick={() => warRoom.showMemory({ commitId: id })}>
          {titleOf(id)}
        </Button>
      ))}
    </p>
  );
}

function Detail({ warRoom, commit }: { warRoom: WarRoom; commit: MemoryCommit }): JSX.Element {
  const shownCount = useSignal(changesShown);
  const { questId, receiptId, problem, diff } = commit;
  const shown = diff.slice(0, shownCount.value);
  return (
    <>
      <p class="state-line">
        <State {...commitState(commit)} /> <span>{t("by {0}", authorText(commit.author))},</span>
        <RelativeTime at={commit.finishedAt ?? commit.createdAt} />
        {receiptId !== null && <ReceiptLink warRoom={warRoom} id={receiptId} />}
      </p>
      {commit.reason !== "" && <p>{commit.reason}</p>}
      {questId !== null && (
        <p class="quiet">
          {t("Task:")} <TaskLink warRoom={warRoom} questId={questId} />
        </p>
      )}
      <RelatedCommits warRoom={warRoom} ids={commit.rollbackOf} text={t("Rolls back:")} />
      <RelatedCommits warRoom={warRoom} ids={commit.rolledBackBy === null ? [] : [commit.rolledBackBy]} text={t("Rolled back by:")} />
      {commit.quarantined > 0 && (
        <p class="quiet">
          {count(commit.quarantined, "{0} edit is in quarantine.", "{0} edits are in quarantine.")}{" "}
          <Button testId="open-quarantine" kind="link" onClick={() => warRoom.showMemory({ section: "quarantine" })}>
            {t("Quarantine")}
          </Button>
        </p>
      )}
      {commit.status === "committed" &&
        (problem === null ? (
          <div class="actions">
            <Button
              testId="roll-back-commit"
              icon="discard"
              onClick={() => warRoom.bridge.ui(commandAction("rollBackMemory", { commitId: commit.id }))}
            >
              {t("Roll Back…")}
            </Button>
          </div>
        ) : (
          <p class="hint">
            <Icon name="info" /> {t("This commit cannot be rolled back: {0}", problem)}
          </p>
        ))}
      <h3>{changesText(commit.changes)}</h3>
      {diff.length === 0 && commit.changes > 0 && (
        <p class="quiet" data-testid="changes-not-stored">
          {t("The changes are no longer stored here. Open the receipt to see them.")}
        </p>
      )}
      <ul class="history">
        {shown.map((one) => (
          <ChangeView key={one.itemId} warRoom={warRoom} commit={commit} diff={one} />
        ))}
      </ul>
      {shown.length < diff.length && (
        <Button
          testId="show-more-changes"
          kind="link"
          onClick={() => {
            shownCount.value += changesShown;
          }}
        >
          {t("Show More ({0} remaining)", formatNumber(diff.length - shown.length))}
        </Button>
      )}
    </>
  );
}

/** All memory commits, with author, reason and rollback. */
export function CommitsSection({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { commits, commitId } = warRoom.memory;
  const wanted = commitId.value;
  const shown = wanted === null ? undefined : commits.items.value.find(({ id }) => id === wanted);
  const missing = commits.loaded.value ? (
    <p class="quiet" data-testid="commit-not-listed">
      {t("This commit is no longer listed. Open its receipt to see its changes.")}
    </p>
  ) : (
    <p class="quiet">{t("Loading…")}</p>
  );
  return (
    <ListWithDetail
      id="memory-commit"
      label={t("Commits, newest first")}
      pages={commits}
      keyOf={({ id }) => id}
      rowHeight={rowHeight}
      row={(commit) => <Row commit={commit} />}
      selected={commitId}
      empty={
        <Placeholder
          icon="git-commit"
          title={t("No commits yet.")}
          text={t("Each change to memory appears here as a commit with its author and reason. You can roll it back.")}
        />
      }
      countText={(n) => count(n, "{0} commit", "{0} commits")}
      before={
        commits.items.value.length > 0 && (
          <div class="toolbar">
            <span class="quiet">{t("Every change to memory is a commit. A rollback is a commit too, so you can undo it.")}</span>
            <div class="actions">
              <Button
                testId="roll-back-latest"
                icon="discard"
                onClick={() => warRoom.bridge.ui(commandAction("rollBackMemory", { last: "ask" }))}
              >
                {t("Roll Back Latest…")}
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
              body: shown === undefined ? missing : <Detail key={shown.id} warRoom={warRoom} commit={shown} />,
            }
      }
    />
  );
}
