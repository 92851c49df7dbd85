import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Change, ChangeStatus, Hunk, HunkState } from "../../agent-server/contract/changes.ts";
import { problemOf } from "../shared/bridge.ts";
import { Button, Icon, IconButton, Problem, State } from "../shared/components.tsx";
import { Counts, countLines, DiffLines } from "../shared/diff.tsx";
import { count, t } from "../shared/l10n.ts";
import type { Chat } from "./state.ts";

function lookOf(state: HunkState | ChangeStatus): { icon: string; text: string; kind: string } {
  switch (state) {
    case "pending":
      return { icon: "circle-outline", text: t("Waiting"), kind: "attention" };
    case "accepted":
      return { icon: "check", text: t("Accepted"), kind: "good" };
    case "rejected":
      return { icon: "close", text: t("Rejected"), kind: "quiet" };
    case "conflict":
      return { icon: "warning", text: t("Conflict"), kind: "bad" };
    case "mixed":
      return { icon: "check", text: t("Partly accepted"), kind: "good" };
    case "superseded":
      return { icon: "history", text: t("Replaced by a later change"), kind: "quiet" };
  }
}

/** True once a change that was accepted is gone again: its file is as it was before the task. */
function useUndone(change: Change, chat: Chat): boolean {
  const before = { questId: change.questId };
  const applied = change.status === "accepted" || change.status === "mixed";
  useEffect(() => (applied ? chat.differing.watch(before) : undefined), [applied, change.questId, chat]);
  const paths = chat.differing.of(before).value;
  return applied && paths !== null && !paths.has(change.path);
}

function kindText(kind: Change["kind"]): string {
  switch (kind) {
    case "create":
      return t("new file");
    case "delete":
      return t("delete file");
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
        {hunk.state !== "pending" && <State {...lookOf(hunk.state)} />}
        {open && (
          <>
            <IconButton
              icon="check"
              label={t("Accept hunk {0} of {1}", number, path)}
              disabled={busy}
              onClick={() => decide("accept", [hunk.index])}
            />
            <IconButton
              icon="close"
              label={t("Reject hunk {0} of {1}", number, path)}
              disabled={busy}
              onClick={() => decide("reject", [hunk.index])}
            />
          </>
        )}
      </div>
      {open && <DiffLines lines={hunk.lines} label={t("Hunk {0} of {1}", number, path)} />}
    </div>
  );
}

/** A proposed edit of one file: its hunks, each to accept or reject, here or in the editor. */
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
  const acceptText = several ? t("Accept file") : t("Accept");
  const rejectText = several ? t("Reject file") : t("Reject");
  return (
    <section class={`change ${change.status}`} aria-label={t("Proposed change of {0}", change.path)}>
      <div class="change-heading">
        <Icon name={change.kind === "create" ? "diff-added" : change.kind === "delete" ? "diff-removed" : "diff-modified"} />
        <button
          type="button"
          class="button link change-path"
          title={t("Review {0} in the editor", change.path)}
          onClick={() => chat.bridge.ui({ action: "openChange", changeId: change.id })}
        >
          {change.path}
        </button>
        {kind !== "" && <span class="quiet">{kind}</span>}
        <Counts {...countLines(change.hunks)} />
        <span class="spring" />
        {!open && (undone ? <State icon="discard" text={t("Undone")} kind="quiet" /> : <State {...lookOf(change.status)} />)}
      </div>
      {change.problem !== null && <Problem text={change.problem} />}
      {open && change.hunks.map((hunk) => <HunkView key={hunk.index} hunk={hunk} path={change.path} decide={decide} busy={busy} />)}
      {problem !== null && <Problem text={problem} />}
      {open && (
        <div class="actions">
          <Button
            kind="primary"
            icon="check"
            disabled={busy}
            onClick={() => decide("accept")}
            label={t("{0}: {1}", acceptText, change.path)}
          >
            {acceptText}
          </Button>
          <Button icon="close" disabled={busy} onClick={() => decide("reject")} label={t("{0}: {1}", rejectText, change.path)}>
            {rejectText}
          </Button>
          <Button kind="link" onClick={() => chat.bridge.ui({ action: "openChange", changeId: change.id })}>
            {t("Review in editor")}
          </Button>
          {several && <span class="quiet">{count(undecided, "{0} hunk left", "{0} hunks left")}</span>}
        </div>
      )}
    </section>
  );
}
