import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Change, ChangeStatus, Evidence, Hunk, HunkState } from "../../agent-server/contract/changes.ts";
import { problemOf } from "../shared/bridge.ts";
import { Button, Icon, IconButton, Problem, State, type StateProps } from "../shared/components.tsx";
import { Counts, countLines, DiffLines } from "../shared/diff.tsx";
import { count, t } from "../shared/l10n.ts";
import type { Chat } from "./chat-state.ts";

function stateOf(state: HunkState | ChangeStatus): StateProps {
  switch (state) {
    case "pending":
      return { icon: "circle-outline", text: t("Pending"), kind: "attention" };
    case "accepted":
      return { icon: "check", text: t("Accepted"), kind: "good" };
    case "rejected":
      return { icon: "close", text: t("Rejected"), kind: "quiet" };
    case "conflict":
      return { icon: "warning", text: t("Conflict"), kind: "bad" };
    case "mixed":
      return { icon: "check", text: t("Partially accepted"), kind: "good" };
    case "superseded":
      return { icon: "history", text: t("Superseded by a later change"), kind: "quiet" };
  }
}

/** True when an accepted change was undone: the file has its content from before the task again. */
function useUndone(change: Change, chat: Chat): boolean {
  const before = { questId: change.questId };
  const applied = change.status === "accepted" || change.status === "mixed";
  useEffect(() => (applied ? chat.fileComparison.watch(before) : undefined), [applied, change.questId, chat]);
  const paths = chat.fileComparison.changedPaths(before).value;
  return applied && paths !== null && !paths.has(change.path);
}

function kindText(kind: Change["kind"]): string {
  switch (kind) {
    case "create":
      return t("New file");
    case "delete":
      return t("Deleted file");
    case "modify":
      return "";
  }
}

type Decide = (decision: "accept" | "reject", hunks?: number[]) => void;

function HunkView({ hunk, path, decide, busy }: { hunk: Hunk; path: string; decide: Decide; busy: boolean }): JSX.Element {
  const number = hunk.index + 1;
  const open = hunk.state === "pending" || hunk.state === "conflict";
  return (
    <div class={`hunk ${hunk.state}`}>
      <div class="hunk-heading">
        <span class="hunk-range">{t("Line {0}", Math.max(1, hunk.newStart))}</span>
        <Counts {...countLines([hunk])} />
        <span class="spring" />
        {hunk.state !== "pending" && <State {...stateOf(hunk.state)} />}
        {open && (
          <>
            <IconButton
              testId={`accept-hunk:${number}`}
              icon="check"
              label={t("Accept Hunk {0} in {1}", number, path)}
              disabled={busy}
              onClick={() => decide("accept", [hunk.index])}
            />
            <IconButton
              testId={`reject-hunk:${number}`}
              icon="close"
              label={t("Reject Hunk {0} in {1}", number, path)}
              disabled={busy}
              onClick={() => decide("reject", [hunk.index])}
            />
          </>
        )}
      </div>
      {open && <DiffLines lines={hunk.lines} label={t("Hunk {0} in {1}", number, path)} />}
    </div>
  );
}

/** The result of tests that ran with the change, before it is in the workspace. */
function EvidenceLine({ evidence, chat }: { evidence: Evidence; chat: Chat }): JSX.Element {
  const { command, passed, receiptId } = evidence;
  return (
    <p class="change-note change-evidence" data-testid={`evidence:${passed ? "passed" : "failed"}`}>
      {passed ? (
        <State icon="pass" text={t("Tests passed with this change: {0}", command)} kind="good" />
      ) : (
        <State icon="error" text={t("Tests failed with this change: {0}", command)} kind="bad" />
      )}
      {receiptId !== null && (
        <Button kind="link" testId="evidence-receipt" onClick={() => chat.openReceipt(receiptId)}>
          {t("Receipt")}
        </Button>
      )}
    </p>
  );
}

/** A proposed edit of one file. The user accepts or rejects each hunk here or in the editor. */
export function ChangeCard({ change, chat }: { change: Change; chat: Chat }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const undecided = change.hunks.filter((hunk) => hunk.state === "pending" || hunk.state === "conflict").length;
  const open = change.status === "pending";
  const decide: Decide = (decision, hunks) => {
    setBusy(true);
    setProblem(null);
    chat.bridge
      .call("changes.decide", { id: change.id, decision, ...(hunks === undefined ? {} : { hunks }) })
      .then((decided) => chat.store.putChange(decided))
      .catch((error: unknown) => setProblem(problemOf(error)))
      .finally(() => setBusy(false));
  };
  const kind = kindText(change.kind);
  const undone = useUndone(change, chat);
  const several = change.hunks.length > 1;
  const acceptText = several ? t("Accept File") : t("Accept");
  const rejectText = several ? t("Reject File") : t("Reject");
  return (
    <section class={`change ${change.status}`} data-path={change.path} aria-label={t("Proposed change to {0}", change.path)}>
      <div class="change-heading">
        <Icon name={change.kind === "create" ? "diff-added" : change.kind === "delete" ? "diff-removed" : "diff-modified"} />
        <button
          data-testid="open-change"
          type="button"
          class="button link change-path"
          title={t("Review {0} in the editor", change.path)}
          onClick={() => chat.bridge.ui({ action: "openChange", changeId: change.id })}
        >
          {change.path}
        </button>
        {kind !== "" && <span class="quiet">{kind}</span>}
        {change.whole !== true && <Counts {...countLines(change.hunks)} />}
        {change.origin !== undefined && <span class="quiet change-origin">{t("Changed by {0}", change.origin)}</span>}
        <span class="spring" />
        {!open && (undone ? <State icon="discard" text={t("Undone")} kind="quiet" /> : <State {...stateOf(change.status)} />)}
      </div>
      {open && change.caution !== undefined && (
        <p class="change-caution" data-testid="caution">
          <Icon name="warning" />
          {t("Decided on its own: {0}", change.caution)}
        </p>
      )}
      {open && change.mode !== undefined && (
        <p class="quiet change-note" data-testid="mode">
          {t("Permissions: {0}", change.mode.toString(8))}
        </p>
      )}
      {open && change.evidence?.map((evidence) => <EvidenceLine key={evidence.command} evidence={evidence} chat={chat} />)}
      {change.problem !== null && <Problem text={change.problem} />}
      {open && change.hunks.map((hunk) => <HunkView key={hunk.index} hunk={hunk} path={change.path} decide={decide} busy={busy} />)}
      {problem !== null && <Problem text={problem} />}
      {open && (
        <div class="actions">
          <Button
            testId="accept-file"
            kind={change.caution === undefined ? "primary" : "secondary"}
            icon="check"
            disabled={busy}
            onClick={() => decide("accept")}
            label={t("{0}: {1}", acceptText, change.path)}
          >
            {acceptText}
          </Button>
          <Button
            testId="reject-file"
            icon="close"
            disabled={busy}
            onClick={() => decide("reject")}
            label={t("{0}: {1}", rejectText, change.path)}
          >
            {rejectText}
          </Button>
          <Button testId="review-in-editor" kind="link" onClick={() => chat.bridge.ui({ action: "openChange", changeId: change.id })}>
            {t("Review in Editor")}
          </Button>
          {several && <span class="quiet">{count(undecided, "{0} hunk left", "{0} hunks left")}</span>}
        </div>
      )}
    </section>
  );
}
