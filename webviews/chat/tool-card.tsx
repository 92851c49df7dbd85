import type { JSX } from "preact";
import { memo } from "preact/compat";
import { useState } from "preact/hooks";
import type { ToolPart } from "../../agent-server/contract/chat.ts";
import { commandAction } from "../shared/commands.ts";
import { Button, Icon, State, TierBadge, VerdictBadge } from "../shared/components.tsx";
import { count, formatDuration, t } from "../shared/l10n.ts";
import { BackgroundActions, BackgroundBadge, backgroundOf, isRunning, withOutput } from "./background-card.tsx";
import { ChangeCard } from "./change-card.tsx";
import { CommandBody, CommandEnd, CommandTail } from "./command-card.tsx";
import { type Chat, changesOf } from "./chat-state.ts";
import { SubtaskCard } from "./subtask-card.tsx";
import { stateOf } from "./tool-state.ts";
import { TouchedFiles } from "./touched-files.tsx";

/** Proposed changes that a card shows; the review in the editor shows all. */
const maxChanges = 10;

const icons: Readonly<Record<string, string>> = {
  read_file: "file-code",
  list_files: "list-tree",
  search_workspace: "search",
  edit_file: "edit",
  write_file: "new-file",
  apply_patch: "diff",
  delete_file: "trash",
  git_status: "source-control",
  git_diff: "git-compare",
  git_log: "history",
  git_commit: "git-commit",
  git_branch: "git-branch",
  git_checkout: "git-branch",
  git_push: "repo-push",
  git_clone: "repo-clone",
  deploy: "rocket",
  download: "cloud-download",
  http_post: "globe",
  diagnostics: "warning",
  ask_owner: "comment-discussion",
  update_plan: "checklist",
  spawn_subtask: "type-hierarchy-sub",
  run_command: "terminal",
  command_output: "output",
  stop_command: "debug-stop",
  fetch_url: "globe",
};

function Details({ part, chat }: { part: ToolPart; chat: Chat }): JSX.Element {
  const { receiptId } = part;
  const questId = chat.conversation.questId.value;
  return (
    <div class="tool-body">
      {part.verdict !== null && (
        <div class="tool-why">
          <VerdictBadge verdict={part.verdict} />
          <ul class="rules" aria-label={t("Deciding rules")}>
            {part.rules.map((rule) => (
              <li key={rule.id} title={rule.id}>
                {rule.message} <span class="quiet">({rule.source})</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {part.alternatives !== undefined && part.alternatives.length > 0 && (
        <>
          <div class="tool-label" data-testid="alternatives">
            {t("Alternatives offered to the model")}
          </div>
          <ul class="rules">
            {part.alternatives.map((alternative) => (
              <li key={alternative}>{alternative}</li>
            ))}
          </ul>
        </>
      )}
      {part.findings !== undefined && (
        <p class="tool-suspicious">
          <Icon name="warning" />
          {t(
            "The output contains text that resembles instructions. Lancelot passed it to the model as data. Findings: {0}",
            part.findings.join(", "),
          )}
        </p>
      )}
      {part.command !== undefined && <CommandBody part={part} command={part.command} chat={chat} />}
      {part.command === undefined && Object.keys(part.args).length > 0 && (
        <>
          <div class="tool-label">{t("Input")}</div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard */}
          <pre class="exact" tabIndex={0} role="region" aria-label={t("Input")}>
            <code>{JSON.stringify(part.args, null, 2)}</code>
          </pre>
        </>
      )}
      {part.command === undefined && part.output !== null && part.output !== "" && (
        <>
          <div class="tool-label">{t("Output")}</div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard */}
          <pre class="exact" tabIndex={0} role="region" aria-label={t("Output")}>
            <code>{part.output}</code>
          </pre>
        </>
      )}
      {receiptId !== null && (
        <Button testId="receipt" kind="link" icon="verified" onClick={() => chat.openReceipt(receiptId)}>
          {t("Receipt")}
        </Button>
      )}
      {receiptId !== null && questId !== null && part.tier !== "T0" && (
        <Button
          testId="restore-to-step"
          kind="link"
          icon="discard"
          onClick={() => chat.bridge.ui(commandAction("restoreTo", { questId, receiptId, title: part.title }))}
        >
          {t("Restore Files to Before This…")}
        </Button>
      )}
    </div>
  );
}

/** One tool call. The closed card shows the action and its status; the open card adds the verdict and the output. */
export const ToolCard = memo(function ToolCard({ part: stored, chat }: { part: ToolPart; chat: Chat }): JSX.Element {
  const background = backgroundOf(stored, chat);
  const part = withOutput(stored, background);
  const status = stateOf(part.status);
  // Several edits can belong to one change; the card of the last one shows it.
  const ids = changesOf(part).filter((id) => chat.changeAt.value.get(id) === part.callId);
  const changes = ids.slice(0, maxChanges).flatMap((id) => chat.store.changes.value.get(id) ?? []);
  const hidden =
    (part.proposed?.total ?? ids.length) - (part.proposed?.changeIds.length ?? ids.length) + ids.length - Math.min(ids.length, maxChanges);
  // The closed card of a command does not redraw for streamed output.
  const [open, setOpen] = useState(false);
  return (
    <div class={`tool ${part.status}`}>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Icon name="chevron-right" />
          <Icon name={icons[part.tool] ?? "tools"} />
          <span class="tool-title" title={part.title}>
            {part.title}
          </span>
          {part.findings !== undefined && (
            <span class="attention" title={t("The output contains text that resembles instructions to the model")}>
              <Icon name="warning" />
              <span class="sr-only">{t("The output contains text that resembles instructions to the model")}</span>
            </span>
          )}
          {part.command !== undefined && background === null && <CommandEnd command={part.command} status={part.status} />}
          {background !== null && <BackgroundBadge state={background} />}
          {part.durationMs !== null && <span class="quiet duration">{formatDuration(part.durationMs)}</span>}
          {part.tier !== null && <TierBadge tier={part.tier} />}
          <State {...status} spin={part.status === "running"} quiet={part.status !== "denied" && part.status !== "waiting"} />
        </summary>
        {(open || part.command === undefined) && <Details part={part} chat={chat} />}
      </details>
      {part.command !== undefined && !open && <CommandTail part={part} chat={chat} />}
      {isRunning(background) && <BackgroundActions state={background} chat={chat} />}
      {part.subtask !== undefined && <SubtaskCard subtask={part.subtask} chat={chat} />}
      {part.touched !== undefined && <TouchedFiles part={part} touched={part.touched} chat={chat} />}
      {changes.map((change) => (
        <ChangeCard key={change.id} change={change} chat={chat} />
      ))}
      {part.proposed?.tooMany !== undefined && (
        <p class="change-note" data-testid="too-many">
          {t(
            "{0} changed files are too many to review, so none was proposed. They stay in this task. If they are generated, add their folder to .gitignore.",
            part.proposed.tooMany.toLocaleString(),
          )}
        </p>
      )}
      {hidden > 0 && (
        <Button
          testId="more-changes"
          kind="link"
          icon="diff-multiple"
          onClick={() => chat.bridge.ui({ action: "reviewAll", questId: chat.conversation.questId.value ?? "" })}
        >
          {count(hidden, "{0} more proposed change", "{0} more proposed changes")}
        </Button>
      )}
    </div>
  );
});
